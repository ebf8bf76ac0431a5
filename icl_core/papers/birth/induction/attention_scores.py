"""Where a trained model looks and where it errs, over held-out sequences: why what fails, fails."""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from icl_core.contract.experiment import Run
from icl_core.papers.birth.induction.load_run import weights_at
from icl_core.papers.birth.induction.settings import Config
from icl_core.papers.birth.shared import accuracy
from icl_core.papers.birth.shared.accuracy import hits, share
from icl_core.papers.birth.shared.behaviour import average, following, uniformity
from icl_core.papers.birth.shared.model import Weights, forward
from icl_core.papers.birth.shared.task import Batch, Task
from icl_core.papers.birth.shared.train import held_out, task_of

SEQUENCES = 256  # held-out sequences on which a model is run
AT_ONCE = 16  # sequences run together, to bound the memory
GAUSSIAN = 64  # maps of random scores whose evenness is averaged
ENDS = (16, 32, 64, 128, 256)  # last positions of the ranges of first occurrences
ROWS = 16  # how many of the first and of the last rows of layer 1 are averaged
TOP = 3  # how many of the most frequent bigrams of a character count as frequent
POSITIONS = 2048  # held-out positions on which the heads are probed at every snapshot


class HeadProbes(NamedTuple):
    """What the authors' code logs of the two heads while it trains: shares of in-context queries.

    back   layer 1's strongest look is one back, at the position where layer 2 looks most; of those
           where that is not the first (`score_cond_acc` there)
    finds  layer 2's strongest look is at what followed the query's token before (`score2_acc`)
    says   the model predicts the token at which layer 2 looks most (`pred_attended_acc`)
    """

    back: float
    finds: float
    says: float


class Readout(NamedTuple):
    """What a model predicts on held-out sequences and where it looks, [sequences, T] each."""

    batch: Batch
    # the likeliest next token
    guess: Int[Tensor, "batch T"]
    # how often it is what follows (`hits`)
    right: Float[Tensor, "batch T"]
    # layer 1's mass on the position before; NaN at the first position, and without a layer 1
    previous: Float[Tensor, "batch T"]
    # the last layer's mass on what followed earlier occurrences of the query
    followers: Float[Tensor, "batch T"]
    # a uniform attention's mass on them: the share of the keys that they are
    uniform: Float[Tensor, "batch T"]


@torch.no_grad()
def look(weights: Weights, task: Task, layers: int) -> Readout:
    """Run a model of one or two layers over SEQUENCES held-out sequences, on the CPU."""
    batch = held_out(task, SEQUENCES, "cpu")
    chunks = zip(batch.inputs.split(AT_ONCE), batch.targets.split(AT_ONCE), strict=True)
    parts = [_fields(weights, tokens, targets, layers) for tokens, targets in chunks]
    fields = [torch.cat(tensors) for tensors in zip(*parts, strict=True)]  # (sequences, T) each
    return Readout(batch, *fields)


@lru_cache(maxsize=2)  # four panels show it
def at_snapshot(run: Run, snapshot: int) -> Readout:
    """Return `look` with the weights of a snapshot."""
    return look(weights_at(run, snapshot), task_of(run.config), run.config.layers)


@lru_cache(maxsize=2)  # the same at every snapshot
def best_right(run: Run) -> Float[Tensor, "batch T"]:
    """Return how often the token that the best predictor finds likeliest is what follows, on the
    sequences of `look`."""
    task = task_of(run.config)
    batch = held_out(task, SEQUENCES, "cpu")
    return accuracy.best_hits(task, batch.inputs, batch.targets)


