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
    readings,
    span,
    spurious,
)
from icl_core.papers.birth.shared.draw import NAMES
from icl_core.papers.birth.shared.task import Task
from icl_core.papers.birth.shared.words import WORDS

LOW = 250  # pixels of a map of one row of blocks
NAMED = 2  # spurious diagonals that a title names
HEIGHT = 500  # pixels of a map of several rows of blocks
MARGIN = {"t": BAR, "b": 48, "l": 74, "r": 8}


def drawn(
    name: str, of: Callable[[int | None], Blocks], task: Task, when: str, last: Blocks | None = None
) -> Panel:
    """Return the panel of a matrix read with all that it meets.

    name  the matrix: W_K1, W_K2, W_O2 or W_F
    of    returns the blocks with so many characters and positions at most, None: with all
    when  names the snapshot in the title
    last  the blocks whose largest reading gives the scale, which all snapshots share; None: those
          that are drawn
    """
    blocks = of(SHOWN)
    reads = readings(of(None), name, task)
    limit = figures.largest_magnitude((last or blocks).matrix)
    own = next(read for read in reads if (read.row, read.column) == STORED[name])
    others = [
        f"{read.row} with {read.column} ({number_text(read.diagonal, 1)})"
        for read in spurious(reads, name)[:NAMED]
    ]
    return WORDS.panel(
        "blocks",
        figure=_figure(blocks, name, limit),
        data=pd.DataFrame(
            reads, columns=["row", "column", "mean on the diagonal", "typical elsewhere"]
        ),
        when=when,
        matrix=NAMES[name],
        bigrams=name == "W_F",
        reading=own.rest if name == "W_F" else own.diagonal,
        largest=max(read.rest for read in reads if read != own),
        spurious=", ".join(others),
        met=WORDS.text(f"met_{name}"),
        shown=SHOWN,
    )


def _figure(blocks: Blocks, name: str, limit: float) -> Figure:
    """Return the map with a gap between blocks, an outline around the stored one, and a label for
    each part. Colours reach from -limit to limit."""
    plot = HEIGHT - MARGIN["t"] - MARGIN["b"]
    scale = diverging(limit, "score", 1 + 8 / plot)
    height = HEIGHT if len(blocks.rows) > 1 else LOW
    figure = Figure(layout=layout(height, MARGIN, coloraxis=scale))
    rows = _formulas(blocks.rows)
    columns = _formulas(blocks.columns)
    trace = heat_trace(
        blocks.matrix, rows, columns, "%{y}, %{x}: score %{z:.3g}", Subplot(), "coloraxis"
    )
    figure.add_trace(link_map(trace, _meanings(blocks.rows), _meanings(blocks.columns)))
    square = {"scaleanchor": "x", "constraintoward": "top", "range": [len(rows) - 0.5, -0.5]}
    figure.update_layout(
        xaxis=_axis(blocks.columns, range=[-0.5, len(columns) - 0.5]),
        yaxis=_axis(blocks.rows, **square),
    )
    for side, parts in (("x", blocks.columns), ("y", blocks.rows)):
        for part in list(parts)[1:]:
            figure.add_shape(**_gap(side, span(parts, part).start - 0.5))
    row, column = STORED[name]
    y = span(blocks.rows, row)
    x = span(blocks.columns, column)
    corners = {"x0": x.start - 0.5, "x1": x.stop - 0.5, "y0": y.start - 0.5, "y1": y.stop - 0.5}
    return figure.add_shape(type="rect", line={"color": INK, "width": 2}, **corners)


def _formulas(parts: Mapping[str, list[str]]) -> list[str]:
    """Return the vectors of all parts as a formula writes them. A position's label is its
    vector."""
    formulas = []
    for part, labels in parts.items():
        for label in labels:
            text = label.replace("<", "&lt;")
            formulas.append(f"{part[:-1]}{text}" if part.endswith("p") else f"{part}({text})")
    return formulas


def _meanings(parts: Mapping[str, list[str]]) -> dict[str, list[Any]]:
    """Return the character and the place of each row or column, so that other maps mark the same.
    One of the two is empty."""
    characters = []
    places = []
    for part, labels in parts.items():
        for label in labels:
            characters.append("" if part.endswith("p") else label)
            places.append(label if part.endswith("p") else "")
    return {"character": characters, "place": places}


def _axis(parts: Mapping[str, list[str]], **more: Any) -> dict[str, Any]:
    """Return an axis with a label in the middle of each part."""
    spans = [span(parts, part) for part in parts]
    middles = [(part_span.start + part_span.stop - 1) / 2 for part_span in spans]
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


def _gap(side: str, at: float) -> dict[str, Any]:
    """Return the shape of a gap between two blocks, across the axis `side` at `at`."""
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
