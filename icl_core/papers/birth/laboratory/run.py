"""Simulate memories of random pairs in all forms, and learn one by gradient descent."""

from collections.abc import Sequence

import numpy as np

from icl_core.contract.experiment import Progress, names
from icl_core.contract.seeds import other_seeds
from icl_core.papers.birth.laboratory import learned_memory, sweeps, vectors
from icl_core.papers.birth.laboratory.settings import HEADS, Config
from icl_core.training import loop

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
    often = vectors.zipf(config.N, config.exponent)
    rows = []
    memories = []
    for seed in seeds:
        U, V = (matrix.astype(float) for matrix in vectors.pairs(config.N, config.d, seed))
        start = vectors.gaussian((config.d, config.d), config.d, seed, config.d, vectors.MAPS)
        start = start.astype(float)
        zero = np.zeros_like(start)
        inputs = (U, V, often, config.learning_rate, config.steps)
        memory = learned_memory.train(zero, *inputs, norm=False)
        plain = learned_memory.train(start, *inputs, norm=False)
        normed = learned_memory.train(start, *inputs, norm=True)
        memories.append(memory)
        rows.append(
            {
                "curve/recall": memory.right.mean(1),
                "curve/asked": memory.right @ often,
                "curve/ratio_plain": ratio(plain.reading),
                "curve/ratio_norm": ratio(normed.reading),
                "learned/first": learned_memory.learned_at(memory.sure),
                "learned/one_step": memory.strength[1],
            }
        )
    first = memories[0]
    steps = np.arange(config.steps + 1)
    at = np.array(loop.spread([first.right.mean(1), first.strength.mean(1)]))
    snapshots = [
        {"snapshot/strength": memory.strength[at], "snapshot/right": memory.right[at]}
        for memory in memories
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
