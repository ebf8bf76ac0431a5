"""Learned weights, decays and rates beside the constructed ones, the model's symmetries normalised
away (Figures 3 and 5): rows of three maps, learned, constructed and difference, on one scale."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, groupby
from typing import Any

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.explanation import Explanation, Map, Term
from icl_core.contract.figure import Figure
from icl_core.figures import number_text
from icl_core.figures.heatmaps import CELL, PUSHED, SIDE, WIDE, cell_numbers
from icl_core.figures.map_grid import BAR, TITLE, Subplot, diverging, heat_trace, map_axes
from icl_core.figures.style import FAINT, TICKS, layout, note
from icl_core.papers.gdssm.layer.grafted import in_units, weight_parts
from icl_core.papers.gdssm.layer.symmetries import (
    DECAYS,
    NUMBERS,
    RATE,
    WEIGHTS,
    Part,
    compared_parts,
)
from icl_core.papers.gdssm.layer.words import WORDS
from icl_core.papers.gdssm.shared.load_run import constructed_of, row_of, trained_at

LIMIT = 1.5  # of the scale, however large a quotient is before training
LONGEST = 5  # rows in which numbers have room
TALL = 460  # pixels of a block of weights, at most
LARGEST = 54  # pixels of a cell in any block but the first, at most
UNDER = 26  # pixels for the labels under a block
OVER = 34  # pixels for the heading over a block
LETTERS = 36  # of labels that have room under a map
LINE_HEIGHT = 17  # pixels of a label beside a map
BY = {"row": ", by row of the state", "entry": ", by entry of the state"}
WIDTH = (1 - 2 * SIDE) / 3  # of a map, as a share of the figure's


def weights(run: Run, view: Any) -> Panel:
    """Draw the weights that decide what enters the state and what reads it, symmetries normalised
    away."""
    compared = weight_parts(run, view)
    block = laid(compared)[0]
    few = len(block.rows) <= LONGEST
    figure = figures.small_maps(
        block.maps, (block.rows, block.columns), ("", ""), "entry", LIMIT, written=few
    )
    return WORDS.panel("weights", run, view, figure, farthest=_farthest(compared))


def explain_weights(run: Run, view: Any) -> list[Map]:
    """Explain the weights learned, constructed, and their difference."""
    block = laid(weight_parts(run, view))[0]
    return [
        Map(
            f"Weights, {name}",
            np.asarray(matrix, np.float32),
            ("row", "column"),
            block.rows,
            block.columns,
            partial(_explain_weight, name, block),
        )
        for name, matrix in block.maps.items()
    ]


def _explain_weight(name: str, block: Part, row: int, column: int) -> Explanation:
    """Explain a weight as the construction's and what it is off; a difference as one less the
    other."""
    learned = float(block.trained[row, column])
    constructed = float(block.constructed[row, column])
    of_paper = Term("constructed", constructed, "what makes the state a gradient")
    off = Term("off by", learned - constructed, "what training has left, or put, there")
    terms = {
        "learned": (of_paper, off),
        "constructed": (of_paper,),
        "difference": (Term("learned", learned), Term("minus constructed", -constructed)),
    }[name]
    says = (
        "Scales, signs and a basis that the model cannot tell apart are normalised away, so that "
        "the two compare."
    )
    title = f"{block.rows[row]}, {block.columns[column]}, {name}"
    return Explanation(title, says, float(block.maps[name][row, column]), terms)


def draw(run: Run, view: Any) -> Panel:
    """Draw every part trained and constructed, and the difference, normalised or raw."""
    trained = trained_at(run, run.snapshot_at(view), row_of(run, view))
    constructed = constructed_of(run)
    compared = compared_parts(run.config, trained, constructed, view.raw)
    shown = laid(compared)
    maps = chain.from_iterable(part.maps.values() for part in compared)
    limit = figures.largest_magnitude(*maps) if view.raw else LIMIT
    kinds = dict.fromkeys(part.kind for part in compared)
    off = {kind: _farthest([part for part in compared if part.kind == kind]) for kind in kinds}
    first, *others = off
    rate = constructed.tensors().get("beta")
    return WORDS.panel(
        "parts",
        run,
        view,
        _figure(shown, limit),
        data=pd.concat([table(block) for block in shown], ignore_index=True),
        farthest=_farthest(compared),
        kind=first,
        off=off[first],
        others="".join(f", {kind} within {number_text(off[kind])}" for kind in others),
        decays_off=off.get(DECAYS),
        look=_look(run, view),
        values=", ".join(_value(part, view.raw) for part in compared if part.kind in NUMBERS),
        rate=None if rate is None or view.raw else float(rate[0]),
    )


def _farthest(compared: Sequence[Part]) -> float:
    """Return the largest difference of an entry of any part."""
    return max(part.away for part in compared)


def _look(run: Run, view: Any) -> str:
    """Say what is normalised away, or that nothing is."""
    if view.raw:
        return WORDS.text("parts raw", run, view)
    config = run.config
    two = config.layers == 2
    kind = "more layers" if config.layers > 2 else "two layers" if two else config.model
    return WORDS.text(
        "parts normalised",
        run,
        view,
        freedoms=WORDS.text(f"freedoms of {kind}"),
        halves_added=config.f == 1 and kind == "N-D",
        penalty_undone=config.penalty > 0 and two,
    )


def _value(part: Part, raw: bool) -> str:
    """Return a decay or a rate as text, with a digit more than the maps have; of many the least and
    the largest."""
    low, high = (number_text(float(end)) for end in (part.trained.min(), part.trained.max()))
    rows = part.trained.mean(1)
    return WORDS.text(
        "decay or rate",
        part=f"decay {part.name}" if part.kind == DECAYS and part.name != "decay" else part.name,
        low=low,
        high=high,
        spread=high != low,
        rows=part.kind == DECAYS and min(part.trained.shape) > 1,
        least_row=float(rows.min()),
        most_row=float(rows.max()),
        beside=raw and part.kind == RATE,
        constructed=float(part.constructed.max()),
    )


def table(block: Part) -> pd.DataFrame:
    """Return a table with one row for every number of a block."""
    rows = np.repeat(block.rows, len(block.columns))
    columns = np.tile(block.columns, len(block.rows))
    flat = {name: matrix.ravel() for name, matrix in block.maps.items()}
    return pd.DataFrame({"part": block.name, "row": rows, "column": columns} | flat).round(4)


def basis(run: Run, view: Any) -> Panel:
    """Draw the 1-D layer's Ψ and Θ (eqs. 12 to 16), [f, 2f] each, trained, constructed and their
    difference, on one scale, in the basis of the state in which Ψ begins with the identity."""
    trained = in_units(trained_at(run, run.snapshot_at(view), row_of(run, view)), run.config.N)
    every = compared_parts(run.config, trained, constructed_of(run), raw=True)
    pair = [part for part in every if part.kind == WEIGHTS]
    Psi, Theta = (part.away for part in pair)
    tables = pd.concat([table(part) for part in pair], ignore_index=True)
    return WORDS.panel("basis", run, view, _figure(pair, LIMIT), data=tables, Psi=Psi, Theta=Theta)


def laid(parts: Sequence[Part]) -> list[Part]:
    """Return the parts in blocks: weights of equally many columns under one another; then decays
    and rates, those with a number for every entry of the state as a map each, those with a number
    for every row of it under one another, single numbers in one row."""
    return [_block(like[0], list(same)) for like, same in groupby(parts, _like)]


def _like(part: Part) -> tuple[str, ...]:
    """Return what the parts of one block have in common."""
    if part.kind not in NUMBERS:
        return tuple(part.columns)
    rows, columns = part.trained.shape
    return ("number",) if columns == 1 else ("row",) if rows == 1 else ("entry", part.name)


def _block(like: str, same: list[Part]) -> Part:
    """Return parts put together as one, with what they mean as a name, each meaning once; weights
    have no meaning in words unless all have the same."""
    axis = 1 if like == "number" else 0
    ours = np.concatenate([part.trained for part in same], axis)
    theirs = np.concatenate([part.constructed for part in same], axis)
    meanings = dict.fromkeys(part.meaning for part in same)
    name = "" if "" in meanings else "; ".join(meanings) + BY.get(like, "")
    rows = [" "] if axis else list(chain.from_iterable(part.rows for part in same))
    columns = same[0].columns
    if axis:
        columns = list(chain.from_iterable(part.columns for part in same))
    return replace(same[0], name=name, trained=ours, constructed=theirs, rows=rows, columns=columns)


def _figure(blocks: Sequence[Part], limit: float) -> Figure:
    """Draw the three maps of every block, from the top; the numbers are written where the cells
    have room for them."""
    heights = [_height(block, LARGEST if index else TALL) for index, block in enumerate(blocks)]
    pixels = sum(heights) + (UNDER + OVER) * (len(blocks) - 1)
    top = BAR + TITLE + PUSHED
    traces = []
    axes = {}
    texts = []
    left = pixels
    for index, (block, height) in enumerate(zip(blocks, heights, strict=True)):
        y = max(0.0, (left - height) / pixels), left / pixels
        for column, (title, matrix) in enumerate(block.maps.items()):
            x = column * (WIDTH + SIDE)
            subplot = Subplot(3 * index + column + 1, (x, min(1.0, x + WIDTH)), y, title)
            traces += _map(block, matrix, limit, height, subplot)
            axes |= _axes(block, height, subplot)
            texts += [subplot.heading()] if index == 0 else []
        font = {"size": TICKS, "color": FAINT}
        above = {"font": font, "xanchor": "left", "yanchor": "bottom", "yshift": 6}
        texts += [note(block.name, 0, y[1], **above)] if block.name else []
        left -= height + UNDER + OVER
    axes["coloraxis"] = diverging(limit, "entry", 1 + (TITLE + 8) / pixels)
    style = layout(top + pixels + UNDER + 8, {"t": top, "b": UNDER + 8}, annotations=texts, **axes)
    return Figure(data=traces, layout=style)  # at once: adding map by map takes three times as long


def _height(block: Part, cell: int) -> int:
    """Return the height in pixels: square cells of `cell` pixels at most, three maps in a row."""
    return int(min(TALL, len(block.rows) * min(WIDE * WIDTH / len(block.columns), cell)))


def _map(block: Part, matrix: np.ndarray, limit: float, height: int, subplot: Subplot) -> list[Any]:
    """Return the cells, and their numbers if they fit."""
    cells = heat_trace(
        matrix, block.rows, block.columns, "%{y}, %{x}: %{z:.3g}", subplot, "coloraxis"
    )
    size = height / len(block.rows)
    if size < CELL:
        return [cells]
    return [cells, cell_numbers(matrix, (block.rows, block.columns), limit, size, subplot)]


def _axes(block: Part, height: int, subplot: Subplot) -> dict[str, Any]:
    """Return the axes of a map by name, with as many labels as have room."""
    rows = (block.rows, block.rows, "")
    columns = (block.columns, block.columns, "")
    across = max(2, LETTERS // (1 + max(map(len, block.columns))))
    return map_axes(subplot, rows, columns, max(2, height // LINE_HEIGHT), across)
