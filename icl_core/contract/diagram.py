"""The diagram of a model: its matrices as boxes, with arrows for the flow between them. Values
only; `figures.svg` draws them.

Boxes are placed by their centres. The unit is a tenth of a line of text; y points down.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

KINDS = ("trained", "given", "construction", "frozen", "computed", "sum")


@dataclass(frozen=True)
class Box:
    """One part of a model.

    name    its id in arrows
    label   the symbol in the box
    x, y    its centre
    kind    one of KINDS: "trained" (learned here), "given" (by a visitor), "construction" (written
            down), "frozen" (random, as initialised), "computed" (from its inputs), "sum" (a small
            circle)
    says    what it is, in a few words: under its label, and for a screen reader
    opens   the name of the drawing that shows it, on the stage or in a drawer
    view    the view fields that this drawing needs in order to show it
    part    the index of that drawing's map from which the box takes a small picture; None for no
            picture
    rows    the first of that map's rows that belong to the box, and the row after the last; None
            for
            all
    width, height
            its size
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
    """An arrow between two boxes.

    start, end  the names of the boxes
    bends       the corners on the way, as (x, y)
    """

    start: str
    end: str
    bends: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True)
class Diagram:
    """The diagram of a model.

    say     one sentence that leads through it
    boxes   its parts
    arrows  the flow between them
    width, height
            the size of the whole
    """

    say: str
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]
    width: float = 1000
    height: float = 330
