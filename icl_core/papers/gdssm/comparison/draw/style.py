"""What the drawings of the comparison share: dots, reference lines, and what is said where a model
diverged."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.papers.gdssm.comparison.load_run import Entry, entries

EDGE = 1.5  # times the loss of predicting zero: beyond, a dot stands at the edge


def lines(zero: float, one: float, two: float) -> list[tuple[str, float, str]]:
    """The reference lines."""
    return [
        ("predicting zero", zero, "floor"),
        ("one step", one, "gradient descent"),
        ("two steps", two, "floor"),
    ]


def limits(run: Run, losses: np.ndarray) -> tuple[float, float]:
    """The range of losses that is shown: the reference lines and every loss that is not far above
    them."""
    zero, two = float(run["baseline/zero"][0]), float(run["baseline/two"][0])
    near = losses[losses <= EDGE * zero]  # neither inf nor NaN is
    low, high = near.min(initial=two), near.max(initial=zero)
    room = 0.1 * (high - low)  # for a name under the lowest dot
    return float(low - room), float(high + room)


def diverged(run: Run) -> list[Entry]:
    """The models with a seed whose training did not stay finite."""
    return [each for each in entries(run) if not np.isfinite(each.losses).all()]


def outside_range_sentence(run: Run, losses: np.ndarray) -> str:
    """A sentence on what diverged, and one on the models with a loss [..., models] outside the
    range."""
    tops = np.where(np.isfinite(losses), losses, -np.inf).reshape(-1, losses.shape[-1]).max(0)
    edge = EDGE * float(run["baseline/zero"][0])
    named = [
        f"{each.model.short} at {top:.3g}"
        for each, top in zip(entries(run), tops, strict=True)
        if top > edge
    ]
    lost = diverged_sentence(each.model.short for each in diverged(run))
    return lost + (f" Beyond the edge: {', '.join(named)}." if named else "")


def diverged_sentence(names: Iterable[str]) -> str:
    """A sentence that names what diverged, empty if nothing did."""
    text = ", ".join(names)
    return f" Diverged: {text}." if text else ""


def column(values: Any, places: int | None = None, missing: str = "diverged") -> Sequence[Any]:
    """Numbers as a column of a table; words where one is not finite."""
    numbers = np.asarray(values, dtype=float)
    rounded = numbers if places is None else numbers.round(places)
    return (
        rounded
        if np.isfinite(numbers).all()
        else [f"{x:g}" if np.isfinite(x) else missing for x in rounded]
    )  # type: ignore[return-value]


def counts(run: Run) -> tuple[str, str]:
    """The parameters of the GD-SSM's models, and of all others."""
    own, others = (
        [each.parameters for each in entries(run) if each.baseline is one] for one in (False, True)
    )
    return " and ".join(f"{count:,}" for count in own), f"{min(others):,} to {max(others):,}"
