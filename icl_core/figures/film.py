"""A film of training that plays in the browser: curves with a moving marker, memories and attention."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from icl_core.figure import Figure
from icl_core.figures.attention import SYMBOLS, add_attention, legend_of_boxes
from icl_core.figures.grid import AXIS, TITLE, diverging, sequential, subplots
from icl_core.figures.heatmaps import add_map
from icl_core.figures.moving import Attending, Moving, played
from icl_core.figures.series import Curve, cursor, drawn, extent, ranged
from icl_core.figures.style import FAINT, GRID, INK, PAPER, TICKS, axis, layout, legend

CURVES, BAR, MARKS = 210, 76, 34  # pixels of the curves, of the colour bars, of the boxes' legend
LEGEND, CONTROLS = 34, 106  # pixels of the curves' legend, of the slider and the buttons above it
LABELS = 12  # at most on the longer side of a map
DURATION = 100  # milliseconds a frame


def film(
    steps: Sequence[int], series: Sequence[Curve], maps: Sequence[Moving], attentions: Sequence[Attending],
    y_title: str, y_range: tuple[float, float],
) -> Figure:  # fmt: skip
    """One frame a step: a marker moves along the curves, the maps and the attention change; axes and colours stay.

    From the top: controls, legend, curves, rows of maps, colour bars. It starts paused on the last frame. Frames are
    left out evenly where all would exceed 3 MB.
    """
    charts, heads = [each.small() for each in maps], [each.small() for each in attentions]
    parts = [*charts, *heads]
    columns = len(parts) if len(parts) <= 4 else 3
    rows, cell = -(-len(parts) // columns), min(270, 1000 // columns - 20)
    plot = CURVES + rows * (cell + AXIS + TITLE)
    margin = {"t": CONTROLS + LEGEND, "b": AXIS + BAR + (MARKS if any(head.boxes for head in heads) else 0)}
    figure = Figure(layout=layout(plot + sum(margin.values()), margin))
    _add_curves(figure, steps, series, y_title, y_range, plot)
    _add_maps(figure, charts, heads, columns, plot)
    moves = [
        index for index, each in enumerate(figure.data) if each["type"] == "heatmap" or each.get("name") == "step shown"
    ]

    def frame(index: int) -> dict[str, Any]:
        marker = cursor(series, steps[index], y_range)
        grids = [{"type": "heatmap", "z": np.ascontiguousarray(each.frames[index])} for each in parts]
        data = [{"type": "scatter", "x": marker["x"], "y": marker["y"]}, *grids]  # in the order of the figure's traces
        return {"name": str(steps[index]), "traces": moves, "data": data}

    kept = played(len(steps), sum(each.frames[0].size for each in parts))
    figure.frames = [frame(index) for index in kept]
    return figure.update_layout(_controls([steps[index] for index in kept], plot))


def _add_curves(
    figure: Figure, steps: Sequence[int], series: Sequence[Curve], y_title: str, y_range: tuple[float, float],
    plot: int,
) -> None:  # fmt: skip
    """Adds the curves over the steps, with the marker on the last one."""
    x_range = extent([*(np.asarray(each.x, float) for each in series), np.array(steps, float)], False, 0)
    figure.update_layout(
        xaxis=axis("training step", showgrid=False, anchor="y", **ranged(x_range, False)),
        yaxis=axis(y_title, domain=[1 - CURVES / plot, 1], **ranged(y_range, False)),
        legend=legend(1 + 4 / plot),
    )
    figure.add_traces([trace for curve in series for trace in drawn(curve)])
    figure.add_trace(cursor(series, steps[-1], y_range))


def _add_maps(figure: Figure, charts: Sequence[Moving], heads: Sequence[Attending], columns: int, plot: int) -> None:
    """Adds the maps as they are in the last frame, each chart on its own fixed scale, and one colour bar a kind."""
    titles = [*(f"{chart.title} (±{chart.limit:.0f})" for chart in charts), *(head.title for head in heads)]
    below = plot - CURVES - AXIS - TITLE
    where = [each.between(0, below / plot, after=1) for each in subplots(titles, columns, below, side=0.06)]
    low = -(AXIS + BAR - 22) / plot
    for number, (chart, subplot) in enumerate(zip(charts, where, strict=False)):
        scale = f"coloraxis{number + 1 if number else ''}"
        bar = diverging(chart.limit, "score" if number == 0 else "", low, (0.05, 0.45))
        if number == 0:
            bar["colorbar"]["ticktext"] = ["\N{MINUS SIGN}max", "0", "max"]
        figure.update_layout({scale: bar})
        labels = chart.row_labels, chart.column_labels
        add_map(figure, chart.frames[-1], labels, ("", ""), "score", subplot, LABELS, scale)
    for head, subplot in zip(heads, where[len(charts) :], strict=True):
        add_attention(figure, head.frames[-1], head.tokens, head.boxes, subplot, "coloraxis9", LABELS)
    figure.update_layout(coloraxis9=sequential(low, (0.55, 0.95)), legend2=legend_of_boxes())
    for trace in figure.data:
        if trace.get("name") in SYMBOLS:
            trace["legend"] = "legend2"


def _controls(steps: Sequence[int], pixels: int) -> dict[str, Any]:
    """Layout of play, pause and a slider labelled with the training step, above a plot `pixels` high."""
    play = {"frame": {"duration": DURATION, "redraw": True}, "transition": {"duration": 0}, "fromcurrent": True}
    still = {"frame": {"duration": 0, "redraw": True}, "transition": {"duration": 0}, "mode": "immediate"}
    buttons = [
        {"label": "▶", "method": "animate", "args": [None, play | {"mode": "immediate"}]},
        {"label": "❚❚", "method": "animate", "args": [[None], still]},
    ]
    font = {"size": TICKS + 3, "color": INK}
    left = {"x": 0, "xanchor": "left", "yanchor": "bottom", "pad": {"l": 0, "t": 0, "b": 0}}
    menu = {"type": "buttons", "direction": "right", "buttons": buttons, "y": 1 + (LEGEND + 66) / pixels, **left}
    menu |= {"bgcolor": PAPER, "bordercolor": FAINT, "font": font, "showactive": False}
    moves = [{"label": str(step), "method": "animate", "args": [[str(step)], still]} for step in steps]
    value = {"prefix": "training step ", "font": font, "xanchor": "right", "offset": 8}
    slider = {"steps": moves, "active": len(steps) - 1, "currentvalue": value, "y": 1 + LEGEND / pixels, "len": 1}
    slider |= {"bgcolor": GRID, "bordercolor": FAINT, "activebgcolor": FAINT, "tickcolor": FAINT, **left}
    slider |= {"font": {"size": TICKS - 1, "color": INK}, "ticklen": 4, "minorticklen": 0}
    return {"updatemenus": [menu], "sliders": [slider]}
