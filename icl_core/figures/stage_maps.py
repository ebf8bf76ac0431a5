"""Maps for the stage: they fill their box, their colour bar stands at the right, and their scale
does not move."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from icl_core.contract.figure import Figure, Trace
from icl_core.figures.attention_maps import SYMBOLS, Box, Predictions, positions, tokens_held
from icl_core.figures.downsample import block_means_of, block_of
from icl_core.figures.heatmaps import cell_numbers
from icl_core.figures.map_grid import (
    NONE_TO_ALL,
    Subplot,
    distinct_names,
    diverging,
    heat_trace,
    link_map,
    map_axes,
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
    visible_characters,
)

Labels = Sequence[str] | None  # None: positions from 1
BESIDE = (" ", "  ", "   ")  # the names of the columns in which predictions stand
MOST = 12  # labels along a side
MARGIN = {"t": 8, "b": 44, "l": 48, "r": 72}
NEAR = {"title": {"standoff": 6}}  # the title right under the labels
PLOT, BAR = 200, 160  # pixels along the side of a map as it is mostly, and along its colour bar
BETWEEN, LETTERS, WRITTEN = (
    0.05,
    60,
    50,
)  # of maps in a row: share between two, letters under all, pixels of a cell


def small_map(
    matrix: Any,
    labels: tuple[Labels, Labels],
    titles: tuple[str, str],
    value: str,
    limit: float,
    kinds: tuple[str, str] | None = None,
) -> Figure:
    """A matrix [rows, columns] in square cells from -limit to limit, with labels and titles of its
    rows and columns; a large one as means over blocks of cells. `kinds`: what its rows and columns
    are (`linked`), if not their titles."""
    matrix = np.asarray(matrix, dtype=np.float32)
    sides = [
        row_identities(*each, block_of(matrix))
        for each in zip(kinds or titles, labels, matrix.shape, strict=True)
    ]
    rows, columns = (
        distinct_names(each, size) for each, size in zip(labels, matrix.shape, strict=True)
    )
    scale = diverging(limit) | {"showscale": True, "colorbar": _bar(value, [-limit, 0, limit])}
    matrix, rows, columns = block_means_of(matrix, rows, columns)
    shown = [
        [each.split("–")[-1] for each in names] if "–" in names[0] else names
        for names in (rows, columns)
    ]
    across = min(MOST, PLOT // (8 * (1 + max(map(len, shown[1])))))
    figure = Figure(layout=layout(300, MARGIN, coloraxis=scale, showlegend=False))
    hover = f"{titles[0]} %{{y}}<br>{titles[1]} %{{x}}<br>{value} %{{z:.3g}}"
    figure.add_trace(
        link_map(heat_trace(matrix, rows, columns, hover, Subplot(), "coloraxis"), *sides)
    )
    labelled = (rows, shown[0], titles[0]), (columns, shown[1], titles[1])
    return figure.update_layout(map_axes(Subplot(), *labelled, MOST, across), xaxis=NEAR)


def small_attention(
    weights: Any,
    tokens: Sequence[str],
    boxes: Sequence[Box] = (),
    guesses: Predictions | None = None,
) -> Figure:
    """A head's attention [T, T] over the characters `tokens`; with `guesses` the predicted next
    characters stand at the right, in place of the colour bar."""
    weights = np.array(weights, dtype=np.float32)
    weights[np.triu_indices(len(weights), 1)] = np.nan
    full, shown = positions(tokens)
    bar = {"showscale": False} if guesses else {"colorbar": _bar("attention", [0, 0.5, 1])}
    scale = {"colorscale": colourscale(NONE_TO_ALL), "cmin": 0, "cmax": 1, **bar}
    figure = Figure(layout=layout(300, MARGIN, coloraxis=scale, showlegend=False))
    drawn = heat_trace(
        weights, full, full, "query %{y} looks at %{x}: %{z:.2f}", Subplot(), "coloraxis"
    )
    figure.add_trace(link_map(drawn, *tokens_held(tokens)))
    figure.add_traces(_outlines(boxes, full))
    columns = (full, shown)
    if guesses is not None:
        figure.add_trace(_guessed(full, guesses)).update_layout(margin={"r": 8})
        columns = ([*full, *BESIDE], [*shown, *BESIDE])
    title = "key" if guesses is None else "key; at the right what it predicts"
    return figure.update_layout(
        map_axes(Subplot(), (full, shown, "query"), (*columns, title), MOST, MOST + len(BESIDE)),
        xaxis=NEAR,
    )


def _outlines(boxes: Sequence[Box], full: Sequence[str]) -> list[Trace]:
    """A thin outline around the cells of each kind, which leaves what is in them to be seen."""
    size = float(np.clip(165 / len(full), 4, 22))
    found = []
    for kind in (kind for kind in SYMBOLS if any(box[2] == kind for box in boxes)):
        x, y = zip(
            *((full[key], full[query]) for query, key, each in boxes if each == kind), strict=True
        )
        marker = {
            "symbol": "square-open",
            "size": size,
            "line": {"width": 1.6},
            "color": COLOURS[kind],
        }
        found.append(
            Trace(x=list(x), y=list(y), mode="markers", name=kind, marker=marker, hoverinfo="skip")
        )
    return found


def _guessed(rows: Sequence[str], guesses: Predictions) -> Trace:
    """The likeliest next character of each row; where the model could know it, with a mark for
    right or wrong."""
    letters, judged = (
        visible_characters(guesses.tokens),
        zip(guesses.right, guesses.known, strict=True),
    )
    marks, colours = zip(
        *(
            (("✓" if right else "✗"), COLOURS["trained"] if right else INK)
            if known
            else ("", FAINT)
            for right, known in judged
        ),
        strict=True,
    )
    texts = [f"{letter} {mark}".strip() for letter, mark in zip(letters, marks, strict=True)]
    font = {
        "family": MONO,
        "size": int(np.clip(PLOT / len(rows), 10, TEXT)),
        "color": list(colours),
    }
    chances = zip(letters, guesses.probability, strict=True)
    told = [f"predicts '{letter}' with probability {chance:.2f}" for letter, chance in chances]
    hover = {"customdata": told, "hovertemplate": "%{customdata}<extra></extra>"}
    return Trace(
        x=[BESIDE[1]] * len(rows), y=list(rows), mode="text", text=texts, textfont=font, **hover
    )


def _bar(title: str, ticks: Sequence[float]) -> dict[str, Any]:
    """A colour bar that stands at the right."""
    texts = [
        (f"{tick:,.0f}" if abs(tick) >= 1000 else f"{tick:.3g}").replace("-", "\N{MINUS SIGN}")
        for tick in ticks
    ]
    text = {
        "title": {"text": title, "side": "right", "font": {"size": TICKS}},
        "tickfont": {"size": TICKS},
    }
    where = {"x": 1.035, "thickness": 10, "outlinewidth": 0, "xpad": 0, "ypad": 0}
    long = {
        "lenmode": "pixels",
        "len": BAR,
        "y": 1,
        "yanchor": "top",
    }  # no longer than any map is high
    return {**where, **long, **text, "tickvals": list(ticks), "ticktext": texts}


def small_maps(
    matrices: Mapping[str, Any],
    labels: tuple[Labels, Labels],
    titles: tuple[str, str],
    value: str,
    limit: float,
    written: bool = False,
) -> Figure:
    """Matrices [rows, columns] of equal shape by their titles, side by side on one scale from
    -limit to limit; rows are labelled at the left one. `written` puts its number into every cell:
    for a few rows and columns."""
    sides, figure = (
        (1 + BETWEEN) / len(matrices),
        Figure(layout=layout(300, {**MARGIN, "t": 26}, showlegend=False)),
    )
    figure.update_layout(
        coloraxis=diverging(limit)
        | {"showscale": True, "colorbar": _bar(value, [-limit, 0, limit])}
    )
    for index, (title, matrix) in enumerate(matrices.items()):
        matrix = np.asarray(matrix, dtype=np.float32)
        rows, columns = (
            distinct_names(each, size) for each, size in zip(labels, matrix.shape, strict=True)
        )
        subplot = Subplot(
            index + 1, (index * sides, min(1.0, (index + 1) * sides - BETWEEN)), title=title
        )
        drawn = heat_trace(
            matrix, rows, columns, f"%{{y}}, %{{x}}: {value} %{{z:.3g}}", subplot, "coloraxis"
        )
        figure.add_trace(
            link_map(
                drawn,
                row_identities(titles[0], rows, len(rows)),
                row_identities(titles[1], columns, len(columns)),
            )
        )
        if written:
            figure.add_trace(cell_numbers(matrix, (rows, columns), limit, WRITTEN, subplot))
        across = max(2, LETTERS // len(matrices) // (1 + max(map(len, columns))))
        down = (rows, rows if index == 0 else [""] * len(rows), titles[0] if index == 0 else "")
        figure.update_layout(map_axes(subplot, down, (columns, columns, titles[1]), MOST, across))
        figure.add_annotation(**subplot.heading())
    return figure
