"""The bigram task (Section 3): a Markov chain over characters in which a few triggers are always
followed by an output drawn anew for each sequence. Only the context can tell which output belongs
to which trigger."""

import json
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from icl_core.papers.birth.shared import text_counts


def inclusion(unigram: Float[Tensor, "N"], K: int) -> Float[Tensor, "N"]:
    """Return the probability of each token to be among K drawn by `unigram` without replacement,
    float64; the sum is K.

    Drawing without replacement is a race: token i arrives at an exponential time of rate pi_u(i),
    and the first K are taken. Token i is one of them if at its time fewer than K others have
    arrived. The distribution of the number of arrivals by a time s is built up token by token.
    The integral over s is on a logarithmic grid, where the rule of trapezoids is exact to about
    1e-10. With 256 tokens that takes seconds, so the last few results are kept.
    """
    if len(unigram) == K:
        return torch.ones(K, dtype=torch.float64)
    return _raced(tuple(unigram.tolist()), K).clone()


@lru_cache(maxsize=8)
def _raced(rates: tuple[float, ...], K: int) -> Float[Tensor, "N"]:
    """Return `inclusion` for fewer than all tokens; not to be changed, as it is kept."""
    N = len(rates)
    unigram = torch.tensor(rates, dtype=torch.float64)
    log_s = torch.linspace(-25, 40, 1000, dtype=torch.float64)  # (grid)
    expected = unigram[:, None] * log_s.exp()  # (N, grid): pi_i s
    arrived = -torch.expm1(-expected)  # (N, grid): probability of token i to have arrived
    # probability that k others of token i have arrived, for k < K
    count = torch.zeros(N, K, len(log_s), dtype=torch.float64)
    count[:, 0] = 1.0
    for j in range(N):
        others = torch.arange(N) != j
        before = count[others]  # (N - 1, K, grid)
        after = before * (1 - arrived[j])
        after[:, 1:] += before[:, :-1] * arrived[j]
        count[others] = after
    # the density of token i's arrival, pi_i exp(-pi_i s), times ds = s d log s
    return torch.trapezoid(expected * (-expected).exp() * count.sum(1), log_s).clamp(max=1)


TRIGGERS = ("random", "fixed", "fixed rare")
OUTPUTS = ("uniform", "bigram")
RARE_FROM = 5  # "fixed rare" leaves out this many most frequent tokens


@dataclass(frozen=True, eq=False)
class Counts:
    """What a text tells the task: its characters, how often each occurs and how often each follows
    each; and letters to make a short example of, before its most frequent ones."""

    characters: tuple[str, ...]
    unigram: Float[Tensor, "N"]
    bigram: Float[Tensor, "N N"]  # [i, j]: how often characters[j] directly follows characters[i]
    familiar: str = ""


@lru_cache(maxsize=1)
def shakespeare() -> Counts:
    """Return the counts of Tiny Shakespeare, N = 65, the paper's choice."""
    raw = json.loads((Path(__file__).parent / "shakespeare_counts.json").read_text())
    unigram = torch.tensor(raw["unigram_counts"], dtype=torch.float64)
    bigram = torch.tensor(raw["bigram_counts"], dtype=torch.float64)
    return Counts(tuple(raw["characters"]), unigram, bigram, "abcXYZ")


def count_text(text: str) -> Counts:
    """Return the counts of a text. `BadSetting` if it has too few different characters."""
    return _as_tensors(text_counts.count(text))


def counts_of(digest: str) -> Counts:
    """Return the counts of a visitor's own text, of Tiny Shakespeare where none is named. `NotHere`
    if they are not kept."""
    return _as_tensors(text_counts.load(digest)) if digest else shakespeare()


def _as_tensors(counts: text_counts.TextCounts) -> Counts:
    unigram = torch.tensor(counts.unigram, dtype=torch.float64)
    bigram = torch.tensor(counts.bigram, dtype=torch.float64)
    return Counts(counts.characters, unigram, bigram)


