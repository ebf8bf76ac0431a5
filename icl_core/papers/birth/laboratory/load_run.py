"""Slices of the sweeps, and what follows from them."""

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.contract.statistics import first_crossing

AXES = {  # what the axes of a tensor are, behind that of the seeds
    "near": ("near",), "capacity": ("width", "capacity"), "mlp": ("width", "pairs"),
    "factorised": ("width", "pairs", "rank"), "best": ("width", "pairs", "rank"),
    "shared": ("width", "pairs", "taken"), "split": ("width", "pairs", "taken"),
    "linear": ("width", "members"), "sets": ("width", "members", "threshold"),
}  # fmt: skip
HALF = 0.5


def at(run: Run, name: str, **where: float) -> np.ndarray:
    """Return a tensor of the sweeps at given places of its axes, [seeds, …] with the other axes in
    their order.

    where  values on axes, by the axis's name, as in AXES; of a value between two the nearer
    """
    kind, _, part = name.partition("/")
    index: list[slice | int] = [slice(None)]
    for axis in AXES.get(part) or AXES[kind]:
        index.append(place(run, axis, where[axis]) if axis in where else slice(None))
    return run[name][tuple(index)]


def place(run: Run, axis: str, value: float) -> int:
    """Return the index on an axis of a value, or of the one nearest to it."""
    return int(np.abs(run[f"axis/{axis}"] - value).argmin())


def halves(run: Run, seed: int | None = None) -> np.ndarray:
    """Return the number of pairs at which half of them are recalled by one matrix, [widths]; of the
    mean over seeds if `seed` is None. Between two numbers it is on the line through them, over the
    logarithm; it is NaN beyond the numbers tried.
    """
    shares = run["capacity/equal"].mean(0) if seed is None else run["capacity/equal"][seed]
    log = np.log(run["axis/capacity"])
    crossings = np.array([first_crossing(log, -row, -HALF) for row in shares])  # (widths,)
    return np.where(np.isfinite(crossings) & (crossings > log[0]), np.exp(crossings), np.nan)


def growth(run: Run, seed: int) -> float:
    """Return the power of the width with which the number of `halves` grows, over the widths from
    64."""
    is_wide = run["axis/width"] >= 64
    log_widths = np.log(run["axis/width"][is_wide])
    log_counts = np.log(halves(run, seed)[is_wide])
    return float(np.polyfit(log_widths, log_counts, 1)[0])


def waiting(run: Run) -> np.ndarray:
    """Return the power of its frequency with which a pair's time to be learned grows, [seeds]: of
    all that are learned, NaN where these are too few."""
    powers = []
    for steps in run["learned/first"]:
        is_learned = np.isfinite(steps) & (steps > 0)
        log_often = np.log(run["learned/often"][is_learned])
        log_steps = np.log(steps[is_learned])
        powers.append(np.polyfit(log_often, log_steps, 1)[0] if len(log_steps) >= 8 else np.nan)
    return np.array(powers)


def milestones(run: Run) -> dict[str, float]:
    """Return the first steps at which half of the pairs, and all, are recalled, where they are."""
    shares = run["curve/recall"][0]
    steps = run["curve/step"]
    is_reached = {"half": shares >= 0.5, "all": shares >= 1.0}  # [steps] each
    return {name: float(steps[is_at.argmax()]) for name, is_at in is_reached.items() if is_at.any()}


def off_theory(run: Run) -> float:
    """Return the root mean square difference of simulation and theory, pairs stored alike, over
    widths from 32."""
    is_wide = run["axis/width"] >= 32
    difference = run["capacity/equal"].mean(0) - run["theory/equal"]  # (widths, pairs)
    return float(np.sqrt(np.mean(difference[is_wide] ** 2)))
