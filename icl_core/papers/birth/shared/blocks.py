"""A matrix read with everything that it meets in the residual stream, not only with what it is to
store. So spurious memories show up beside the stored ones.

A memory is read as V W U^T (`probes.py`). Here V and U are all parts of the stream, end to end. The
block in which both sides are what the matrix stores is the memory's own map. At the end of this
file, all are drawn as one heatmap of blocks.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from icl_core import figures
from icl_core.contract.experiment import Panel
from icl_core.contract.figure import Figure
from icl_core.figures import literal, number_text, visible_characters
from icl_core.figures.map_grid import BAR, Subplot, diverging, heat_trace, link_map
from icl_core.figures.style import INK, PAPER, TICKS, axis, layout
from icl_core.papers.birth.shared.draw import NAMES
from icl_core.papers.birth.shared.model import Weights
from icl_core.papers.birth.shared.probes import memory_tokens
from icl_core.papers.birth.shared.superposition import place
from icl_core.papers.birth.shared.task import Task
from icl_core.papers.birth.shared.words import WORDS

# how many are drawn: of the characters the most frequent, of the positions the first
SHOWN = 32
# the block that a matrix is to store: its row and its column
STORED = {
    "W_K1": ("p", "p"),
    "W_K2": ("w_E", "R¹ w_E"),
    "W_O2": ("w_U", "w_E"),
    "W_F": ("w_U", "w_E"),
}


Parts = Float[Tensor, "n d"]


class Blocks(NamedTuple):
    """All readings of a matrix: rows are queries or outputs, columns are keys or inputs. `rows` and
    `columns` name the parts of their side, in order, with a label for each vector of a part."""

    matrix: Float[np.ndarray, "rows columns"]
    rows: dict[str, list[str]]
    columns: dict[str, list[str]]

    def block(self, row: str, column: str) -> Float[np.ndarray, "rows columns"]:
        """Return the readings of two parts."""
        return self.matrix[span(self.rows, row), span(self.columns, column)]


class Read(NamedTuple):
    """What stands in a block: the mean along its diagonal, NaN if one side is characters and the
    other positions, and the root mean square of all other readings. The diagonal of a block of
    positions pairs equal ones or neighbours, whichever reads more strongly."""

    row: str
    column: str
    diagonal: float
    rest: float


def span(parts: Mapping[str, list[str]], name: str) -> slice:
    """Return where a part's rows or columns are."""
    names = list(parts)
    start = sum(len(parts[before]) for before in names[: names.index(name)])
    return slice(start, start + len(parts[name]))


def blocks_of(name: str, weights: Weights, task: Task, most: int | None = None) -> Blocks:
    """Return the readings of W_K1, W_K2, W_O2 or W_F with all that it meets, with `most` characters
    and `most` positions at most."""
    keys = _stream(name, weights)
    V = keys if name.startswith("W_K") else {"w_U": weights.W_U}
    U = keys
    if name == "W_O2":
        U = {part: vectors @ weights.V2.T for part, vectors in keys.items()}
    products = {part: vectors @ weights[name].T for part, vectors in U.items()}
    return block_products(V, products, task, most)


def block_products(
    V: Mapping[str, Parts], U: Mapping[str, Parts], task: Task, most: int | None
) -> Blocks:
    """Return the products of all vectors V with all U. U are the vectors that a matrix reads, after
    the matrix has been applied to them."""
    T = next(len(vectors) for part, vectors in {**U, **V}.items() if _is_position(part))
    positions = torch.arange(T)[:most]
    # the most frequent characters, in the order of the vocabulary
    characters = task.unigram.argsort(descending=True, stable=True)[:most].sort().values
    position_labels = [place(int(position)) for position in positions]
    character_labels = visible_characters([task.characters[token] for token in characters])

    def vectors_of(side: Mapping[str, Parts]) -> Float[Tensor, "all d"]:
        """Return the vectors of a side that are wanted, end to end."""
        return torch.cat(
            [
                vectors[positions if _is_position(part) else characters]
                for part, vectors in side.items()
            ]
        )

    def labels_of(side: Mapping[str, Parts]) -> dict[str, list[str]]:
        return {part: position_labels if _is_position(part) else character_labels for part in side}

    matrix = vectors_of(V) @ vectors_of(U).T  # (rows, columns)
    return Blocks(matrix.numpy(), labels_of(V), labels_of(U))


def _stream(name: str, weights: Weights) -> dict[str, Parts]:
    """Return the parts of the stream that a matrix reads."""
    parts = {"w_E": weights.W_E, "p": weights.P}
    if name != "W_K1":
        parts |= {f"R¹ {part}": vectors @ weights.R1.T for part, vectors in parts.items()}
    if name == "W_F":
        parts["W_O² W_V² w_E"] = weights.W_E @ weights.V2.T @ weights.W_O2.T
    return parts


def _is_position(part: str) -> bool:
    """Return whether a part has a vector for each position, not for each character."""
    return part.endswith("p")


def readings(blocks: Blocks, name: str, task: Task) -> list[Read]:
    """Return what stands in every block, row by row."""
    reads = []
    for row in blocks.rows:
        for column in blocks.columns:
            reads.append(_read(blocks, name, task, row, column))
    return reads


def _read(blocks: Blocks, name: str, task: Task, row: str, column: str) -> Read:
    """Return what stands in one block of the matrix `name`."""
    block = blocks.block(row, column).astype(np.float64)
    if _is_position(row) != _is_position(column):
        return Read(row, column, math.nan, float(np.sqrt(np.square(block).mean())))
    if (row, column) == STORED[name]:
        # W_K1 stores pairs of a position and the one before it
        diagonal = np.diagonal(block, -1) if name == "W_K1" else np.diagonal(block)
        # W_K2 stores the tokens that may be triggers
        pairs = diagonal[memory_tokens(task).numpy()] if name == "W_K2" else diagonal
    else:
        offsets = (0, 1) if _is_position(row) else (0,)
        diagonals = [np.diagonal(block, -offset) for offset in offsets]
        diagonal = max(diagonals, key=lambda values: abs(values.mean()))
        pairs = diagonal
    rest = np.square(block).sum() - np.square(diagonal).sum()
    mean_square = max(0.0, rest) / (block.size - diagonal.size)
    return Read(row, column, float(pairs.mean()), math.sqrt(mean_square))


def spurious(reads: list[Read], name: str) -> list[Read]:
    """Return the blocks that hold a diagonal of their own though nothing is to be stored there, the
    strongest first."""
    others = [
        read
        for read in reads
        if (read.row, read.column) != STORED[name] and abs(read.diagonal) >= read.rest
    ]
    return sorted(others, key=lambda read: -abs(read.diagonal))


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
            text = literal(label)
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
