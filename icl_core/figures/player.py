"""Where a film's parts stand, and the buttons and the slider that play it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from icl_core.figures.grid import AXIS, TITLE
from icl_core.figures.style import FAINT, GRID, INK, PAPER, TICKS

CURVES, LINE, BAR = 210, 22, 76  # pixels of the curves, of a line of text, of the colour bars


@dataclass(frozen=True)
class Plan:
    """The film's heights in pixels, from the top: controls, legend, curves, text, rows of maps, colour bars."""

    maps: int
    lines: int
    boxes: bool
    stacked: bool

    @property
    def columns(self) -> int:
        return 2 if self.stacked else max(1, self.maps) if self.maps <= 4 else 3

    @property
    def cell(self) -> int:
        return 150 if self.stacked else min(270, 1000 // self.columns - 20)

    @property
    def grid(self) -> int:
        rows = -(-self.maps // self.columns)
        return rows * (self.cell + AXIS + TITLE) - AXIS - TITLE if rows else 0

    @property
    def plot(self) -> int:
        return CURVES + AXIS + self.lines * LINE + (TITLE + self.grid if self.maps else 0)

    @property
    def legend(self) -> int:
        return 62 if self.stacked else 34

    @property
    def margin(self) -> dict[str, int]:
        marks = (56 if self.stacked else 34) if self.boxes else 0
        return {"t": 106 + self.legend, "b": AXIS + BAR + marks if self.maps else 0}


def controls(steps: Sequence[int], active: int, pixels: int, over: int, duration: int) -> dict[str, Any]:
    """Layout of play, pause and a slider labelled with the training step, `over` pixels above a plot `pixels` high."""
    play = {"frame": {"duration": duration, "redraw": True}, "transition": {"duration": 0}, "fromcurrent": True}
    still = {"frame": {"duration": 0, "redraw": True}, "transition": {"duration": 0}, "mode": "immediate"}
    buttons = [
        {"label": "▶", "method": "animate", "args": [None, play | {"mode": "immediate"}]},
        {"label": "❚❚", "method": "animate", "args": [[None], still]},
    ]
    look = {"bgcolor": PAPER, "bordercolor": FAINT, "font": {"size": TICKS + 3, "color": INK}, "showactive": False}
    place = {"x": 0, "xanchor": "left", "yanchor": "bottom", "pad": {"l": 0, "t": 0, "b": 0}}
    menu = {"type": "buttons", "direction": "right", "buttons": buttons, "y": 1 + (over + 66) / pixels, **look, **place}
    moves = [{"label": str(step), "method": "animate", "args": [[str(step)], still]} for step in steps]
    value = {"prefix": "training step ", "font": {"size": TICKS + 3, "color": INK}, "xanchor": "right", "offset": 8}
    colours = {"bgcolor": GRID, "bordercolor": FAINT, "activebgcolor": FAINT, "tickcolor": FAINT}
    slider = {"steps": moves, "active": active, "currentvalue": value, "y": 1 + over / pixels, "len": 1}
    font = {"font": {"size": TICKS - 1, "color": INK}, "ticklen": 4, "minorticklen": 0}
    return {"updatemenus": [menu], "sliders": [slider | colours | font | place]}
