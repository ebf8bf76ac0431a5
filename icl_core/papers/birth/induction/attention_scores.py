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
from icl_core.papers.birth.shared import baselines
from icl_core.papers.birth.shared.accuracy import hits
from icl_core.papers.birth.shared.behaviour import average, following, uniformity
from icl_core.papers.birth.shared.gradient import share
from icl_core.papers.birth.shared.model import Weights, forward
from icl_core.papers.birth.shared.task import Batch, Task
from icl_core.papers.birth.shared.train import held_out, task_of

SEQUENCES = 256  # held-out sequences looked at
AT_ONCE = 16  # sequences, to bound the memory
ENDS = (16, 32, 64, 128, 256)  # of the ranges of first occurrences
ROWS = 16  # first and last rows of layer 1
TOP = 3  # most frequent bigrams
POSITIONS = 2048  # on which the heads are probed at every snapshot


class HeadProbes(NamedTuple):
    """What the authors' code logs of the two heads while it trains, shares of in-context queries.

    back   layer 1's strongest look is one back, at the position where layer 2 looks most; of those
           where that is not the first (`score_cond_acc` there)
    finds  layer 2's strongest look is at what followed the query's token before (`score2_acc`)
    says   the model predicts the token at which layer 2 looks most (`pred_attended_acc`)
    """

    back: float
    finds: float
    says: float


class Looked(NamedTuple):
    """What a model makes of held-out sequences, [sequences, T] each; layer 1's is NaN if it has
    none."""

    batch: Batch
    guess: Int[Tensor, "batch T"]  # the likeliest next token
    right: Float[Tensor, "batch T"]  # how often it is what follows (`hits`)
    previous: Float[Tensor, "batch T"]  # layer 1's mass on the position before
    # the last layer's mass on what followed earlier occurrences of the query
    followers: Float[Tensor, "batch T"]
    # a uniform attention's mass on them: the share of the keys that they are
    uniform: Float[Tensor, "batch T"]


@torch.no_grad()
def look(weights: Weights, task: Task, layers: int) -> Looked:
    """Run the model over held-out sequences."""
    batch = held_out(task, SEQUENCES, "cpu")
    chunks = zip(batch.inputs.split(AT_ONCE), batch.targets.split(AT_ONCE), strict=True)
    parts = [_looked(weights, tokens, targets, layers) for tokens, targets in chunks]
    return Looked(batch, *(torch.cat(each) for each in zip(*parts, strict=True)))


@lru_cache(maxsize=2)  # four panels show it
def at_snapshot(run: Run, snapshot: int) -> Looked:
    """`look` with the weights of a snapshot."""
    return look(weights_at(run, snapshot), task_of(run.config), run.config.layers)


@lru_cache(maxsize=2)  # the same at every snapshot
def best_right(run: Run) -> Float[Tensor, "batch T"]:
    """Return how often what the best predictor takes for the likeliest is what follows, on the same
    sequences."""
    task = task_of(run.config)
    batch = held_out(task, SEQUENCES, "cpu")
    return baselines.best_hits(task, batch.inputs, batch.targets)


def _looked(
    weights: Weights, tokens: Int[Tensor, "batch T"], targets: Int[Tensor, "batch T"], layers: int
) -> tuple[Tensor, ...]:
    logits, first, second = forward(weights, tokens, layers)
    follows = following(tokens)
    previous = torch.full(tokens.shape, math.nan)
    if first is not None:
        previous[:, 1:] = first.diagonal(-1, 1, 2)
    uniform = follows.float().sum(2) / torch.arange(1, tokens.shape[1] + 1)
    guess = logits.argmax(-1)
    right = hits(logits, targets)
    return guess, right, previous, (second * follows).sum(2), uniform


@torch.no_grad()
def head_probes(weights: Weights, batch: Batch) -> HeadProbes:
    """Return what the two heads of a model do on a batch, at in-context queries.

    Left out are queries whose output is the trigger itself: a few sequences that repeat it to their
    end would decide the shares.
    """
    logits, first, second = forward(weights, batch.inputs)
    assert first is not None
    asked = batch.in_context & (batch.targets != batch.inputs)  # (batch, T)
    place = second.argmax(-1)  # (batch, T): where layer 2 looks most
    strongest = first.argmax(-1)  # (batch, T): where layer 1 does
    has_before = asked & (place > 0)
    before = (place - 1).clamp(min=0)
    looks_back = strongest.gather(1, place) == before
    follows_same = batch.inputs.gather(1, before) == batch.inputs
    says = logits.argmax(-1) == batch.inputs.gather(1, place)
    return HeadProbes(
        _mean(looks_back, has_before),
        _mean(follows_same & (place > 0), asked),
        _mean(says, asked),
    )


