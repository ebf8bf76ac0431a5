"""A grid of settings: every value of one knob with every value of the others, on top of settings
that all share."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any

from icl_core import registry
from icl_core.contract.knobs import BadSetting, Knob, knobs_of
from icl_core.contract.settings_io import current_name

MOST_AXES, MOST_CELLS = 4, 400
REPEATS = ("seed", "seeds")  # they repeat a cell and make no other
SWEPT = {
    "slider": "a number",
    "choice": "a choice",
    "toggle": "a switch",
}  # kinds of knobs that can be swept


@dataclass(frozen=True)
class Axis:
    """A knob that is swept, with its values: numbers ascending, choices in the order they were
    given."""

    field: str
    knob: Knob
    values: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Cell:
    """One place of a grid: its value on each axis, by field. `config` is None where the experiment
    refuses these settings; `refused` then says why."""

    at: Mapping[str, Any]
    config: Any
    refused: str = ""


@dataclass(frozen=True, eq=False)
class Grid:
    """The settings of a sweep: those of `base`, but for what the axes change."""

    experiment: str
    base: Any
    axes: tuple[Axis, ...]

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """Every combination of the axes' values, the last axis the fastest."""
        fields = [axis.field for axis in self.axes]
        every = product(*(axis.values for axis in self.axes))
        return tuple(_cell(self.base, dict(zip(fields, values, strict=True))) for values in every)

    def axis(self, field: str) -> Axis:
        """The axis of a field that is swept."""
        return next(axis for axis in self.axes if axis.field == field)

    def text(self) -> str:
        """The axes as `parse` reads them: "d=32,64 K=1,3"."""
        return " ".join(f"{axis.field}={','.join(map(_text, axis.values))}" for axis in self.axes)


def parse(experiment_id: str, words: Sequence[str], base: Any, seeds: int | None = None) -> Grid:
    """The grid over `base` that words like "d=32,64,128" ask for, each cell with `seeds` if that is
    given.

    Raises `BadSetting` for a knob that there is not, that cannot be swept or comes twice, for a
    value that it cannot have, and for too many of either. A combination that the experiment refuses
    is a cell all the same.
    """
    known = knobs_of(registry.experiment(experiment_id).config)
    if not 1 <= len(words) <= MOST_AXES:
        raise BadSetting(f"a sweep must be over 1 to {MOST_AXES} knobs, got {len(words)}")
    axes = tuple(_axis(word, known) for word in words)
    fields = [axis.field for axis in axes]
    if twice := [field for field in fields if fields.count(field) > 1]:
        raise BadSetting(f"a sweep must name each knob once, got {twice[0]} twice")
    count = math.prod(len(axis.values) for axis in axes)
    if count > MOST_CELLS:
        raise BadSetting(f"a sweep must have at most {MOST_CELLS} cells, got {count}")
    return Grid(experiment_id, _with_seeds(base, seeds, known), axes)


def can_sweep(known: Mapping[str, Knob]) -> Iterator[str]:
    """The fields that may be an axis."""
    return (name for name, knob in known.items() if knob.kind in SWEPT and name not in REPEATS)


def _axis(word: str, known: Mapping[str, Knob]) -> Axis:
    name, equals, given = word.partition("=")
    if not equals:
        raise BadSetting(f"a swept knob must be written NAME=VALUE,VALUE, got {word!r:.80}")
    field = current_name(known, name)
    if field in REPEATS:
        raise BadSetting(
            f"a sweep must be over knobs other than {' and '.join(REPEATS)}, got {field}"
        )
    if field not in known:
        raise BadSetting(
            f"there is no setting {name!r:.80}; those that can be swept are "
            f"{', '.join(can_sweep(known))}"
        )
    knob = known[field]
    if knob.kind not in SWEPT:
        raise BadSetting(
            f"a swept knob must be {', '.join(SWEPT.values())}, got {field}, a {knob.kind}"
        )
    return Axis(field, knob, _values(field, knob, given))


def _values(field: str, knob: Knob, given: str) -> tuple[Any, ...]:
    """The values between commas, each one that the knob can have."""
    pieces = [piece.strip() for piece in given.split(",") if piece.strip()]
    if not 1 <= len(pieces) <= MOST_CELLS:
        raise BadSetting(f"{field} must have 1 to {MOST_CELLS} values, got {len(pieces)}")
    found = [knob.parse(field, piece) for piece in pieces]
    for value in found:
        knob.check(field, value)
        if found.count(value) > 1:
            raise BadSetting(f"{field} must have each value once, got {value} twice")
    return tuple(sorted(found) if knob.kind == "slider" else found)


def _with_seeds(base: Any, seeds: int | None, known: Mapping[str, Knob]) -> Any:
    if seeds is None:
        return base
    if "seeds" not in known:
        raise BadSetting(f"this experiment has no seeds to count, got {seeds}")
    return replace(base, seeds=seeds)


def _cell(base: Any, at: Mapping[str, Any]) -> Cell:
    try:
        return Cell(at, replace(base, **at))
    except BadSetting as refused:
        return Cell(at, None, str(refused))


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
