"""What the drawings of the comparison share: reference lines, the range of losses that is shown,
columns of tables."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.papers.gdssm.comparison.load_run import entries

EDGE = 1.5  # times the loss of predicting zero: beyond, a dot stands at the edge


def lines(zero: float, one: float, two: float) -> list[tuple[str, float, str]]:
    """Return the reference lines: name, loss and kind of each."""
    return [
        ("predicting zero", zero, "floor"),
        ("one step", one, "gradient descent"),
        ("two steps", two, "floor"),
    ]


def limits(run: Run, losses: np.ndarray) -> tuple[float, float]:
    """Return the range of losses that is shown: the reference lines and every loss that is not far
    above them."""
    zero = float(run["baseline/zero"][0])
    two = float(run["baseline/two"][0])
    near = losses[losses <= EDGE * zero]  # neither inf nor NaN is
    low = near.min(initial=two)
    high = near.max(initial=zero)
    room = 0.1 * (high - low)  # for a name under the lowest dot
    return float(low - room), float(high + room)


def beyond(run: Run, losses: np.ndarray) -> str:
    """Return which models have a loss [..., models] outside the range."""
    tops = np.where(np.isfinite(losses), losses, -np.inf).reshape(-1, losses.shape[-1]).max(0)
    edge = EDGE * float(run["baseline/zero"][0])
    return ", ".join(
        f"{entry.model.short} at {top:.3g}"
        for entry, top in zip(entries(run), tops, strict=True)
        if top > edge
    )


def column(values: Any, places: int | None = None, missing: str = "diverged") -> Sequence[Any]:
    """Return numbers as a column of a table, rounded to `places`; words if one is not finite,
    `missing` in its place."""
    numbers = np.asarray(values, dtype=float)
    rounded = numbers if places is None else numbers.round(places)
    return (
        rounded
        if np.isfinite(numbers).all()
        else [f"{x:g}" if np.isfinite(x) else missing for x in rounded]
    )  # type: ignore[return-value]
