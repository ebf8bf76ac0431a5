"""Maps for the stage: they fill their box, their colour bar stands at the right, and their scale does not move."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from icl_core.figure import Figure, Trace
from icl_core.figures.attention import SYMBOLS, Box, Predictions, positions
from icl_core.figures.coarse import coarse
from icl_core.figures.grid import NONE_TO_ALL, Subplot, diverging, heat, map_axes, names, subplots
from icl_core.figures.style import COLOURS, FAINT, INK, MONO, TEXT, TICKS, characters, colourscale, layout

Labels = Sequence[str] | None  # None: positions from 1
BESIDE = (" ", "  ", "   ")  # the names of the columns in which predictions stand
MOST = 12  # labels along a side
MARGIN = {"t": 4, "b": 44, "l": 48, "r": 66}


def small_map(matrix: Any, labels: tuple[Labels, Labels], titles: tuple[str, str], value: str, limit: float) -> Figure:
    """A matrix [rows, columns] in square cells from -limit to limit, with labels and titles of its rows and columns; a
    large one as means over blocks of cells."""
    matrix = np.asarray(matrix, dtype=np.float32)
    rows, columns = (names(each, size) for each, size in zip(labels, matrix.shape, strict=True))
    scale = diverging(limit) | {"showscale": True, "colorbar": _bar(value, [-limit, 0, limit])}
    matrix, rows, columns = coarse(matrix, rows, columns)
    figure = Figure(layout=layout(300, MARGIN, coloraxis=scale, showlegend=False))
    hover = f"{titles[0]} %{{y}}<br>{titles[1]} %{{x}}<br>{value} %{{z:.3g}}"
    figure.add_trace(heat(matrix, rows, columns, hover, Subplot(), "coloraxis"))
    return figure.update_layout(map_axes(Subplot(), (rows, rows, titles[0]), (columns, columns, titles[1]), MOST, MOST))


def small_attention(
    weights: Any, tokens: Sequence[str], boxes: Sequence[Box] = (), guesses: Predictions | None = None
) -> Figure:
    """A head's attention [T, T] over the characters `tokens`; with `guesses` the predicted next characters stand at the
    right, in place of the colour bar."""
    weights = np.array(weights, dtype=np.float32)
    weights[np.triu_indices(len(weights), 1)] = np.nan
    full, shown = positions(tokens)
    bar = {"showscale": False} if guesses else {"colorbar": _bar("attention", [0, 0.5, 1])}
    scale = {"colorscale": colourscale(NONE_TO_ALL), "cmin": 0, "cmax": 1, **bar}
    figure = Figure(layout=layout(300, MARGIN, coloraxis=scale, showlegend=False))
    figure.add_trace(heat(weights, full, full, "query %{y} looks at %{x}: %{z:.2f}", Subplot(), "coloraxis"))
    figure.add_traces(_outlines(boxes, full))
    columns = (full, shown)
    if guesses is not None:
        figure.add_trace(_guessed(full, guesses)).update_layout(margin={"r": 8})
        columns = ([*full, *BESIDE], [*shown, *BESIDE])
    title = "key" if guesses is None else "key; at the right what it predicts"
    return figure.update_layout(
        map_axes(Subplot(), (full, shown, "query"), (*columns, title), MOST, MOST + len(BESIDE))
    )


def _outlines(boxes: Sequence[Box], full: Sequence[str]) -> list[Trace]:
    """A thin outline around the cells of each kind, which leaves what is in them to be seen."""
    size = float(np.clip(190 / len(full), 4, 22))
    found = []
    for kind in (kind for kind in SYMBOLS if any(box[2] == kind for box in boxes)):
        x, y = zip(*((full[key], full[query]) for query, key, each in boxes if each == kind), strict=True)
        marker = {"symbol": "square-open", "size": size, "line": {"width": 1.6}, "color": COLOURS[kind]}
        found.append(Trace(x=list(x), y=list(y), mode="markers", name=kind, marker=marker, hoverinfo="skip"))
    return found


def _guessed(rows: Sequence[str], guesses: Predictions) -> Trace:
    """The likeliest next character of each row; where the model could know it, with a mark for right or wrong."""
    letters, judged = characters(guesses.tokens), zip(guesses.right, guesses.known, strict=True)
    marks, colours = zip(*((("✓" if right else "✗"), COLOURS["trained"] if right else INK) if known else ("", FAINT)
                           for right, known in judged), strict=True)  # fmt: skip
    texts = [f"{letter} {mark}".strip() for letter, mark in zip(letters, marks, strict=True)]
    font = {"family": MONO, "size": TEXT, "color": list(colours)}
    chances = zip(letters, guesses.probability, strict=True)
    told = [f"predicts '{letter}' with probability {chance:.2f}" for letter, chance in chances]
    hover = {"customdata": told, "hovertemplate": "%{customdata}<extra></extra>"}
    return Trace(x=[BESIDE[1]] * len(rows), y=list(rows), mode="text", text=texts, textfont=font, **hover)


def _bar(title: str, ticks: Sequence[float]) -> dict[str, Any]:
    """A colour bar that stands at the right."""
    texts = [f"{tick:.3g}".replace("-", "\N{MINUS SIGN}") for tick in ticks]
    text = {"title": {"text": title, "side": "right", "font": {"size": TICKS}}, "tickfont": {"size": TICKS}}
    where = {"x": 1.01, "thickness": 10, "len": 1, "outlinewidth": 0, "xpad": 0, "ypad": 0}
    return {**where, **text, "tickvals": list(ticks), "ticktext": texts}


def small_maps(matrices: Sequence[Any], names: Sequence[str], limit: float) -> Figure:
    """Square matrices of one size side by side from -limit to limit, a name above each; nothing else is written."""
    figure = Figure(layout=layout(300, {"t": 30, "b": 8, "l": 8, "r": 8}, coloraxis=diverging(limit)))
    labels = [str(index + 1) for index in range(len(matrices[0]))]
    for matrix, place in zip(matrices, subplots(names, len(matrices), 300, side=0.04), strict=True):
        figure.add_trace(heat(np.asarray(matrix), labels, labels, "%{y}, %{x}: %{z:.3g}", place, "coloraxis"))
        figure.update_layout(map_axes(place, (labels, labels, ""), (labels, labels, ""), MOST, MOST))
        figure.add_annotation(**place.heading())
    return figure.update_xaxes(showticklabels=False).update_yaxes(showticklabels=False)
