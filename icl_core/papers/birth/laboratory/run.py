"""Simulates memories of random pairs in all forms, and learns one by gradient descent."""

from collections.abc import Sequence

import numpy as np

from icl_core.contract.experiment import Progress, names
from icl_core.contract.seeds import other_seeds
from icl_core.papers.birth.laboratory import learned_memory, sweeps, vectors
from icl_core.papers.birth.laboratory.settings import HEADS, Config
from icl_core.training import loop

NEAR = ("independent", "remapped", "other")


def compute(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """`near/*` [seeds, widths]; `capacity/*` [seeds, widths, pairs] and by theory `theory/*`
    [widths, pairs]; `form/*` [seeds, widths, …] (see `sweeps.forms`, `sweeps.sets`); `curve/*`
    [seeds, steps] and `learned/*` [seeds, N] of the learned memory, `snapshot/*` of its first seed
    and of the others as `seed/<number>/snapshot/*`;
    `axis/*`, what the axes of these are."""
    seeds = [(config.seed + index) % 100 for index in range(config.seeds)]
    progress.enter("random vectors")
    found = {
        f"near/{name}": each
        for name, each in _stacked([sweeps.inner_products(seed) for seed in seeds]).items()
    }
    for name, of in {
        "capacity": lambda d, seed: sweeps.capacity(d, config.exponent, seed),
        "form": _forms,
    }.items():
        rows = []
        for index, seed in enumerate(seeds):
            progress.enter(f"{name}, seed {index + 1} of {len(seeds)}")
            rows.append(_stacked([of(d, seed) for d in sweeps.WIDTHS]))
        found |= {f"{name}/{each}": array for each, array in _stacked(rows).items()}
    progress.enter("theory")
    theory = _stacked([sweeps.expected(d, config.exponent) for d in sweeps.WIDTHS])
    progress.enter("the learned memory")
    return {
        **found,
        **{f"theory/{name}": each for name, each in theory.items()},
        **_learned(config, seeds),
        **_axes(),
    }


def _stacked(rows: Sequence[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    return {name: np.stack([each[name] for each in rows]).astype(np.float32) for name in rows[0]}


def _forms(d: int, seed: int) -> dict[str, np.ndarray]:
    return {**sweeps.forms(d, seed), **sweeps.sets(d, seed)}


def _axes() -> dict[str, np.ndarray]:
    whole = {
        "near": sweeps.SPREAD_WIDTHS,
        "width": sweeps.WIDTHS,
        "capacity": sweeps.CAPACITY,
        "pairs": sweeps.PAIRS,
        "rank": sweeps.RANKS,
        "taken": range(HEADS),
        "members": sweeps.SETS,
    }
    found = {f"axis/{name}": np.array(values, np.int32) for name, values in whole.items()}
    return {
        **found,
        "axis/threshold": sweeps.THRESHOLDS,
        "axis/bin": sweeps.BINS,
        "names/near": names(NEAR),
    }


def _learned(config: Config, seeds: Sequence[int]) -> dict[str, np.ndarray]:
    often = vectors.zipf(config.N, config.exponent)
    rows, memories = [], []
    for seed in seeds:
        U, V = (each.astype(float) for each in vectors.pairs(config.N, config.d, seed))
        start = vectors.gaussian(
            (config.d, config.d), config.d, seed, config.d, vectors.MAPS
        ).astype(float)
        zero = np.zeros_like(start)
        given = (U, V, often, config.learning_rate, config.steps)
        made = learned_memory.train(zero, *given, norm=False)
        beside = {
            f"ratio_{name}": ratio(learned_memory.train(start, *given, norm=norm).reading)
            for name, norm in (("plain", False), ("norm", True))
        }
        memories.append(made)
        rows.append(
            {
                "curve/recall": made.right.mean(1),
                "curve/asked": made.right @ often,
                **{f"curve/{name}": each for name, each in beside.items()},
                "learned/first": learned_memory.learned_at(made.sure),
                "learned/one_step": made.strength[1],
            }
        )
    first = memories[0]
    steps = np.arange(config.steps + 1)
    at = np.array(loop.spread([first.right.mean(1), first.strength.mean(1)]))
    kept = [
        {"snapshot/strength": each.strength[at], "snapshot/right": each.right[at]}
        for each in memories
    ]
    others = dict(enumerate(({**each, "snapshot/step": at} for each in kept[1:]), 2))
    return {
        **_stacked(rows),
        **{name: each.astype(np.float32) for name, each in kept[0].items()},
        "snapshot/step": at.astype(np.float32),
        **other_seeds(others),
        "learned/often": often,
        "curve/step": steps,
    }


def ratio(reading: np.ndarray) -> np.ndarray:
    """The mean reading of the most frequent quarter of the pairs over that of the rarest quarter,
    [steps]; where the rare ones read nothing yet, NaN."""
    quarter = max(1, reading.shape[1] // 4)
    rare = reading[:, -quarter:].mean(1)
    return np.where(rare > 0, reading[:, :quarter].mean(1) / np.where(rare > 0, rare, 1), np.nan)
