"""What a sweep has measured, drawn: one metric against one of its knobs or two, partial
as it is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from html import escape
from typing import Any

import numpy as np
import pandas as pd

from icl_core import figures, registry
from icl_core.contract.claims import Claim
from icl_core.contract.experiment import Panel
from icl_core.contract.knobs import BadSetting, values
from icl_core.figures import Expected, GridCell, Scale
from icl_core.figures.axis_scale import value_text
from icl_core.sweeps.setting_grid import Axis, Grid
from icl_core.sweeps.sweep import DONE, FAILED, Outcome, SweepStatus

FINE = {1: 81, 2: 25}  # points at which theory is drawn, along one axis or each of two
WORDS = {
    "done": "not measured at this setting",
    "missing": "not asked for",
    "waiting": "waiting",
    "running": "running",
}


@dataclass(frozen=True)
class MapChoice:
    """What a map shows: a `metric`, by its claim's id, against the knob `x`, and `y` unless it is
    empty; every other axis at its value in `fixed`, or else at its first. `here` is the setting on
    screen, which is marked."""

    metric: str
    x: str
    y: str = ""
    fixed: Mapping[str, Any] = field(default_factory=dict)
    here: Any = None


def draw_map(grid: Grid, look: SweepStatus, shown: MapChoice) -> Panel:
    """The map of a sweep as far as it is. A spot's key is the index of its cell in the grid."""
    claim = next(
        each for each in registry.experiment(grid.experiment).claims if each.id == shown.metric
    )
    fixed = {
        axis.field: shown.fixed.get(axis.field, axis.values[0]) for axis in _others(grid, shown)
    }
    spots = [_spot(index, each, shown, claim) for index, each in _sliced(grid, look, shown, fixed)]
    x = _scale(grid.axis(shown.x))
    here = _here(grid, shown, fixed)
    if shown.y:
        y = _scale(grid.axis(shown.y))
        figure = figures.swept_map(
            x, y, spots, claim.label, _contours(grid, shown, fixed, x, y), here
        )
    else:
        line = _line(grid, shown, fixed, x)
        figure = figures.swept_curve(x, spots, claim.label, line, None if here is None else here[0])
    return Panel(
        _title(grid, claim, shown, spots),
        _caption(claim, shown, grid),
        figure,
        data=_data(look, shown.metric),
    )


def _others(grid: Grid, shown: MapChoice) -> list[Axis]:
    return [axis for axis in grid.axes if axis.field not in (shown.x, shown.y)]


def _sliced(
    grid: Grid, look: SweepStatus, shown: MapChoice, fixed: Mapping[str, Any]
) -> list[tuple[int, Outcome]]:
    """The cells on the map, with their indices, row by row: `y` the slower, `x` the faster."""
    on = [
        (i, each)
        for i, each in enumerate(look.outcomes)
        if fixed.items() <= dict(each.cell.at).items()
    ]
    order = [grid.axis(name).values for name in (shown.y, shown.x) if name]
    names = [name for name in (shown.y, shown.x) if name]
    return sorted(
        on,
        key=lambda item: [
            at.index(item[1].cell.at[name]) for at, name in zip(order, names, strict=True)
        ],
    )


def _spot(index: int, outcome: Outcome, shown: MapChoice, claim: Claim) -> GridCell:
    record = outcome.measured.get(claim.id, {})
    value, error = (
        np.nan if (number := record.get(name)) is None else number for name in ("value", "error")
    )
    at = tuple(outcome.cell.at[name] for name in (shown.x, shown.y) if name)
    where = ", ".join(f"{name} = {value_text(each)}" for name, each in outcome.cell.at.items())
    told = _with_error(value, error) if record else _why_not(outcome)
    return GridCell(at, value, error, outcome.status == FAILED, f"{where}<br>{told}", index)


def _with_error(value: float, error: float) -> str:
    return figures.significant(value, 4) + (
        f" ± {figures.significant(error, 2)}" if np.isfinite(error) else ""
    )


def _why_not(outcome: Outcome) -> str:
    """Why a cell has no number, for the pointer."""
    if outcome.status == FAILED:
        return f"failed: {escape(outcome.message, quote=False)}"
    return WORDS[outcome.status]


def _scale(axis: Axis) -> Scale:
    numbers = axis.knob.kind == "slider" and axis.values[0] > 0
    return Scale(
        axis.knob.label, axis.values, numbers and (axis.knob.log or _by_factors(axis.values))
    )


def _by_factors(values: Sequence[float]) -> bool:
    """Whether the values were chosen by factors, as 32, 64, 128 are: their ratios are more alike
    than their gaps."""
    gaps, ratios = np.diff(values), np.diff(np.log(values))
    return len(values) > 2 and bool(ratios.std() / ratios.mean() < gaps.std() / gaps.mean())