def _fields(
    weights: Weights, tokens: Int[Tensor, "batch T"], targets: Int[Tensor, "batch T"], layers: int
) -> tuple[Tensor, ...]:
    """Return the fields of a `Readout` after its batch, in their order."""
    logits, first, second = forward(weights, tokens, layers)
    guess = logits.argmax(-1)  # (batch, T)
    right = hits(logits, targets)  # (batch, T)
    previous = torch.full(tokens.shape, math.nan)  # (batch, T)
    if first is not None:
        previous[:, 1:] = first.diagonal(-1, 1, 2)  # (batch, T - 1)
    follows = following(tokens)  # (batch, T, T)
    followers = (second * follows).sum(2)  # (batch, T)
    keys = torch.arange(1, tokens.shape[1] + 1)  # (T,)
    uniform = follows.float().sum(2) / keys  # (batch, T)
    return guess, right, previous, followers, uniform


@torch.no_grad()
def head_probes(weights: Weights, batch: Batch) -> HeadProbes:
    """Return what the two heads of a model of two layers do on a batch, at in-context queries.

    Queries whose output is the trigger itself are left out: a few sequences that repeat it to
    their end would decide the shares.
    """
    logits, first, second = forward(weights, batch.inputs)
    assert first is not None
    asked = batch.in_context & (batch.targets != batch.inputs)  # (batch, T)
    place = second.argmax(-1)  # (batch, T): where layer 2 looks most
    strongest = first.argmax(-1)  # (batch, T): where layer 1 does
    not_first = place > 0  # (batch, T)
    before = (place - 1).clamp(min=0)  # (batch, T): one back from where layer 2 looks
    looks_back = strongest.gather(1, place) == before  # (batch, T)
    follows_same = batch.inputs.gather(1, before) == batch.inputs  # (batch, T)
    says = logits.argmax(-1) == batch.inputs.gather(1, place)  # (batch, T)
    return HeadProbes(
        back=_mean(looks_back, asked & not_first),
        finds=_mean(follows_same & not_first, asked),
        says=_mean(says, asked),
    )


