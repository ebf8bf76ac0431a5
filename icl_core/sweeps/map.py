"""Draw what a sweep has measured: one metric over one of its knobs or two, however many runs are
done."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
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
    """What a map shows.

    metric  the id of the claim whose metric is drawn
    x, y    the knobs of the axes; without `y` the metric is a curve over `x`
    fixed   the values of all other axes, by field; an axis that is not named has its first value
    here    the config on screen, whose place is marked
    drawn   the cells that a class has drawn, by index in the grid, which are marked too
    """

    metric: str
    x: str
    y: str = ""
    fixed: Mapping[str, Any] = field(default_factory=dict)
    here: Any = None
    drawn: Collection[int] = ()

    @property
    def fields(self) -> tuple[str, ...]:
        """The knobs of the axes: x, and y if there is one."""
        return (self.x, self.y) if self.y else (self.x,)


def draw_map(grid: Grid, status: SweepStatus, choice: MapChoice) -> Panel:
    """Return the map of a sweep as far as it is. The key of a cell is its index in the grid."""
    claims = registry.experiment(grid.experiment).claims
    claim = next(claim for claim in claims if claim.id == choice.metric)
    fixed = {
        axis.field: choice.fixed.get(axis.field, axis.values[0])
        for axis in grid.axes
        if axis.field not in choice.fields
    }
    cells = [
        _grid_cell(index, outcome, choice, claim)
        for index, outcome in _outcomes_shown(grid, status, choice, fixed)
    ]
    x = _scale(grid.axis(choice.x))
    here = _here(grid, choice, fixed)
    if choice.y:
        y = _scale(grid.axis(choice.y))
        contours = _contours(grid, choice, fixed, x, y)
        figure = figures.swept_map(x, y, cells, claim.label, contours, here)
    else:
        lines = _theory_lines(grid, choice, fixed, x)
        figure = figures.swept_curve(x, cells, claim.label, lines, here[0] if here else None)
    return Panel(
        _title(grid, claim, choice, cells),
        _caption(claim, choice, grid),
        figure,
        data=_table(status, choice.metric),
    )


def _outcomes_shown(
    grid: Grid, status: SweepStatus, choice: MapChoice, fixed: Mapping[str, Any]
) -> list[tuple[int, Outcome]]:
    """Return the outcomes on the map, with their indices in the grid, row by row: `y` is the slower
    axis, `x` the faster."""
    shown = [
        (index, outcome)
        for index, outcome in enumerate(status.outcomes)
        if fixed.items() <= dict(outcome.cell.at).items()
    ]
    slower_first = [grid.axis(name) for name in reversed(choice.fields)]

    def place(item: tuple[int, Outcome]) -> list[int]:
        _, outcome = item
        return [axis.values.index(outcome.cell.at[axis.field]) for axis in slower_first]

    return sorted(shown, key=place)


def _grid_cell(index: int, outcome: Outcome, choice: MapChoice, claim: Claim) -> GridCell:
    """Return an outcome as a cell to be drawn; a value or error that there is not is NaN."""
    record = outcome.measured.get(claim.id, {})
    value = _number_or_nan(record.get("value"))
    error = _number_or_nan(record.get("error"))
    at = tuple(outcome.cell.at[name] for name in choice.fields)
    setting = ", ".join(f"{name} = {value_text(value)}" for name, value in outcome.cell.at.items())
    if record:
        hover = number_with_error(value, error)
    elif outcome.status == FAILED:
        hover = f"failed: {figures.literal(outcome.message)}"
    else:
        hover = WORDS[outcome.status]
    failed = outcome.status == FAILED
    is_drawn = index in choice.drawn
    return GridCell(at, value, error, failed, f"{setting}<br>{hover}", index, is_drawn)


def _number_or_nan(number: float | None) -> float:
    return np.nan if number is None else number


def number_with_error(value: float, error: float) -> str:
    """Return a number with its standard error, if that is not NaN: "0.98 ± 0.01"."""
    number = figures.significant(value, 4)
    return f"{number} ± {figures.significant(error, 2)}" if np.isfinite(error) else number


def _scale(axis: Axis) -> Scale:
    numbers = axis.knob.kind == "slider" and axis.values[0] > 0
    log = numbers and (axis.knob.log or _are_geometric(axis.values))
    return Scale(axis.knob.label, axis.values, log)


def _are_geometric(values: Sequence[float]) -> bool:
    """Return whether values were chosen by factors, as 32, 64, 128 are: their ratios are more alike
    than their differences."""
    if len(values) <= 2:
        return False
    differences = np.diff(values)
    ratios = np.diff(np.log(values))
    return bool(ratios.std() / ratios.mean() < differences.std() / differences.mean())


def _here(grid: Grid, choice: MapChoice, fixed: Mapping[str, Any]) -> tuple[Any, Any] | None:
    """Return where the config on screen lies on the map; None if any setting that the map does not
    show differs from the sweep's."""
    if choice.here is None:
        return None
    here = values(choice.here)
    for name, value in {**values(grid.base), **fixed}.items():
        if name not in (choice.x, choice.y, "seeds") and here[name] != value:
            return None
    if not all(_is_within(grid.axis(name), here[name]) for name in choice.fields):
        return None
    return here[choice.x], here.get(choice.y)


