"""A film of training that plays in the browser: curves with a moving marker, memories, attention, predictions."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from icl_core.figures.attention import SYMBOLS, add_attention, legend_of_boxes
from icl_core.figures.grid import AXIS, Spot, diverging, sequential, spots
from icl_core.figures.heatmaps import add_map
from icl_core.figures.moving import Attending, Moving, moments, small
from icl_core.figures.player import BAR, CURVES, LINE, Plan, controls
from icl_core.figures.series import Curve, around, cursor, drawn, extent, ranged
from icl_core.figures.style import MONO, TICKS, axis, layout, traces

MOVING = ("step shown", "prediction")


def film(
    steps: Sequence[int],
    series: Sequence[Curve],
    maps: Sequence[Moving] = (),
    attentions: Sequence[Attending] = (),
    texts: Sequence[str] = (),
    *,
    x_title: str = "training step",
    y_title: str = "",
    value_name: str = "score",
    log_x: bool = False,
    log_y: bool = False,
    y_range: tuple[float, float] | None = None,
    start: int = -1,
    stacked: bool = False,
    duration: int = 60,
) -> go.Figure:
    """One frame a step: a marker moves along the curves, the maps and `texts` (lines parted by <br>) change.

    Axes and colours stay. It starts paused on frame `start`; `duration` is milliseconds a frame. Frames are left
    out evenly where all would exceed 3 MB.
    """
    charts, looks = [small(each) for each in maps], [each.small() for each in attentions]
    kept = moments(len(steps), sum(each.frames[0].size for each in (*charts, *looks)))
    lines = max((text.count("<br>") + 1 for text in texts), default=0)
    plan = Plan(len(charts) + len(looks), lines, any(look.boxes for look in looks), stacked)
    figure = go.Figure(layout=layout(plan.plot + sum(plan.margin.values()), plan.margin))
    xs = extent([*(np.asarray(each.x, float) for each in series), np.array(steps, float)], log_x, 0)
    ys = y_range or around(series, log_y)
    figure.update_layout(
        xaxis=axis(x_title + " (log scale)" * log_x, showgrid=False, anchor="y", **ranged(xs, log_x)),
        yaxis=axis(y_title + " (log scale)" * log_y, domain=[1 - CURVES / plan.plot, 1], **ranged(ys, log_y)),
        legend={"orientation": "h", "x": 0, "y": 1 + 4 / plan.plot, "yanchor": "bottom", "font": {"size": 14}},
    )
    figure.add_traces([trace for curve in series for trace in drawn(curve, log_y)])
    figure.add_trace(cursor(series, steps[kept[start]], ys))
    if texts:
        _add_text(figure, texts[kept[start]], plan)
    _add_maps(figure, charts, looks, kept[start], value_name, plan)
    moving = [place for place, trace in enumerate(traces(figure)) if trace.type == "heatmap" or trace.name in MOVING]
    figure.frames = [
        go.Frame(name=str(steps[place]), traces=moving, data=_moment(place, steps, series, ys, texts, charts, looks))
        for place in kept
    ]
    shown = [steps[place] for place in kept]
    return figure.update_layout(controls(shown, start % len(kept), plan.plot, plan.legend, duration))


def _moment(
    place: int, steps: Sequence[int], series: Sequence[Curve], ys: tuple[float, float], texts: Sequence[str],
    charts: Sequence[Moving], looks: Sequence[Attending],
) -> list[dict[str, Any]]:  # fmt: skip
    """What the moving traces hold in one frame, in the order of the figure's traces."""
    marker = cursor(series, steps[place], ys)
    words = [{"type": "scatter", "text": [texts[place]]}] if texts else []
    grids = [{"type": "heatmap", "z": np.ascontiguousarray(each.frames[place])} for each in (*charts, *looks)]
    return [{"type": "scatter", "x": marker.x, "y": marker.y}, *words, *grids]


def _add_text(figure: go.Figure, text: str, plan: Plan) -> None:
    """Adds the text under the curves, as a trace, since only traces move cheaply."""
    high = 1 - (CURVES + AXIS - 4) / plan.plot
    hidden = {"visible": False, "range": [0, 1], "fixedrange": True}
    low = max(0.0, high - plan.lines * LINE / plan.plot)
    figure.update_layout(xaxis99={"anchor": "y99", **hidden})
    figure.update_layout(yaxis99={"anchor": "x99", "domain": [low, high], **hidden})
    trace = go.Scatter(x=[0], y=[1], text=[text], mode="text", textposition="bottom right", name="prediction")
    trace.update(textfont={"family": MONO, "size": TICKS}, hoverinfo="skip", showlegend=False, cliponaxis=False)
    figure.add_trace(trace.update(xaxis="x99", yaxis="y99"))


def _add_maps(
    figure: go.Figure, charts: Sequence[Moving], looks: Sequence[Attending], place: int, value_name: str, plan: Plan
) -> None:
    """Adds the maps as they are in frame `place`, each chart on its own fixed scale, and one colour bar a kind."""
    if not plan.maps:
        return
    one = len({chart.limit for chart in charts}) == 1
    titles = [chart.title if one else f"{chart.title} (±{chart.limit:.0f})" for chart in charts]
    titles += [look.title for look in looks]
    shares = spots(titles, plan.columns, plan.grid, side=0.16 if plan.stacked else 0.06)
    part, most = plan.grid / plan.plot, 6 if plan.stacked else 12
    where = [Spot(spot.number + 1, spot.x, (spot.y[0] * part, spot.y[1] * part), spot.title) for spot in shares]
    low, half = -(AXIS + BAR - 22) / plan.plot, (0.05, 0.45) if looks else (0.25, 0.75)
    for number, (chart, spot) in enumerate(zip(charts, where, strict=False)):
        scale = f"coloraxis{number + 1 if number else ''}"
        bar = diverging(chart.limit or 1.0, value_name if number == 0 else "", low, half)
        if not one and number == 0:
            bar["colorbar"] |= {"ticktext": ["\N{MINUS SIGN}max", "0", "max"]}
        figure.update_layout({scale: bar})
        axes = (chart.row_title, chart.column_title)
        labels = (chart.row_labels, chart.column_labels)
        add_map(figure, chart.frames[place], labels, axes, value_name, spot, most, scale)
    for look, spot in zip(looks, where[len(charts) :], strict=True):
        add_attention(figure, look.frames[place], look.tokens, look.boxes, spot, "coloraxis9", most=most)
    if looks:
        figure.update_layout(coloraxis9=sequential("attention", low, (0.55, 0.95) if charts else (0.25, 0.75)))
        figure.update_layout(legend2=legend_of_boxes())
        figure.update_traces({"legend": "legend2"}, lambda trace: trace.name in SYMBOLS)