@lru_cache(maxsize=16)  # the runs of Figure 3, at two sizes
def probes_over_training(run: Run) -> list[HeadProbes]:
    """Return `head_probes` at every snapshot, on POSITIONS held-out positions."""
    task = task_of(run.config)
    batch = held_out(task, POSITIONS // run.config.T, "cpu")
    return [head_probes(weights_at(run, index), batch) for index in range(len(run.snapshot_steps))]


def errors_by_first(readout: Readout) -> dict[str, tuple[float, float]]:
    """Return the share of wrong predictions in context with its standard error, by the position of
    the trigger's first occurrence.

    Positions are counted from 1, and the ranges have the names "1–16" and so on. Both numbers are
    NaN where a range has no prediction.
    """
    inputs = readout.batch.inputs  # (batch, T)
    same = inputs[:, :, None] == inputs[:, None, :]  # (batch, T, T)
    first = 1 + same.int().argmax(2)  # (batch, T)
    wrong = 1 - readout.right  # (batch, T)
    T = inputs.shape[1]
    shares = {}
    start = 0
    for end in ENDS:
        if start < T:
            where = readout.batch.in_context & (first > start) & (first <= end)
            shares[f"{start + 1}–{min(end, T)}"] = share(wrong, where)
        start = end
    return shares


def on_previous(readout: Readout) -> tuple[float, float]:
    """Return layer 1's mean mass on the position before: in the first ROWS and in the last ROWS
    rows that have such a position."""
    rows = readout.previous[:, 1:]  # (batch, T - 1)
    early = rows[:, :ROWS].mean()
    late = rows[:, -ROWS:].mean()
    return float(early), float(late)


def on_followers(readout: Readout) -> dict[str, tuple[float, float]]:
    """Return the last layer's mean mass on what followed the query's earlier occurrences, and a
    uniform attention's: at "triggers", and at "others", characters that come again."""
    again = readout.uniform > 0  # (batch, T)
    groups = {"triggers": readout.batch.in_context, "others": readout.batch.global_}
    masses = {}
    for name, group in groups.items():
        where = group & again
        masses[name] = (_mean(readout.followers, where), _mean(readout.uniform, where))
    return masses


def on_bigrams(readout: Readout, task: Task) -> tuple[float, float]:
    """Return two shares of the errors in context: those that predict one of the query's TOP most
    frequent bigrams, and those that do so though the last layer puts most of its mass on what
    followed before. Both are NaN if there is no error."""
    batch = readout.batch
    likely = task.bigram.topk(TOP, dim=1).indices[batch.inputs]  # (batch, T, TOP)
    wrong = batch.in_context & (readout.guess != batch.targets)  # (batch, T)
    frequent = (likely == readout.guess[..., None]).any(2)  # (batch, T)
    looks_right = readout.followers > 0.5  # (batch, T)
    return _mean(frequent, wrong), _mean(frequent & looks_right, wrong)


def in_words(readout: Readout, config: Config) -> str:
    """Return a sentence on how far layer 1 reaches, and one on the errors of a model with W_F."""
    sentences = []
    if config.layers == 2:
        early, late = on_previous(readout)
        sentences.append(
            f"Layer 1 puts {early:.0%} of its attention on the previous position in its first "
            f"{ROWS} rows, {late:.0%} in its last {ROWS}."
        )
    frequent, looking_right = on_bigrams(readout, task_of(config))
    if config.feed_forward and np.isfinite(frequent):
        sentences.append(
            f"{frequent:.0%} of the errors name one of the {TOP} characters that most often follow "
            f"the one just read, {looking_right:.0%} although layer 2 looks at the right place."
        )
    return " ".join(sentences)


def spread(attention: Float[np.ndarray, "T T"]) -> tuple[float, float]:
    """Return two measures of how even an attention map is, means over its rows: the entropy as a
    share of the largest possible, log(keys), and the largest weight in units of the uniform one.

    The first ROWS rows, which have few keys, are left out.
    """
    entropies = []
    largest = []
    for t in range(ROWS, len(attention)):
        keys = t + 1
        weights = attention[t, :keys].astype(np.float64)  # (keys,)
        entropy = -(weights * np.log(np.maximum(weights, 1e-30))).sum()
        entropies.append(entropy / np.log(keys))
        largest.append(weights.max() * keys)
    return float(np.mean(entropies)), float(np.mean(largest))


@torch.no_grad()
def evenness(weights: Weights, task: Task) -> list[float]:
    """Return how even the attention of each layer is on held-out sequences: the mean entropy of its
    rows as a share of the largest possible (`behaviour.uniformity`)."""
    return [float(average(uniformity(each)).mean()) for each in _maps(weights, task)]


@torch.no_grad()
def score_variances(weights: Weights, task: Task) -> list[float]:
    """Return how much the scores of a query vary from key to key in each layer, on the sequences of
    `evenness`: the mean variance of those rows that it counts."""
    variances = []
    for attention in _maps(weights, task):
        scores = attention.log()  # (batch, T, T), but for a constant a row, which has no variance
        rows = range(ROWS, scores.shape[-1])
        of_rows = [scores[:, row, : row + 1].var(-1).mean() for row in rows]
        variances.append(float(torch.stack(of_rows).mean()))
    return variances


@lru_cache
def evenness_of_gaussian(variance: float, T: int) -> float:
    """Return the evenness of attention whose scores are independent, Gaussian and of this
    variance."""
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(GAUSSIAN, T, T, generator=generator) * variance**0.5
    future = torch.ones(T, T, dtype=torch.bool).triu(1)
    attention = scores.masked_fill(future, -math.inf).softmax(-1)
    return float(average(uniformity(attention)).mean())


def _maps(weights: Weights, task: Task) -> list[Float[Tensor, "batch T T"]]:
    """Return the attention of each layer on a few held-out sequences."""
    _, first, second = forward(weights, held_out(task, AT_ONCE, "cpu").inputs)
    return [second] if first is None else [first, second]


def _mean(values: Tensor, where: Bool[Tensor, "batch T"]) -> float:
    """Return the mean of `values` at the positions `where`; NaN if there is none."""
    return float(values[where].double().mean())