def _is_within(axis: Axis, value: Any) -> bool:
    between = axis.knob.kind == "slider" and axis.values[0] < value < axis.values[-1]
    return between or value in axis.values


def _theory_lines(
    grid: Grid, choice: MapChoice, fixed: Mapping[str, Any], x: Scale
) -> list[Expected]:
    """Return what theory gives for the metric along the axis `x`."""
    if not x.numeric or len(x.values) < 2:
        return []
    base = replace(grid.base, **fixed)
    across = tuple(x.between(FINE[1]))
    lines = []
    for index, theory in enumerate(registry.experiment(grid.experiment).theory):
        if theory.claim == choice.metric:
            line = np.array(_expected(grid.experiment, index, base, choice.x, across))
            lines.append(Expected(theory.label, line, across))
    return lines


def _contours(
    grid: Grid, choice: MapChoice, fixed: Mapping[str, Any], x: Scale, y: Scale
) -> list[Expected]:
    """Return what theory gives over both axes, for the metric or as a number of its own."""
    if not (x.numeric and y.numeric) or min(len(x.values), len(y.values)) < 2:
        return []
    base = replace(grid.base, **fixed)
    across = tuple(x.between(FINE[2]))
    up = tuple(y.between(FINE[2]))
    contours = []
    for index, theory in enumerate(registry.experiment(grid.experiment).theory):
        if theory.claim in (choice.metric, ""):
            rows = [
                _expected(grid.experiment, index, base, choice.x, across, choice.y, value)
                for value in up
            ]
            contours.append(Expected(theory.label, np.array(rows), across, up))
    return contours


@lru_cache(maxsize=2000)
def _expected(
    experiment_id: str,
    index: int,
    base: Any,
    x: str,
    across: Sequence[Any],
    y: str = "",
    row: Any = None,
) -> tuple[float, ...]:
    """Return what the experiment's theory of this index gives where the field `x` of `base` has
    each value of `across`, and `y`, if it is named, the value `row`; NaN where the experiment
    refuses the setting."""
    theory = registry.experiment(experiment_id).theory[index]
    numbers = []
    for value in across:
        changes = {x: value, y: row} if y else {x: value}
        try:
            numbers.append(float(theory.of(replace(base, **changes))))
        except BadSetting:
            numbers.append(float("nan"))
    return tuple(numbers)


def _title(grid: Grid, claim: Claim, choice: MapChoice, cells: Sequence[GridCell]) -> str:
    """Return the claim's label with the smallest and largest number, each with its place."""
    label = claim.label[:1].upper() + claim.label[1:]
    measured = [cell for cell in cells if np.isfinite(cell.value)]
    if not measured:
        return f"{label}: no number yet"
    lowest = min(measured, key=lambda cell: cell.value)
    highest = max(measured, key=lambda cell: cell.value)
    symbols = [grid.axis(name).knob.symbol for name in choice.fields]
    if lowest is highest:
        return f"{label}: {_number(lowest, symbols)}"
    return f"{label}: from {_number(lowest, symbols)} to {_number(highest, symbols)}"


def _number(cell: GridCell, symbols: Sequence[str]) -> str:
    """Return a cell's number with its place: "0.98 (d = 64, K = 3)"."""
    place = ", ".join(
        f"{symbol} = {value_text(value)}" for symbol, value in zip(symbols, cell.at, strict=True)
    )
    return f"{figures.significant(cell.value)} ({place})"


def _caption(claim: Claim, choice: MapChoice, grid: Grid) -> str:
    """Return the claim, what a cell or dot is, which ones a class has drawn, and what the dotted
    lines are."""
    if choice.y:
        marks = (
            "Each cell is a run; it is blank where there is none yet and crossed where it failed."
        )
        drawn = " Outlined: a phone has drawn it."
    else:
        marks = "Each dot is a run, with its error as a band; a cross stands where one failed."
        drawn = " Ringed: a phone has drawn it."
    if choice.drawn:
        marks += drawn
    labels = [
        theory.label
        for theory in registry.experiment(grid.experiment).theory
        if theory.claim == choice.metric or (choice.y and not theory.claim)
    ]
    dotted = f" Dotted: {'; '.join(labels)}, by theory." if labels else ""
    return f"The claim, at its own setting: {claim.text} {marks} Click on one to open it.{dotted}"


def _table(status: SweepStatus, metric: str) -> pd.DataFrame:
    rows = []
    for outcome in status.outcomes:
        record = outcome.measured.get(metric, {}) if outcome.status == DONE else {}
        rows.append(
            {
                **outcome.cell.at,
                "value": record.get("value"),
                "error": record.get("error"),
                "status": outcome.status,
                "message": outcome.message,
            }
        )
    return pd.DataFrame(rows)
