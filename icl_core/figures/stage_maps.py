"""Maps for the stage: they fill their box, with a colour bar at the right and a fixed scale."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from icl_core.contract.figure import Figure, Trace
from icl_core.contract.number_text import UNIT, power_of_ten, unit_of
from icl_core.figures.attention_maps import (
    CELL,
    LABEL,
    Predictions,
    positions,
    side_of,
    tokens_held,
)
from icl_core.figures.character_labels import label_width, literal, visible_characters
from icl_core.figures.heatmaps import block_means_of, block_of, cell_numbers
from icl_core.figures.map_grid import (
    NONE_TO_ALL,
    Box,
    Subplot,
    distinct_names,
    diverging,
    heat_trace,
    link_map,
    map_axes,
    outlines,
    row_identities,
)
from icl_core.figures.style import (
    COLOURS,
    FAINT,
    INK,
    MONO,
    TEXT,
    TICKS,
    colourscale,
    layout,
)

Labels = Sequence[str] | None  # None: positions from 1
BESIDE = (" ", "  ", "   ")  # the names of three further columns, for predictions
BESIDE_LONG = tuple(" " * count for count in range(1, 10))  # of two rows of them, in a large map
MOST = 12  # labels along a side
MARGIN = {"t": 8, "b": 38, "l": 46, "r": 66}
NEAR = {"title": {"standoff": 4}}  # the axis title directly under the labels
PLOT = 160  # pixels of the side of a map, usually
ROOM = 24  # the longest sequence whose map fits into the usual seat
BETWEEN = 0.05  # the gap between two maps of a row as a share of the width
LETTERS = 60  # letters that fit under all maps of a row
WRITTEN = 50  # pixels of the width of a cell with a number


def small_map(
    matrix: Any,
    labels: tuple[Labels, Labels],
    titles: tuple[str, str],
    value: str,
    limit: float,
    kinds: tuple[str, str] | None = None,
) -> Figure:
    """Return a map of a matrix [rows, columns] in square cells, with colours from -limit to limit.

    A large matrix is shown as means over blocks of cells.

    labels, titles  of its rows and its columns
    value           what a number is
    kinds           the identities of its rows and its columns (`row_identities`), if not the titles
    """
    matrix = np.asarray(matrix, dtype=np.float32)
    height, width = matrix.shape
    row_kind, column_kind = kinds or titles
    block = block_of(matrix)
    row_links = row_identities(row_kind, labels[0], height, block)
    column_links = row_identities(column_kind, labels[1], width, block)
    rows = distinct_names(labels[0], height)
    columns = distinct_names(labels[1], width)
    scale = signed_scale(value, limit)
    matrix, rows, columns = block_means_of(matrix, rows, columns)
    row_labels = _block_labels(rows, block)
    column_labels = _block_labels(columns, block)
    across = min(MOST, PLOT // (8 * (1 + max(map(label_width, column_labels)))))
    figure = Figure(layout=layout(300, MARGIN, coloraxis=scale, showlegend=False))
    hover = f"{titles[0]} %{{y}}<br>{titles[1]} %{{x}}<br>{value} %{{z:.3g}}"
    trace = heat_trace(matrix, rows, columns, hover, Subplot(), "coloraxis")
    figure.add_trace(link_map(trace, row_links, column_links))
    row_side = (rows, row_labels, titles[0])
    column_side = (columns, column_labels, titles[1])
    return figure.update_layout(
        map_axes(Subplot(), row_side, column_side, MOST, across), xaxis=NEAR
    )


def _block_labels(names: Sequence[str], block: int) -> Sequence[str]:
    """Return the labels of blocks named "first–last": the last of each, which may be a dash."""
    return names if block == 1 else [name[name.find("–", 1) + 1 :] for name in names]


def small_attention(
    weights: Any,
    tokens: Sequence[str],
    boxes: Sequence[Box] = (),
    guesses: Predictions | None = None,
) -> Figure:
    """Return a head's attention [T, T] over the characters `tokens`. With `guesses` the predicted
    next characters are at the right, in place of the colour bar."""
    weights = np.array(weights, dtype=np.float32)
    weights[np.triu_indices(len(weights), 1)] = np.nan
    names, characters = positions(tokens)
    side = side_of(len(names), PLOT) if len(names) > ROOM else PLOT
    bar = {"showscale": False} if guesses else {"colorbar": _bar("attention", [0, 0.5, 1])}
    scale = {"colorscale": colourscale(NONE_TO_ALL), "cmin": 0, "cmax": 1, **bar}
    figure = Figure(layout=layout(300, MARGIN, coloraxis=scale, showlegend=False))
    hover = "query %{y} looks at %{x}: %{z:.2f}"
    trace = heat_trace(weights, names, names, hover, Subplot(), "coloraxis")
    figure.add_trace(link_map(trace, *tokens_held(tokens)))
    figure.add_shapes(outlines(boxes, side / len(names), Subplot()))
    most = MOST if side == PLOT else int(side // LABEL)
    letters = max(map(label_width, characters))
    # a window may give a large map less room than it asks for
    across = max(2, 2 * (most if letters == 1 else most // 2) // (1 + letters))
    row_side = (names, characters, "query")
    column_side = (names, characters, "key")
    if guesses is not None:
        beside = BESIDE if side == PLOT else BESIDE_LONG
        figure.add_trace(_predictions(names, guesses, side)).update_layout(margin={"r": 8})
        title = "attended to (right: predicted)"
        column_side = ([*names, *beside], [*characters, *beside], title)
        across += across * len(beside) // len(names) if len(beside) > 3 else len(beside)
    figure.update_layout(map_axes(Subplot(), row_side, column_side, most, across), xaxis=NEAR)
    if side == PLOT:
        return figure
    margin = figure.layout["margin"]
    columns = len(column_side[0])
    return figure.needs(
        CELL * columns + margin["l"] + margin["r"], side + margin["t"] + margin["b"]
    )


def _predictions(rows: Sequence[str], predictions: Predictions, side: float) -> Trace:
    """Return the likeliest next character of each row of a map of `side` pixels, with a mark for
    right or wrong if the model could know it."""
    characters = [literal(token) for token in visible_characters(predictions.tokens)]
    texts: list[str] = []
    colours: list[str] = []
    for character, right, known in zip(
        characters, predictions.right, predictions.known, strict=True
    ):
        if not known:
            texts.append(character.strip())
            colours.append(FAINT)
        elif right:
            texts.append(f"{character} ✓".strip())
            colours.append(COLOURS["trained"])
        else:
            texts.append(f"{character} ✗".strip())
            colours.append(INK)
    font = {"family": MONO, "size": int(np.clip(side / len(rows), 10, TEXT)), "color": colours}
    hover_texts = [
        f"predicts '{character}' with probability {probability:.2f}"
        for character, probability in zip(characters, predictions.probability, strict=True)
    ]
    hover = {"customdata": hover_texts, "hovertemplate": "%{customdata}<extra></extra>"}
    # in a large map the texts of neighbouring rows would touch: they stand in two columns
    columns = BESIDE[1:2] if side == PLOT else (BESIDE_LONG[2], BESIDE_LONG[6])
    x = [columns[row % len(columns)] for row in range(len(rows))]
    return Trace(x=x, y=list(rows), mode="text", text=texts, textfont=font, **hover)


def signed_scale(value: str, limit: float) -> dict[str, Any]:
    """Return a colour axis from -limit to limit with its bar at the right; `value` is what a number
    is."""
    return diverging(limit) | {"showscale": True, "colorbar": _bar(value, [-limit, 0, limit])}


def _bar(title: str, ticks: Sequence[float]) -> dict[str, Any]:
    """Return a colour bar at the right, whose ticks are in units of a power of ten if they are very
    small or large: there is room for six letters."""
    unit = unit_of(np.array(ticks)) or (3 if max(ticks) >= 1e4 else 0)
    if unit:
        title += UNIT.format(power_of_ten(unit))
    texts = [_tick(tick / 10.0**unit) for tick in ticks]
    text = {
        "title": {"text": title, "side": "right", "font": {"size": TICKS}},
        "tickfont": {"size": TICKS},
    }
    where = {"x": 1.035, "thickness": 10, "outlinewidth": 0, "xpad": 0, "ypad": 0}
    length = {"lenmode": "fraction", "len": 1, "y": 1, "yanchor": "top"}  # that of the map
    texts_outside = {"ticklabeloverflow": "allow"}  # the upper one is half above the bar
    return {**where, **length, **texts_outside, **text, "tickvals": list(ticks), "ticktext": texts}


def _tick(value: float) -> str:
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return text.replace("-", "\N{MINUS SIGN}")


def small_maps(
    matrices: Mapping[str, Any],
    labels: tuple[Labels, Labels],
    titles: tuple[str, str],
    value: str,
    limit: float,
    written: bool = False,
) -> Figure:
    """Return maps of matrices [rows, columns] of equal shape, by title, side by side with colours
    from -limit to limit.

    Only the left one has labels of its rows. `written` writes the number into every cell; it is for
    a few rows and columns.
    """
    scale = signed_scale(value, limit)
    margin = {**MARGIN, "t": 20}
    figure = Figure(layout=layout(300, margin, showlegend=False, coloraxis=scale))
    pitch = (1 + BETWEEN) / len(matrices)  # from the left edge of a map to that of the next
    for index, (title, matrix) in enumerate(matrices.items()):
        matrix = np.asarray(matrix, dtype=np.float32)
        rows = distinct_names(labels[0], matrix.shape[0])
        columns = distinct_names(labels[1], matrix.shape[1])
        span = (index * pitch, min(1.0, (index + 1) * pitch - BETWEEN))
        subplot = Subplot(index + 1, span, title=title)
        hover = f"%{{y}}, %{{x}}: {value} %{{z:.3g}}"
        trace = heat_trace(matrix, rows, columns, hover, subplot, "coloraxis")
        row_links = row_identities(titles[0], labels[0], len(rows))
        column_links = row_identities(titles[1], labels[1], len(columns))
        figure.add_trace(link_map(trace, row_links, column_links))
        if written:
            figure.add_trace(cell_numbers(matrix, (rows, columns), limit, WRITTEN, subplot))
        across = max(2, LETTERS // len(matrices) // (1 + max(map(label_width, columns))))
        row_side = (rows, rows, titles[0]) if index == 0 else (rows, [""] * len(rows), "")
        column_side = (columns, columns, titles[1])
        figure.update_layout(map_axes(subplot, row_side, column_side, MOST, across))
        figure.add_annotation(**subplot.heading() | {"font": {"size": TEXT - 1}, "yshift": 1})
    return figure