def _here(grid: Grid, shown: MapChoice, fixed: Mapping[str, Any]) -> tuple[Any, Any] | None:
    """Where the setting on screen is, if it lies on the map: all that the map does not show is as
    in the sweep."""
    if shown.here is None:
        return None
    mine, wanted = values(shown.here), {**values(grid.base), **fixed}
    free = {shown.x, shown.y, "seeds"}
    if any(mine[name] != value for name, value in wanted.items() if name not in free):
        return None
    at = mine[shown.x], mine.get(shown.y)
    scales = [grid.axis(name) for name in (shown.x, shown.y) if name]
    inside = all(_within(axis, value) for axis, value in zip(scales, at, strict=False))
    return at if inside else None


def _within(axis: Axis, value: Any) -> bool:
    return value in axis.values or (
        axis.knob.kind == "slider" and axis.values[0] < value < axis.values[-1]
    )


def _line(grid: Grid, shown: MapChoice, fixed: Mapping[str, Any], x: Scale) -> list[Expected]:
    if not x.numeric or len(x.values) < 2:
        return []
    base, at, found = replace(grid.base, **fixed), tuple(x.between(FINE[1])), []
    for index, theory in enumerate(registry.experiment(grid.experiment).theory):
        if theory.claim == shown.metric:
            line = _expected(grid.experiment, index, base, shown.x, at)
            found.append(Expected(theory.label, np.array(line), at))
    return found


def _contours(
    grid: Grid, shown: MapChoice, fixed: Mapping[str, Any], x: Scale, y: Scale
) -> list[Expected]:
    if not (x.numeric and y.numeric) or min(len(x.values), len(y.values)) < 2:
        return []
    base, across, up, found = (
        replace(grid.base, **fixed),
        tuple(x.between(FINE[2])),
        tuple(y.between(FINE[2])),
        [],
    )
    for index, theory in enumerate(registry.experiment(grid.experiment).theory):
        if theory.claim in (shown.metric, ""):
            rows = [
                _expected(grid.experiment, index, base, shown.x, across, shown.y, value)
                for value in up
            ]
            found.append(Expected(theory.label, np.array(rows), across, up))
    return found


@lru_cache(maxsize=2000)
def _expected(
    experiment_id: str,
    index: int,
    base: Any,
    x: str,
    at: Sequence[Any],
    y: str = "",
    row: Any = None,
) -> tuple[float, ...]:
    """What theory gives along an axis; NaN where the experiment refuses the setting."""
    theory, found = registry.experiment(experiment_id).theory[index], []
    for value in at:
        try:
            found.append(float(theory.of(replace(base, **{x: value} | ({y: row} if y else {})))))
        except BadSetting:
            found.append(float("nan"))
    return tuple(found)


def _title(grid: Grid, claim: Claim, shown: MapChoice, spots: Sequence[GridCell]) -> str:
    """What is seen: from where to where the numbers go."""
    name = claim.label[:1].upper() + claim.label[1:]
    known = [spot for spot in spots if np.isfinite(spot.value)]
    if not known:
        return f"{name}: no number yet"
    low, high = (choose(known, key=lambda spot: spot.value) for choose in (min, max))
    symbols = [grid.axis(each).knob.symbol for each in (shown.x, shown.y) if each]
    ends = [_number(low, symbols)] + ([_number(high, symbols)] if low is not high else [])
    return f"{name}: " + (f"from {ends[0]} to {ends[1]}" if len(ends) == 2 else ends[0])


def _number(spot: GridCell, symbols: Sequence[str]) -> str:
    """A number, with where it is."""
    where = ", ".join(
        f"{symbol} = {value_text(value)}" for symbol, value in zip(symbols, spot.at, strict=True)
    )
    return f"{figures.significant(spot.value)} ({where})"


def _caption(claim: Claim, shown: MapChoice, grid: Grid) -> str:
    """What to look at."""
    blank = "Each cell is a run; it is blank where there is none yet and crossed where it failed."
    what = (
        blank
        if shown.y
        else "Each dot is a run, with its error as a band; a cross stands where one failed."
    )
    theory = registry.experiment(grid.experiment).theory
    drawn = [each for each in theory if each.claim == shown.metric or (shown.y and not each.claim)]
    dotted = " Dotted: " + "; ".join(each.label for each in drawn) + ", by theory." if drawn else ""
    return f"The claim, at its own setting: {claim.text} {what} Click on one to open it.{dotted}"


def _data(look: SweepStatus, metric: str) -> pd.DataFrame:
    rows = []
    for each in look.outcomes:
        record = each.measured.get(metric, {}) if each.status == DONE else {}
        told = {"value": record.get("value"), "error": record.get("error"), "status": each.status}
        rows.append({**each.cell.at, **told, "message": each.message})
    return pd.DataFrame(rows)
