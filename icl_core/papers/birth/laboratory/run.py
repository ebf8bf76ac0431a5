"""Simulate memories of random pairs in all forms, and learn one by gradient descent, as in Lemma 1,
of random vectors that come up with Zipf's frequencies."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from icl_core.contract.experiment import Progress, names
from icl_core.contract.seeds import other_seeds
from icl_core.papers.birth.laboratory import memory, sweeps
from icl_core.papers.birth.laboratory.settings import HEADS, Config
from icl_core.training import loop

Pairs = Float[np.ndarray, "N"]


class Learned(NamedTuple):
    """Over the steps, the first before training."""

    # a_ii of eq. 6, read off W; without layer norm and from zero only
    strength: Float[np.ndarray, "steps N"]
    reading: Float[np.ndarray, "steps N"]  # v_i^T W u_i
    # whether each pair is recalled, 0 or 1: of several largest the first counts, all alike none.
    right: Float[np.ndarray, "steps N"]
    sure: Float[np.ndarray, "steps N"]  # the probability given to each pair's own output


def gradient(
    W: np.ndarray, U: np.ndarray, V: np.ndarray, often: Pairs, norm: bool
) -> tuple[Float[np.ndarray, "d d"], Float[np.ndarray, "N N"]]:
    """Return the gradient of the expected loss with respect to W, eq. 5 or with layer norm eq. 38;
    and the predictions, a row an input."""
    answer = U @ W.T
    length = np.linalg.norm(answer, axis=1, keepdims=True) if norm else 1.0
    unit = answer / length
    logits = unit @ V.T
    p = np.exp(logits - logits.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    back = often[:, None] * (p - np.eye(len(U))) @ V
    if norm:
        back = (back - unit * (unit * back).sum(1, keepdims=True)) / length
    return back.T @ U, p


def train(
    W: np.ndarray, U: np.ndarray, V: np.ndarray, often: Pairs, rate: float, steps: int, norm: bool
) -> Learned:
    """Run full-batch gradient descent from W, float64, and return what it learns.

    often  how often each pair comes up; their sum is 1
    rate   the learning rate
    norm   whether with layer norm
    """
    # strengths: outputs^T W inputs, if the pairs are independent; (d, N) each
    inputs = np.linalg.pinv(U)
    outputs = np.linalg.pinv(V)
    rows = []
    for _ in range(steps + 1):
        slope, p = gradient(W, U, V, often, norm)
        strength = ((outputs.T @ W) * inputs.T).sum(1)
        reading = ((U @ W.T) * V).sum(1)
        right = (p.argmax(1) == np.arange(len(U))) & (np.ptp(p, 1) > 0)  # all alike is no answer
        rows.append((strength, reading, right, p.diagonal()))
        W = W - rate * slope
    return Learned(*(np.array(column, float) for column in zip(*rows, strict=True)))


def one_step(often: Pairs, rate: float) -> Pairs:
    """Return the strengths after a single step from zero: eq. 5 with all predictions 1 / N."""
    return rate * often * (1 - 1 / len(often))


def without_cross_talk(often: Pairs, rate: float, step: int) -> Pairs:
    """Return the strengths if all embeddings were orthonormal and steps small: the right logit's
    lead g over the others solves (exp(g) - 1) / (N - 1) + g = rate p t N / (N - 1), and is shared
    among a pair's N strengths."""
    N = len(often)
    growth = rate * often * step * N / (N - 1)
    low = np.zeros(N)
    high = growth.copy()
    for _ in range(60):  # by bisection
        g = (low + high) / 2
        is_above = np.expm1(np.minimum(g, 700)) / (N - 1) + g > growth
        low = np.where(is_above, low, g)
        high = np.where(is_above, g, high)
    return (low + high) / 2 * (N - 1) / N


def half_at(often: Pairs, rate: float) -> Pairs:
    """Return the step at which each output is given probability one half, if there were no
    cross-talk: the lead is then ln (N − 1)."""
    N = len(often)
    return ((N - 2) / (N - 1) + np.log(N - 1)) * (N - 1) / N / (rate * often)


def learned_at(sure: Float[np.ndarray, "steps N"]) -> Pairs:
    """Return the step from which on each pair's own output is given at least one half, to the end;
    NaN if it is less in the end."""
    is_less = sure < 0.5
    first = len(sure) - is_less[::-1].argmax(0)  # the step after the last at which it is less
    return np.where(is_less[-1], np.nan, np.where(is_less.any(0), first, 0)).astype(float)


NEAR = ("independent", "remapped", "other")


