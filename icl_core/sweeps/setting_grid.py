"""A grid of settings: every combination of the values of some knobs, over settings that all
share."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any

from icl_core import registry
from icl_core.contract.knobs import BadSetting, Knob, knobs_of
from icl_core.contract.settings_io import current_name, no_setting
from icl_core.figures.axis_scale import value_text

MOST_AXES = 4
MOST_CELLS = 400
REPEATS = ("seed", "seeds")  # knobs that repeat a cell: they are no axis
SWEPT = {
    "slider": "a number",
    "choice": "a choice",
    "toggle": "a switch",
}  # kinds that can be swept


@dataclass(frozen=True)
class Axis:
    """A swept knob with its values: numbers ascending, choices in the order that they are named."""

    field: str
    knob: Knob
    values: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Cell:
    """One setting of a grid: its value on each axis, by field, in `at`.

    `config` is None where the experiment refuses this setting; `refused` then says why.
    """

    at: Mapping[str, Any]
    config: Any
    refused: str = ""


@dataclass(frozen=True, eq=False)
class Grid:
    """The settings of a sweep: those of `base`, changed along the axes."""

    experiment: str
    base: Any
    axes: tuple[Axis, ...]

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """Every combination of the axes' values, the last axis the fastest."""
        fields = [axis.field for axis in self.axes]
        cells = []
        for values in product(*(axis.values for axis in self.axes)):
            at = dict(zip(fields, values, strict=True))
            try:
                cells.append(Cell(at, replace(self.base, **at)))
            except BadSetting as problem:
                cells.append(Cell(at, None, str(problem)))
        return tuple(cells)

    def axis(self, field: str) -> Axis:
        """Return the axis of a swept field."""
        return next(axis for axis in self.axes if axis.field == field)

    def title(self, cell: Cell) -> str:
        """Return a cell's values with their symbols: "d = 64, K = 3"."""
        return ", ".join(
            f"{self.axis(field).knob.symbol} = {value_text(value)}"
            for field, value in cell.at.items()
        )

    def text(self) -> str:
        """Return the axes as `parse` reads them: "d=32,64 K=1,3"."""
        words = []
        for axis in self.axes:
            # a switch is written "true", as in an address
            values = [
                str(value).lower() if isinstance(value, bool) else str(value)
                for value in axis.values
            ]
            words.append(f"{axis.field}={','.join(values)}")
        return " ".join(words)


def parse(experiment_id: str, words: Sequence[str], base: Any, seeds: int | None = None) -> Grid:
    """Return the grid over `base` that words like "d=32,64,128" describe. Raises `BadSetting` as
    `grid` does, and for a text that cannot be read."""
    _check_axes(len(words))
    knobs = knobs_of(registry.experiment(experiment_id).config)
    return grid(experiment_id, [_typed(word, knobs) for word in words], base, seeds)


def grid(
    experiment_id: str, swept: Sequence[tuple[str, list[Any]]], base: Any, seeds: int | None = None
) -> Grid:
    """Return the grid over `base` of the `swept` knobs, each with its values.

    Each cell has `seeds` seeds if that is given. Raises `BadSetting` for a knob that does not
    exist, cannot be swept or is named twice, for a value that it cannot have, and for too many
    knobs or values. A combination that the experiment refuses is a cell all the same.
    """
    _check_axes(len(swept))
    knobs = knobs_of(registry.experiment(experiment_id).config)
    axes = tuple(_axis(name, values, knobs) for name, values in swept)
    fields = [axis.field for axis in axes]
    twice = [field for field in fields if fields.count(field) > 1]
    if twice:
        raise BadSetting(f"a sweep must name each knob once, got {twice[0]} twice")
    count = math.prod(len(axis.values) for axis in axes)
    if count > MOST_CELLS:
        raise BadSetting(f"a sweep must have at most {MOST_CELLS} cells, got {count}")
    if seeds is not None:
        if "seeds" not in knobs:
            raise BadSetting(f"this experiment has no seeds to count, got {seeds}")
        base = replace(base, seeds=seeds)
    return Grid(experiment_id, base, axes)


def _check_axes(count: int) -> None:
    if not 1 <= count <= MOST_AXES:
        raise BadSetting(f"a sweep must be over 1 to {MOST_AXES} knobs, got {count}")


def can_sweep(knobs: Mapping[str, Knob]) -> Iterator[str]:
    """Return the fields, among `knobs` by field, that may be an axis."""
    return (field for field, knob in knobs.items() if knob.kind in SWEPT and field not in REPEATS)


def _typed(word: str, knobs: Mapping[str, Knob]) -> tuple[str, list[Any]]:
    """Return the name in a word like "d=32,64", and its values; as texts if it is no setting's."""
    name, equals, text = word.partition("=")
    if not equals:
        raise BadSetting(f"a swept knob must be written NAME=VALUE,VALUE, got {word!r:.80}")
    field = current_name(knobs, name)
    pieces = [piece.strip() for piece in text.split(",") if piece.strip()]
    return name, [knobs[field].parse(field, piece) if field in knobs else piece for piece in pieces]


def _axis(name: str, values: Sequence[Any], knobs: Mapping[str, Knob]) -> Axis:
    field = current_name(knobs, name)
    if field in REPEATS:
        raise BadSetting(
            f"a sweep must be over knobs other than {' and '.join(REPEATS)}, got {field}"
        )
    if field not in knobs:
        raise no_setting(name, can_sweep(knobs), "those that can be swept are")
    knob = knobs[field]
    if knob.kind not in SWEPT:
        raise BadSetting(
            f"a swept knob must be {', '.join(SWEPT.values())}, got {field}, a {knob.kind}"
        )
    if not 1 <= len(values) <= MOST_CELLS:
        raise BadSetting(f"{field} must have 1 to {MOST_CELLS} values, got {len(values)}")
    for value in values:
        knob.check(field, value)
        if values.count(value) > 1:
            raise BadSetting(f"{field} must have each value once, got {value} twice")
    return Axis(field, knob, tuple(sorted(values) if knob.kind == "slider" else values))
