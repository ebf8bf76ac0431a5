"""All readings of a matrix as one heatmap of blocks."""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel
from icl_core.contract.figure import Figure
from icl_core.figures import number_text
from icl_core.figures.map_grid import BAR, Subplot, diverging, heat_trace, link_map
from icl_core.figures.style import INK, PAPER, TICKS, axis, layout
from icl_core.papers.birth.shared.blocks import (
    SHOWN,
    STORED,
    Blocks,
    Read,
    readings,
    span,
    spurious,
)
from icl_core.papers.birth.shared.draw import NAMES
from icl_core.papers.birth.shared.task import Task

LOW = 250  # pixels of a map of one row of blocks
TOLD = 2  # spurious diagonals that a title names
HEIGHT = 500
MARGIN = {"t": BAR, "b": 48, "l": 74, "r": 8}
STREAM = (
    "the character (w_E), its position (p), and, remapped by R¹ = W_O¹ W_V¹, what layer 1 has "
    "copied"
)
MET = {  # what stands in the rows and the columns
    "W_K1": "Rows are the parts of a query, columns those of a key: the character (w_E) and its "
    "position (p).",
    "W_K2": f"Rows are the parts of a query, columns those of a key: {STREAM}. A sum over many "
    "characters is a little like the identity, so W_K² matches a position with its own copy, too.",
    "W_O2": f"Rows are outputs (w_U), columns the parts of what layer 2 attends to: {STREAM}.",
    "W_F": f"Rows are outputs (w_U), columns the parts of the stream: {STREAM}, and what layer 2 "
    "has written.",
}


def drawn(
    name: str, of: Callable[[int | None], Blocks], task: Task, when: str, last: Blocks | None = None
) -> Panel:
    """Draw a matrix read with all that it meets: `of` so many characters and positions at most.
    `last` gives the scale where all snapshots share one."""
    found = of(SHOWN)
    read = readings(of(None), name, task)
    return Panel(
        f"{when}: {_title(name, read)}",
        f"{MET[name]} Every cell is one reading. Outlined is the block that the matrix is to "
        "store. A diagonal in another block is a spurious memory: nobody asked for it, and it is "
        "read along with the stored pairs. Noise is cross-talk. In an untrained model all blocks "
        "look alike.",
        _figure(found, name, figures.largest_magnitude((last or found).matrix)),
        data=pd.DataFrame(
            read, columns=["row", "column", "mean on the diagonal", "typical elsewhere"]
        ),
        note=f"You see the {SHOWN} most frequent characters and the first {SHOWN} positions; the "
        "title speaks of all.",
    )


def _title(name: str, read: list[Read]) -> str:
    """Return what it reads of its pairs, and which other blocks hold a diagonal."""
    own = next(each for each in read if (each.row, each.column) == STORED[name])
    if name == "W_F":
        return (
            f"{NAMES[name]} reads bigrams with {number_text(own.rest, 1)}, other vectors with "
            + number_text(max(each.rest for each in read if each != own), 1)
        )
    told = f"A pair that {NAMES[name]} is to store reads {number_text(own.diagonal, 1)}"
    others = [
        f"{each.row} with {each.column} ({number_text(each.diagonal, 1)})"
        for each in spurious(read, name)[:TOLD]
    ]
    return (
        f"{told}; pairs that nobody planned: {', '.join(others)}"
        if others
        else f"{told}; there are no others"
    )


def _figure(found: Blocks, name: str, limit: float) -> Figure:
    """Return the map with a gap between blocks, an outline around the stored one, and a label for
    each part."""
    plot = HEIGHT - MARGIN["t"] - MARGIN["b"]
    scale = diverging(limit, "score", 1 + 8 / plot)
    height = HEIGHT if len(found.rows) > 1 else LOW
    figure = Figure(layout=layout(height, MARGIN, coloraxis=scale))
    rows, columns = ([_vector(part, each) for part, labels in side.items() for each in labels]
                     for side in (found.rows, found.columns))  # fmt: skip
    trace = heat_trace(
        found.matrix, rows, columns, "%{y}, %{x}: score %{z:.3g}", Subplot(), "coloraxis"
    )
    figure.add_trace(link_map(trace, _held(found.rows), _held(found.columns)))
    square = {"scaleanchor": "x", "constraintoward": "top", "range": [len(rows) - 0.5, -0.5]}
    figure.update_layout(
        xaxis=_axis(found.columns, range=[-0.5, len(columns) - 0.5]),
        yaxis=_axis(found.rows, **square),
    )
    for side, parts in (("x", found.columns), ("y", found.rows)):
        for part in list(parts)[1:]:
            figure.add_shape(**_line(side, span(parts, part).start - 0.5))
    y, x = (
        span(side, part)
        for side, part in zip((found.rows, found.columns), STORED[name], strict=True)
    )
    corners = {"x0": x.start - 0.5, "x1": x.stop - 0.5, "y0": y.start - 0.5, "y1": y.stop - 0.5}
    return figure.add_shape(type="rect", line={"color": INK, "width": 2}, **corners)


def _vector(part: str, label: str) -> str:
    """Return a vector as a formula writes it; a position's label is its vector."""
    label = label.replace("<", "&lt;")
    return f"{part[:-1]}{label}" if part.endswith("p") else f"{part}({label})"


def _held(parts: Mapping[str, list[str]]) -> dict[str, list[Any]]:
    """Return what rows or columns are, so that other maps mark the same."""
    return {
        kind: [
            each if part.endswith("p") == (kind == "place") else ""
            for part, labels in parts.items()
            for each in labels
        ]
        for kind in ("character", "place")
    }


def _axis(parts: Mapping[str, list[str]], **more: Any) -> dict[str, Any]:
    """Return an axis with a label in the middle of each part."""
    middles = [
        (where.start + where.stop - 1) / 2 for where in (span(parts, part) for part in parts)
    ]
    plain = {
        "showgrid": False,
        "showline": False,
        "ticks": "",
        "automargin": False,
        "constrain": "domain",
        "tickangle": 0,
    }
    names = [part.replace("W_O² W_V²", "W_O²W_V²<br>") for part in parts]
    return axis(type="category", tickvals=middles, ticktext=names, **plain, **more) | {
        "tickfont": {"size": TICKS}
    }


def _line(side: str, at: float) -> dict[str, Any]:
    """Return a gap between two blocks."""
    other = "y" if side == "x" else "x"
    ends = {
        f"{side}0": at,
        f"{side}1": at,
        f"{other}0": 0,
        f"{other}1": 1,
        f"{other}ref": "paper",
        f"{side}ref": side,
    }
    return {"type": "line", **ends, "line": {"color": PAPER, "width": 3}}
