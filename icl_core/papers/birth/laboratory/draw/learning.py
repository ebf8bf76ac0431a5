"""The memory that gradient descent learns: strengths against frequency, and when each pair is
learned."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure, Trace
from icl_core.figures import Curve, mean_of
from icl_core.figures.series import axis_range
from icl_core.figures.style import PAPER, axis, layout, legend
from icl_core.papers.birth.laboratory.run import half_at, one_step, without_cross_talk
from icl_core.papers.birth.laboratory.settings import View
from icl_core.papers.birth.laboratory.words import WORDS


def strengths(run: Run, view: View) -> Panel:
    """Draw the strength of each pair against its frequency, beside the closed forms."""
    index = run.snapshot_at(view)
    step = run.snapshot_steps[index]
    often = run["learned/often"]
    rate = run.config.learning_rate
    strength = run["snapshot/strength"][index]  # [N]
    right = run["snapshot/right"][index] > 0.5
    top = 1.12 * float(run["snapshot/strength"].max())
    figure = Figure(layout=layout(figures.SEAT))
    line = Trace(
        x=often,
        y=np.minimum(step * one_step(often, rate), 2 * top),
        mode="lines",
        name="step 1",
    )
    figure.add_trace(
        line.update(
            line={"color": figures.colour("floor"), "width": 2, "dash": "dot"}, hoverinfo="skip"
        )
    )
    alone = Trace(
        x=often,
        y=without_cross_talk(often, rate, step),
        mode="lines",
        name="no cross-talk",
    )
    figure.add_trace(
        alone.update(line={"color": figures.colour("construction"), "width": 2}, hoverinfo="skip")
    )
    for name, is_shown, colour in (
        ("recalled", right, "trained"),
        ("not yet", ~right, "gradient descent"),
    ):
        marker = {
            "size": 8,
            "color": figures.colour(colour),
            "line": {"color": PAPER, "width": 0.5},
        }
        y = np.where(is_shown, strength, np.nan)
        dots = Trace(x=often, y=y, mode="markers", name=name, marker=marker)
        figure.add_trace(dots.update(hovertemplate="frequency %{x:.3f}: %{y:.2f}<extra></extra>"))
    figure.update_xaxes(
        axis("frequency (log scale)", **axis_range((0.85 * often.min(), 1.2 * often.max()), True))
    )
    figure.update_yaxes(axis("strength", range=[-0.06 * top, top]))
    data = pd.DataFrame({"frequency": often, "strength": strength, "recalled": right})
    return WORDS.panel("strengths", run, view, figures.seated(figure), data=data.round(4))


def recall(run: Run, view: View) -> Panel:
    """Draw what the learned memory recalls over the training."""
    steps = run["curve/step"]
    at = run.step(view)
    series = [
        Curve("as asked, by frequency", steps, run["curve/asked"], "layer 3"),
        Curve("of all pairs", steps, run["curve/recall"], "trained"),
    ]
    as_asked, of_pairs = (float(np.interp(at, steps, curve.mean())) for curve in series)
    data = pd.DataFrame({"step": steps} | {curve.name: curve.mean() for curve in series})
    figure = figures.curves(series, "training step", "recall", y_range=(0, 1.04), at=at)
    return WORDS.panel(
        "recall", run, view, figure, data=data.round(4), of_pairs=of_pairs, as_asked=as_asked
    )


def first(run: Run, view: View) -> Panel:
    """Draw the step from which on each pair is predicted, against its frequency."""
    often = run["learned/often"]
    steps = run["learned/first"]  # [seeds, N]
    is_drawn = np.isfinite(steps) & (steps > 0)
    figure = Figure(layout=layout(380, {"t": 40}, legend=legend(1.0)))
    marker = {"size": 8, "color": figures.colour("trained"), "opacity": 0.7}
    x = np.broadcast_to(often, steps.shape)[is_drawn]
    dots = Trace(x=x, y=steps[is_drawn], mode="markers", name="a pair")
    figure.add_trace(
        dots.update(marker=marker, hovertemplate="frequency %{x:.4f}: step %{y:.0f}<extra></extra>")
    )
    alone = half_at(often, run.config.learning_rate)
    line = {"color": figures.colour("construction"), "width": 2}
    figure.add_trace(
        Trace(x=often, y=alone, mode="lines", name="no cross-talk", line=line, hoverinfo="skip")
    )
    ends = 0.8, 1.5 * max(2.0, run.config.steps, alone.max())
    figure.update_xaxes(
        axis("frequency (log scale)", **axis_range((0.85 * often.min(), 1.2 * often.max()), True))
    )
    figure.update_yaxes(axis("step (log scale)", **axis_range(ends, True)))
    data = pd.DataFrame({"frequency": often, "step": mean_of(steps)}).round(5)
    return WORDS.panel("first", run, view, figure, data=data)


def evened(run: Run, view: View) -> Panel:
    """Draw how much more strongly frequent pairs are stored than rare ones, with layer norm and
    without."""
    steps = run["curve/step"]
    series = [
        Curve("without", steps, run["curve/ratio_plain"], "trained"),
        Curve("with layer norm", steps, run["curve/ratio_norm"], "layer 2"),
    ]
    top = float(np.nanmax([np.nanmax(curve.mean()[len(steps) // 40 :]) for curve in series]))
    lines = [("all alike", 1.0, "floor")]
    data = pd.DataFrame({"step": steps} | {curve.name: curve.mean() for curve in series})
    figure = figures.curves(
        series, "training step", "frequent / rare", lines=lines, y_range=(0, 1.05 * top)
    )
    return WORDS.panel("evened", run, view, figure, data=data.round(4))