@lru_cache(maxsize=16)  # the runs of Figure 3, at two sizes
def probes_over_training(run: Run) -> list[HeadProbes]:
    """Return `head_probes` at every snapshot, on POSITIONS positions."""
    task = task_of(run.config)
    batch = held_out(task, POSITIONS // run.config.T, "cpu")
    return [head_probes(weights_at(run, index), batch) for index in range(len(run.snapshot_steps))]


def errors_by_first(found: Looked) -> dict[str, tuple[float, float]]:
    """Return the share of wrong predictions in context with its standard error, by the position of
    the trigger's first occurrence, counted from 1: the ranges by name, "1–16" and so on; NaN where
    there is none."""
    inputs = found.batch.inputs
    inside = found.batch.in_context
    first = 1 + (inputs[:, :, None] == inputs[:, None, :]).int().argmax(2)  # (batch, T)
    wrong = 1 - found.right
    T = inputs.shape[1]
    shares = {}
    start = 0
    for end in ENDS:
        if start < T:
            where = inside & (first > start) & (first <= end)
            shares[f"{start + 1}–{min(end, T)}"] = share(wrong, where)
        start = end
    return shares


def on_previous(found: Looked) -> tuple[float, float]:
    """Layer 1's mean mass on the position before, in the first and in the last rows
    that have one."""
    rows = found.previous[:, 1:]
    return float(rows[:, :ROWS].mean()), float(rows[:, -ROWS:].mean())


def on_followers(found: Looked) -> dict[str, tuple[float, float]]:
    """Return the last layer's mean mass on what followed the query's earlier occurrences, and a
    uniform attention's: at triggers, and at other characters that come again."""
    again = found.uniform > 0
    groups = {"triggers": found.batch.in_context, "others": found.batch.global_}
    return {
        name: (_mean(found.followers, where & again), _mean(found.uniform, where & again))
        for name, where in groups.items()
    }


def copied_against(found: Looked, task: Task, likelier: int) -> tuple[float, float]:
    """Return how often the model says what the context tells where at least `likelier` characters
    follow the query more often in the text, and its standard error."""
    batch = found.batch
    follow = task.bigram[batch.inputs]  # (batch, T, N)
    own = follow.gather(2, batch.targets[..., None])  # (batch, T, 1)
    against = (follow > own).sum(2) >= likelier  # (batch, T)
    return share(found.right, batch.in_context & against)


def on_bigrams(found: Looked, task: Task) -> tuple[float, float]:
    """Of the errors in context, the shares that predict one of the query's most frequent bigrams,
    and that do so though the last layer puts most of its mass on what followed before."""
    batch = found.batch
    likely = task.bigram.topk(TOP, dim=1).indices[batch.inputs]  # (batch, T, TOP)
    wrong = batch.in_context & (found.guess != batch.targets)
    named = (likely == found.guess[..., None]).any(2)
    return _mean(named, wrong), _mean(named & (found.followers > 0.5), wrong)


def in_words(found: Looked, config: Config) -> str:
    """Return how far layer 1 reaches, and of a model with W_F what its errors are."""
    said = []
    if config.layers == 2:
        early, late = on_previous(found)
        said.append(
            f"Layer 1 puts {early:.0%} of its attention on the previous position in its first "
            f"{ROWS} rows, {late:.0%} in its last {ROWS}."
        )
    named, though = on_bigrams(found, task_of(config))
    if config.feed_forward and np.isfinite(named):
        said.append(
            f"{named:.0%} of the errors name one of the {TOP} characters that most often follow "
            f"the one just read, {though:.0%} although layer 2 looks at the right place."
        )
    return " ".join(said)


def spread(attention: Float[np.ndarray, "T T"]) -> tuple[float, float]:
    """Return how even an attention map is: the mean entropy of its rows as a share of log t, the
    most it could be, and the largest weight over the uniform one, the mean over rows. Rows of few
    keys are left out."""
    rows = range(ROWS, len(attention))
    shares = []
    largest = []
    for t in rows:
        weights = attention[t, : t + 1].astype(np.float64)
        shares.append(-(weights * np.log(np.maximum(weights, 1e-30))).sum() / np.log(t + 1))
        largest.append(weights.max() * (t + 1))
    return float(np.mean(shares)), float(np.mean(largest))


@torch.no_grad()
def evenness(weights: Weights, task: Task) -> list[float]:
    """Return how even the attention of each layer is on held-out sequences: the mean entropy of its
    rows as a share of the most that it could be (`behaviour.uniformity`)."""
    batch = held_out(task, AT_ONCE, "cpu")
    _, first, second = forward(weights, batch.inputs)
    maps = [second] if first is None else [first, second]
    return [float(average(uniformity(attention)).mean()) for attention in maps]


def _mean(values: Tensor, where: Bool[Tensor, "batch T"]) -> float:
    return float(values[where].double().mean())  # NaN if there is none
