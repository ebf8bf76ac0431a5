"""What stands over categories, as variances or kinds of gates: a marker for each method, or blocks
on one another."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from icl_core.contract.figure import Figure, Trace
from icl_core.figures import references
from icl_core.figures.line_plots import make_room_for_labels
from icl_core.figures.style import FAINT, INK, PAPER, TICKS, axis, colour, layout, legend, text_on
from icl_core.papers.memformers.shared.draw.losses import fitted, roomy, window

Row = tuple[str, str, str, np.ndarray]  # name, colour, marker, logarithms [seeds, categories]
# heights [categories, H], what is written on them, and what they are
Bar = tuple[np.ndarray, np.ndarray, str]
HEIGHT = 420
MANY = 8  # bars: on a narrow screen their numbers only fit upright


def dots(
    rows: Sequence[Row],
    categories: Sequence[str],
    top: float,
    lines: Sequence[tuple[str, float, str]],
) -> Figure:
    """Return a figure with a marker for each method and category, seeds as a bar from lowest to
    highest; above `top` an arrow at the edge. `lines` are references, as in `figures.curves`."""
    figure = Figure(layout=layout(HEIGHT, {"t": 44, "b": 62}))
    heights = [np.minimum(values, top) for *_, values in rows]
    limits = window([*heights, [value for _, value, _ in lines]])
    limits = make_room_for_labels(limits, lines, False, HEIGHT - 106)
    low, high = limits
    apart = 0.62 / max(len(rows), 1)
    for number, (name, kind, marker, values) in enumerate(rows):
        mean = values.mean(0)
        beyond = mean > top
        x = np.arange(len(categories)) + (number - (len(rows) - 1) / 2) * apart
        y = np.where(beyond, high - 0.025 * (high - low), mean)
        bars = {
            "array": np.where(beyond, 0.0, values.max(0) - y),
            "arrayminus": np.where(beyond, 0.0, y - values.min(0)),
            "symmetric": False,
            "color": INK,
            "thickness": 1.5,
            "width": 4,
        }
        style = {
            "size": 11,
            "color": colour(kind),
            "symbol": ["triangle-up" if is_beyond else marker for is_beyond in beyond],
        }
        dot = Trace(x=x, y=y, name=name, mode="markers", customdata=mean, marker=style)
        dot.update(error_y=bars if len(values) > 1 else None)
        hover = name + ": %{customdata:.3g}<extra></extra>"
        figure.add_trace(dot.update(hovertemplate=hover, legendgroup=name))
    figure.update_xaxes(_named(categories) | {"range": [-0.5, len(categories) - 0.5]})
    figure.update_yaxes(axis("log-loss", range=[low, high]))
    figure.update_layout(references(lines, limits=limits))
    return roomy(figure.update_layout(legend=legend(1.02), showlegend=True))


def stacks(bars: Sequence[Bar], names: Sequence[str], categories: Sequence[str]) -> Figure:
    """Return a figure of stacked blocks side by side, with what is written on them; `names` are
    those of the H kinds of block."""
    figure = Figure(layout=layout(400, {"t": 44, "b": 62}, barmode="relative"))
    width = 0.8 / len(bars)
    angle = -90 if len(categories) * len(bars) > MANY else 0
    for number, (heights, written_on, what) in enumerate(bars):
        x = np.arange(len(categories)) + (number - (len(bars) - 1) / 2) * width
        for head, name in enumerate(names):
            pairs = zip(heights[:, head], written_on[:, head], strict=True)
            text = [f"{value:.2g}" if abs(height) > 0.12 else "" for height, value in pairs]
            shape = {
                "shape": "/" if number else "",
                "fillmode": "overlay",
                "fgcolor": PAPER,
                "size": 7,
            }
            bar = Trace(
                "bar",
                x=x,
                y=heights[:, head],
                width=width * 0.92,
                name=name,
                text=text,
                showlegend=number == 0,
            )
            bar.update(
                marker={
                    "color": colour(f"layer {head + 1}"),
                    "pattern": shape,
                    "line": {"width": 0},
                }
            )
            bar.update(
                textposition="inside",
                insidetextanchor="middle",
                textangle=angle,
                textfont={"size": TICKS - 1, "color": text_on(f"layer {head + 1}")},
            )
            bar.update(constraintext="none", legendgroup=name, customdata=written_on[:, head])
            hover = f"{what}, {name}<br>gate %{{customdata:.3g}}<extra></extra>"
            figure.add_trace(bar.update(hovertemplate=hover))
    figure.update_xaxes(_named(categories))
    figure.update_yaxes(axis("gate × σ²/σₕ²", zeroline=True, zerolinecolor=FAINT))
    return roomy(figure.update_layout(legend=legend(1.02), showlegend=True))


def named(figure: Figure, title: str = "") -> Figure:
    """Return stacked blocks in a seat: the legend has a `title`, or does not say at all that they
    are heads."""
    for trace in figure.data:
        trace.update(name=trace["name"].removeprefix("head of "))
    return fitted(figure.update_layout(legend={"title": {"text": title}}))


def _named(categories: Sequence[str]) -> dict[str, Any]:
    """Return the axis of the categories, each with its name, smaller where there are many."""
    size = TICKS if len(categories) <= 5 else TICKS - 2
    ticks = {"tickvals": list(range(len(categories))), "ticktext": list(categories), "tickangle": 0}
    return axis(**ticks, tickfont={"size": size}, showgrid=False)
