"""The diagram of a model: what flows into what, and where its matrices stand. Values only;
`figures.scheme` draws it.

Boxes are placed by their centres, in units of a tenth of a line of text; y goes down.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

KINDS = ("trained", "given", "construction", "frozen", "computed", "sum")


@dataclass(frozen=True)
class Box:
    """One thing in a model.

    name    its id in arrows
    label   what stands in it: a symbol
    kind    one of KINDS: "trained" (learned here), "given" (by a visitor), "construction" (written
            down),
            "frozen" (random, as it began), "computed" (from what comes in), "sum" (a small circle)
    says    what it is, in a few words: under its label, and for a screen reader
    opens   the drawing that shows it: on the stage or in a drawer
    view    view fields that this drawing needs for it
    part    which of that drawing's maps is its own, for the small picture in the box; None: no
            picture
    rows    the first of that map's rows that are its own, and the one after the last; None: all
    """

    name: str
    label: str
    x: float
    y: float
    kind: str = "computed"
    says: str = ""
    opens: str = ""
    view: Mapping[str, Any] = field(default_factory=dict)
    part: int | None = None
    rows: tuple[int, int] | None = None
    width: float = 104
    height: float = 76


@dataclass(frozen=True)
class Arrow:
    """From box to box by their names; `bends` are the corners between."""

    start: str
    end: str
    bends: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True)
class Diagram:
    """A model: one sentence that leads through it, its boxes and arrows, and the size of it all."""

    say: str
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]
    width: float = 1000
    height: float = 330