@dataclass(frozen=True, eq=False)
class Task:
    """The distribution of sequences. Build it with `make_task`. Probabilities are float64 on the
    CPU."""

    characters: tuple[str, ...]
    unigram: Float[Tensor, "N"]  # pi_u
    bigram: Float[Tensor, "N N"]  # pi_b(j | i), rows sum to one
    triggers: str  # "random": drawn from pi_u anew in every sequence
    K: int
    outputs: str  # pi_o: "uniform" over the vocabulary, or "bigram": pi_b(. | q_k)
    T: int  # inputs per sequence; a sampled sequence has T + 1 tokens
    no_repeat: bool  # an output never equals its own trigger
    familiar: str = (
        ""  # letters to make a short example of, as far as they are among the characters
    )

    @property
    def N(self) -> int:
        return len(self.characters)

    @cached_property
    def fixed_triggers(self) -> Int[Tensor, "K"] | None:
        """The triggers of every sequence, or None if each sequence has its own."""
        if self.triggers == "random":
            return None
        start = RARE_FROM if self.triggers == "fixed rare" else 0
        return self.unigram.argsort(descending=True, stable=True)[start : start + self.K]

    @cached_property
    def inclusion(self) -> Float[Tensor, "N"]:
        """The probability of each token to be among the triggers of a sequence; sums to K."""
        if self.fixed_triggers is None:
            return inclusion(self.unigram, self.K)
        return torch.zeros(self.N, dtype=torch.float64).index_fill_(0, self.fixed_triggers, 1.0)

    @cached_property
    def written(self) -> Float[Tensor, "N"]:
        """The law of an output, whichever token its trigger is: pi_o(. | k) mixed over triggers."""
        return self.inclusion @ self.output_law / self.K

    @cached_property
    def output_law(self) -> Float[Tensor, "N N"]:
        """pi_o(j | i): the law of the output of trigger i."""
        law = self.bigram.clone() if self.outputs == "bigram" else torch.ones_like(self.bigram)
        if self.no_repeat:
            law.fill_diagonal_(0.0)
        # a character that only ever follows itself: any other may be its output
        empty = law.sum(1) == 0
        law[empty] = 1.0 - torch.eye(self.N, dtype=law.dtype)[empty]
        return law / law.sum(1, keepdim=True)

    @cached_property
    def staircase(self) -> Float[Tensor, "NN"]:
        """The cumulated rows of pi_b laid end to end, row i shifted by i: one sorted search draws
        from any row."""
        rows = self.bigram.cumsum(1)
        # the last step is exactly one, so a draw below one never leaves its row
        rows = rows / rows[:, -1:]
        return (rows + torch.arange(self.N)[:, None]).flatten().contiguous()


def make_task(
    N: int = 65,
    K: int = 5,
    T: int = 256,
    triggers: str = "random",
    outputs: str = "uniform",
    no_repeat: bool = False,
    counts: Counts | None = None,
) -> Task:
    """Return the task on the N most frequent characters of `counts` (default: Tiny Shakespeare),
    renormalised.

    N above the text's own number of characters means all of them. Raises `ValueError` for settings
    out of range.
    """
    counts = counts or shakespeare()
    N = min(N, len(counts.characters))
    _check(N, K, T, triggers, outputs)
    indices = counts.unigram.argsort(descending=True, stable=True)[:N].sort().values
    unigram = counts.unigram[indices]
    bigram = counts.bigram[indices][:, indices]
    # nothing kept ever follows: use pi_u
    bigram = torch.where(bigram.sum(1, keepdim=True) > 0, bigram, unigram)
    characters = tuple(counts.characters[i] for i in indices.tolist())
    bigram = bigram / bigram.sum(1, keepdim=True)
    return Task(
        characters,
        unigram / unigram.sum(),
        bigram,
        triggers,
        K,
        outputs,
        T,
        no_repeat,
        counts.familiar,
    )


def _check(N: int, K: int, T: int, triggers: str, outputs: str) -> None:
    for name, value, options in (("triggers", triggers, TRIGGERS), ("outputs", outputs, OUTPUTS)):
        if value not in options:
            raise ValueError(f"{name} must be one of {', '.join(options)}, got {value!r}")
    if N < 2 or T < 2:
        raise ValueError(f"N and T must be at least 2, got N = {N}, T = {T}")
    most = N - RARE_FROM if triggers == "fixed rare" else N
    if not 1 <= K <= most:
        raise ValueError(f"K must be from 1 to {most} for {triggers} triggers and N = {N}, got {K}")


