"""Slices of the sweeps, and what follows from them."""

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.statistics.crossing import first_crossing

AXES = {  # what the axes of a tensor are, behind that of the seeds
    "near": ("near",), "capacity": ("width", "capacity"), "mlp": ("width", "pairs"),
    "factorised": ("width", "pairs", "rank"), "best": ("width", "pairs", "rank"),
    "shared": ("width", "pairs", "taken"), "split": ("width", "pairs", "taken"),
    "linear": ("width", "members"), "sets": ("width", "members", "threshold"),
}  # fmt: skip
HALF = 0.5


def at(run: Run, name: str, **where: float) -> np.ndarray:
    """What is measured at given places of its axes, [seeds, …] with the axes that are left, in
    their order."""
    kind, _, last = name.partition("/")
    index: list[slice | int] = [slice(None)]
    for axis in AXES.get(last) or AXES[kind]:
        index.append(place(run, axis, where[axis]) if axis in where else slice(None))
    return run[name][tuple(index)]


def place(run: Run, axis: str, value: float) -> int:
    """Where on an axis a value stands, or the one nearest to it."""
    return int(np.abs(run[f"axis/{axis}"] - value).argmin())


def halves(run: Run, seed: int | None = None) -> np.ndarray:
    """The number of pairs at which half of them are recalled by one matrix, [widths]; between two
    numbers on the line through them, over the logarithm; NaN where it is beyond the numbers tried.
    """
    shares = run["capacity/equal"].mean(0) if seed is None else run["capacity/equal"][seed]
    log = np.log(run["axis/capacity"])
    found = np.array([first_crossing(log, -row, -HALF) for row in shares])
    return np.where(np.isfinite(found) & (found > log[0]), np.exp(found), np.nan)


def growth(run: Run, seed: int) -> float:
    """The power of the width with which that number grows, over the widths from 64."""
    wide = run["axis/width"] >= 64
    return float(np.polyfit(np.log(run["axis/width"][wide]), np.log(halves(run, seed)[wide]), 1)[0])


def waiting(run: Run) -> np.ndarray:
    """The power of its frequency with which a pair's time to be learned grows, [seeds]: of all that
    are learned, NaN where these are too few."""
    found = []
    for steps in run["learned/first"]:
        late = np.isfinite(steps) & (steps > 0)
        log = np.log(run["learned/often"][late]), np.log(steps[late])
        found.append(np.polyfit(*log, 1)[0] if late.sum() >= 8 else np.nan)
    return np.array(found)


def off_theory(run: Run) -> float:
    """The root mean square difference of simulation and theory, pairs stored alike, over widths
    from 32."""
    wide = run["axis/width"] >= 32
    return float(np.sqrt(np.mean((run["capacity/equal"].mean(0) - run["theory/equal"])[wide] ** 2)))
