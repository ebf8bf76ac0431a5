"""Figure 4 B over many seeds: every seed a dot, with the median of each model."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure, Trace
from icl_core.figures import number_text
from icl_core.figures.style import INK, PAPER, axis, colour, layout
from icl_core.papers.gdssm.nonlinear.draw.losses import KINDS
from icl_core.papers.gdssm.nonlinear.metrics import losses_of, ratios
from icl_core.papers.gdssm.nonlinear.settings import FIGURE_4B
from icl_core.papers.gdssm.shared.load_run import percent
from icl_core.statistics import median

ROWS = ("constructed", "trained", "constructed, gated", "trained, gated")
SPREAD = 0.3  # of a row's height to either side, over which its dots are spread by rank


def strip(run: Run, view: Any) -> Panel:
    """Draw a row a model and a dot a seed, with the median and its exact interval."""
    rows = [losses_of(run, id) for id in FIGURE_4B]
    middles = [float(np.median(losses)) for losses in rows]
    ends = [median.interval(losses) or (float("nan"),) * 2 for losses in rows]
    plain, gated = (_compared(run, id) for id in ("linear", "linear gate"))
    best = [number_text(float(rows[place].min()), 4) for place in (1, 3)]
    constructed = [number_text(middles[place], 4) for place in (0, 2)]
    return Panel(
        f"Trained layers end {plain} constructed ones, {gated} with the gated unit (medians)",
        f"Every dot is one of {run.config.many} seeds, from the lowest loss of a row (top) to its "
        "highest. The black line is the median, and the bar about it its 95% interval, which is "
        "exact for any distribution. A dashed line carries the constructed median over to the "
        "trained row below it. The best trained seeds end at "
        f"{best[0]} and, gated, {best[1]}; constructed ones have {constructed[0]} and "
        f"{constructed[1]}. If all seeds found the same layer, a row would be one vertical line.",
        _figure(rows, middles, ends),
        data=pd.DataFrame(
            {
                "model": ROWS,
                "median": middles,
                "from": [low for low, _ in ends],
                "to": [high for _, high in ends],
                "best": [float(losses.min()) for losses in rows],
                "worst": [float(losses.max()) for losses in rows],
                "mean": [float(losses.mean()) for losses in rows],
            }
        ).round(5),
        note="Seeds differ in their initial weights and read the same tasks. The trained weights "
        "could be the constructed ones, so that a best seed above the constructed median is one "
        "that training did not bring there.",
    )


def _compared(run: Run, id: str) -> str:
    """Return where the trained layers of a pair stand, in the median over pairs of seeds."""
    away = float(np.median(ratios(run, f"{id} trained", id)))
    return f"{percent(abs(away))} {'above' if away > 0 else 'below'}"


def _figure(
    rows: Sequence[np.ndarray], middles: Sequence[float], ends: Sequence[tuple[float, ...]]
) -> Figure:
    """Draw the dots of each row, spread by rank, the medians and their intervals."""
    traces = [
        Trace(
            x=np.sort(losses).tolist(),
            y=(place + np.linspace(-SPREAD, SPREAD, len(losses))).tolist(),
            mode="markers",
            marker={"size": 8, "color": colour(KINDS[place % 2]), "line": {"color": PAPER}},
            name=ROWS[place],
            hovertemplate="%{x:.5f}",
        )
        for place, losses in enumerate(rows)
    ]
    figure = Figure(traces, layout(380, showlegend=False))
    for place, middle in enumerate(middles):
        line = {"color": INK, "width": 2}
        half = SPREAD + 0.08
        figure.add_shape(
            type="line", x0=middle, x1=middle, y0=place - half, y1=place + half, line=line
        )
        low, high = ends[place]
        figure.add_shape(
            type="rect", x0=low, x1=high, y0=place - half, y1=place + half,
            fillcolor=INK, opacity=0.2, line={"width": 0}, layer="below",
        )  # fmt: skip
        if place % 2 == 0:
            dash = {"color": colour("construction"), "width": 2, "dash": "dash"}
            figure.add_shape(
                type="line", x0=middle, x1=middle, y0=place, y1=place + 1 + half, line=dash
            )
    everything = np.concatenate(rows)
    room = 0.05 * float(np.ptp(everything)) or 0.001
    reach = [float(everything.min()) - room, float(everything.max()) + room]
    figure.update_xaxes(axis("loss at the query", range=reach, showgrid=False))
    figure.update_yaxes(
        axis(range=[len(rows) - 0.4, -0.6], tickvals=list(range(len(rows))), ticktext=list(ROWS))
    )
    return figure