@dataclass(frozen=True, eq=False)
class Batch:
    """Sampled sequences and which of their predictions are asked of the context."""

    tokens: Int[Tensor, "batch T_1"]  # T inputs and the target of the last
    # the input is a trigger that has already occurred before it
    in_context: Bool[Tensor, "batch T"]
    # the input is no trigger; a trigger's first occurrence is neither
    global_: Bool[Tensor, "batch T"]
    triggers: Int[Tensor, "batch K"]
    outputs: Int[Tensor, "batch K"]

    def take(self, rows: Int[Tensor, "some"], device: torch.device | str) -> "Batch":
        """Return some of the sequences, on `device`."""
        return Batch(*(getattr(self, field.name)[rows].to(device) for field in fields(self)))

    @property
    def inputs(self) -> Int[Tensor, "batch T"]:
        return self.tokens[:, :-1]

    @property
    def targets(self) -> Int[Tensor, "batch T"]:
        return self.tokens[:, 1:]


def masks(
    inputs: Int[Tensor, "batch T"], triggers: Int[Tensor, "batch K"], N: int
) -> tuple[Bool[Tensor, "batch T"], Bool[Tensor, "batch T"]]:
    """Return (in_context, global) of any sequences and trigger sets, sampled or typed. `inputs` are
    the tokens predicted from: at position t the model reads inputs[:, : t + 1] and predicts the
    next one."""
    batch, T = inputs.shape
    is_trigger = (
        inputs.new_zeros(batch, N, dtype=torch.bool).scatter_(1, triggers, True).gather(1, inputs)
    )
    position = torch.arange(T, device=inputs.device).expand(batch, T)
    first = torch.full((batch, N), T, device=inputs.device).scatter_reduce_(
        1, inputs, position, "amin"
    )
    return is_trigger & (first.gather(1, inputs) < position), ~is_trigger


def sample(
    task: Task, batch: int, generator: torch.Generator, device: torch.device | str = "cpu"
) -> Batch:
    """Return `batch` fresh sequences (Section 3), drawn on the CPU, then moved to `device`."""
    N = task.N
    T = task.T
    triggers, outputs = _draw_triggers(task, batch, generator)
    # at N * b + i: the output if i is a trigger of sequence b, else -1
    forced = torch.full((batch, N), -1).scatter_(1, triggers, outputs).flatten().numpy()
    rows = N * np.arange(batch)
    staircase = task.staircase.numpy()
    # 24 bits in double precision: adding a token is exact
    uniform = torch.rand(T, batch, generator=generator).double().numpy()
    columns = np.empty((T + 1, batch), np.int64)
    columns[0] = torch.multinomial(task.unigram, batch, replacement=True, generator=generator)
    # Token by token numpy takes half as long as torch: the operations are small.
    for t in range(T):
        token = columns[t]
        # found N i + j: leaves j
        step = staircase.searchsorted(uniform[t] + token, side="right") - N * token
        output = forced.take(rows + token)
        columns[t + 1] = np.where(output < 0, step, output)
    tokens = torch.from_numpy(columns).T.contiguous().to(device)
    triggers = triggers.to(device)
    outputs = outputs.to(device)
    in_context, global_ = masks(tokens[:, :-1], triggers, N)
    return Batch(tokens, in_context, global_, triggers, outputs)


def _draw_triggers(
    task: Task, batch: int, generator: torch.Generator
) -> tuple[Int[Tensor, "batch K"], Int[Tensor, "batch K"]]:
    if task.fixed_triggers is None:
        weights = task.unigram.expand(batch, -1)
        triggers = torch.multinomial(weights, task.K, generator=generator)
    else:
        triggers = task.fixed_triggers.expand(batch, -1)
    law = task.output_law[triggers.flatten()]
    return triggers, torch.multinomial(law, 1, generator=generator).view(batch, task.K)