def compute(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Simulate and learn for every seed. Return:

    near/…      [seeds, widths]
    capacity/…  [seeds, widths, pairs], and by theory `theory/…` [widths, pairs]
    form/…      [seeds, widths, …], see `sweeps.forms` and `sweeps.sets`
    curve/…     [seeds, steps] of the learned memory, and `learned/…` [seeds, N]
    snapshot/…  of its first seed; of the others seed/<number>/snapshot/…
    axis/…      what the axes of these are

    Raises `Cancelled`.
    """
    seeds = [(config.seed + index) % 100 for index in range(config.seeds)]
    progress.enter("random vectors")
    near = _stacked([sweeps.inner_products(seed) for seed in seeds])
    tensors = {f"near/{name}": array for name, array in near.items()}
    sweep_by_kind = {
        "capacity": lambda d, seed: sweeps.capacity(d, config.exponent, seed),
        "form": _forms,
    }
    for kind, sweep in sweep_by_kind.items():
        rows = []
        for index, seed in enumerate(seeds):
            progress.enter(f"{kind}, seed {index + 1} of {len(seeds)}")
            rows.append(_stacked([sweep(d, seed) for d in sweeps.WIDTHS]))
        tensors |= {f"{kind}/{name}": array for name, array in _stacked(rows).items()}
    progress.enter("theory")
    theory = _stacked([sweeps.expected(d, config.exponent) for d in sweeps.WIDTHS])
    progress.enter("the learned memory")
    return {
        **tensors,
        **{f"theory/{name}": array for name, array in theory.items()},
        **_learned(config, seeds),
        **_axes(),
    }


def _stacked(rows: Sequence[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Return the arrays of all rows by name, each [rows, …], float32."""
    return {name: np.stack([row[name] for row in rows]).astype(np.float32) for name in rows[0]}


def _forms(d: int, seed: int) -> dict[str, np.ndarray]:
    return {**sweeps.forms(d, seed), **sweeps.sets(d, seed)}


def _axes() -> dict[str, np.ndarray]:
    values_by_axis = {
        "near": sweeps.SPREAD_WIDTHS,
        "width": sweeps.WIDTHS,
        "capacity": sweeps.CAPACITY,
        "pairs": sweeps.PAIRS,
        "rank": sweeps.RANKS,
        "taken": range(HEADS),
        "members": sweeps.SETS,
    }
    axes = {f"axis/{name}": np.array(row, np.int32) for name, row in values_by_axis.items()}
    return {
        **axes,
        "axis/threshold": sweeps.THRESHOLDS,
        "axis/bin": sweeps.BINS,
        "names/near": names(NEAR),
    }


def _learned(config: Config, seeds: Sequence[int]) -> dict[str, np.ndarray]:
    """Return the tensors of the memory that is learned from zero, and the ratios of those learned
    from a random W, without layer norm and with it."""
    often = memory.zipf(config.N, config.exponent)
    rows = []
    memories = []
    for seed in seeds:
        U, V = (matrix.astype(float) for matrix in memory.pairs(config.N, config.d, seed))
        start = memory.gaussian((config.d, config.d), config.d, seed, config.d, memory.MAPS)
        start = start.astype(float)
        zero = np.zeros_like(start)
        inputs = (U, V, often, config.learning_rate, config.steps)
        learned = train(zero, *inputs, norm=False)
        plain = train(start, *inputs, norm=False)
        normed = train(start, *inputs, norm=True)
        memories.append(learned)
        rows.append(
            {
                "curve/recall": learned.right.mean(1),
                "curve/asked": learned.right @ often,
                "curve/ratio_plain": ratio(plain.reading),
                "curve/ratio_norm": ratio(normed.reading),
                "learned/first": learned_at(learned.sure),
                "learned/one_step": learned.strength[1],
            }
        )
    first = memories[0]
    steps = np.arange(config.steps + 1)
    at = np.array(loop.spread([first.right.mean(1), first.strength.mean(1)]))
    snapshots = [
        {"snapshot/strength": learned.strength[at], "snapshot/right": learned.right[at]}
        for learned in memories
    ]
    others = [{**snapshot, "snapshot/step": at} for snapshot in snapshots[1:]]
    return {
        **_stacked(rows),
        **{name: array.astype(np.float32) for name, array in snapshots[0].items()},
        "snapshot/step": at.astype(np.float32),
        **other_seeds(dict(enumerate(others, 2))),
        "learned/often": often,
        "curve/step": steps,
    }


def ratio(reading: np.ndarray) -> np.ndarray:
    """Return the mean reading of the most frequent quarter of the pairs over that of the rarest
    quarter, [steps]; where the rare ones read nothing yet, NaN."""
    quarter = max(1, reading.shape[1] // 4)
    rare = reading[:, -quarter:].mean(1)
    return np.where(rare > 0, reading[:, :quarter].mean(1) / np.where(rare > 0, rare, 1), np.nan)
