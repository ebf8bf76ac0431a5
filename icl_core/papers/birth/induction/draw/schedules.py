"""Figure 3 as one figure: what is learned while some of the matrices are frozen."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from icl_core.contract.experiment import CannotDraw, Panel, Run
from icl_core.contract.figure import Figure, Trace
from icl_core.figures import Curve, mean_of
from icl_core.figures.series import curve_traces
from icl_core.figures.style import FAINT, TICKS, axis, layout, note
from icl_core.papers.birth.induction.attention_scores import HeadProbes, probes_over_training
from icl_core.papers.birth.induction.draw.curves import PROBES
from icl_core.papers.birth.induction.load_run import at_last_step
from icl_core.papers.birth.induction.settings import Config, View
from icl_core.papers.birth.induction.words import WORDS

# the columns: what is frozen, and the preset of its run
SCHEDULES = {
    "nothing frozen": "order",
    "W_K¹, W_K² frozen": "only W_O2 learns",
    "W_O² frozen": "W_O2 frozen",
    "W_K¹ frozen": "W_K1 frozen",
    "W_K² frozen": "W_K2 frozen",
}
ROWS = ("right in context", "recall", "heads")
HEADS = {"back": ("layer 1 looks back", "layer 1"), "finds": ("layer 2 finds it", "layer 2"),
         "says": ("the model says it", "trained")}  # fmt: skip
# between columns and between rows, shares of the figure
GAP = 0.025
BETWEEN = 0.07
HEIGHT = 520


class Column(NamedTuple):
    """One training of Figure 3: what is frozen, and its run."""

    label: str
    run: Run


def is_figure_3(config: Config) -> bool:
    """Return whether a setting is one of Figure 3's trainings: five random triggers, in context
    alone."""
    return (
        config.trains
        and config.layers == 2
        and config.positions == "in_context"
        and not config.feed_forward
        and config.optimiser == "sgd"
    )


def schedules(run: Run, view: View) -> Panel:
    """Draw accuracy, recalls and what the heads do, one below the other, a column a schedule."""
    size = ", paper size" if run.config.T == 256 else ""
    runs = {label: run.shipped(f"{preset}{size}") for label, preset in SCHEDULES.items()}
    columns = [Column(label, shipped) for label, shipped in runs.items() if shipped is not None]
    if len(columns) < 2:
        raise CannotDraw("the trainings of Figure 3 are not shipped here")
    thaw = max(column.run.config.freeze_until for column in columns)
    last = max(column.run.config.steps for column in columns[1:])
    figure = Figure(layout=layout(HEIGHT, {"t": 52, "b": 44}, legend=_legend()))
    for index, column in enumerate(columns):
        _add(figure, index, len(columns), column, last)
    right = {column.label: _right(column.run, thaw) for column in columns}
    shares = {label: f"{share:.0%}" for label, share in right.items()}
    return WORDS.panel(
        "schedules",
        run,
        view,
        figure,
        data=pd.DataFrame(
            {
                "frozen": [column.label for column in columns],
                f"accuracy at step {thaw}": list(right.values()),
                "accuracy at the end": [
                    float(mean_of(column.run["curve/accuracy"])[-1]) for column in columns
                ],
            }
        ),
        thaw=thaw,
        together=shares.get("nothing frozen", ""),
        alone=shares.get("W_K¹, W_K² frozen", ""),
        without=shares.get("W_O² frozen", ""),
    )


def _right(run: Run, step: float) -> float:
    """Return the accuracy at the last evaluation before a step, the mean over seeds."""
    return float(at_last_step(run, "accuracy", step - 1).mean())


def _legend() -> dict:
    return {"orientation": "h", "x": 0, "y": 1.1, "yanchor": "bottom", "font": {"size": TICKS}}


def _add(figure: Figure, index: int, count: int, column: Column, last: int) -> None:
    """Add one column: three plots, one below the other."""
    run = column.run
    wide = (1 - GAP * (count - 1)) / count
    left = index * (wide + GAP)
    high = (1 - BETWEEN * (len(ROWS) - 1)) / len(ROWS)
    series = (
        [Curve("right in context", run["curve/step"], run["curve/accuracy"], "trained")],
        [
            Curve(label, run["curve/step"], run[f"curve/recall_{name}"], kind, dash)
            for name, (label, kind, dash) in PROBES.items()
        ],
        _heads(run),
    )
    for row, curves in enumerate(series):
        number = index * len(ROWS) + row + 1
        x, y = (f"{letter}{number if number > 1 else ''}" for letter in "xy")
        for curve in curves:
            for trace in curve_traces(curve, xaxis=x, yaxis=y):
                figure.add_trace(_named_once(trace, index))
        top = 1 - row * (high + BETWEEN)
        bottom_row = row == len(ROWS) - 1
        figure.update_layout(
            {
                f"xaxis{x[1:]}": axis(
                    "step" if bottom_row else "",
                    domain=[left, left + wide],
                    anchor=y,
                    range=[0, last],
                    showticklabels=bottom_row,
                    nticks=4,
                    tickangle=0,
                ),
                f"yaxis{y[1:]}": axis(
                    ROWS[row] if index == 0 else "",
                    domain=[max(0.0, top - high), top],
                    anchor=x,
                    range=[0, 1.03],
                    showticklabels=index == 0,
                ),
            }
        )
        if run.config.freeze_until:
            figure.add_shape(**_thaw(x, y, run.config.freeze_until))
    figure.add_annotation(
        **note(column.label, left, 1.0, xanchor="left", yanchor="bottom", font={"size": TICKS + 1})
    )


def _named_once(trace: Trace, column: int) -> Trace:
    """Return a trace that stands in the legend only if it is of the first column."""
    if column:
        trace.update(showlegend=False)
    return trace


def _heads(run: Run) -> list[Curve]:
    """Return what the heads do at every snapshot, see `HeadProbes`."""
    steps = np.array(run.snapshot_steps)
    by_probe = zip(*probes_over_training(run), strict=True)
    return [
        Curve(HEADS[name][0], steps, np.array(values), HEADS[name][1], "dot")
        for name, values in zip(HeadProbes._fields, by_probe, strict=True)
    ]


def _thaw(x: str, y: str, step: int) -> dict:
    """Return the vertical line at the step at which what was frozen is released."""
    line = {"color": FAINT, "width": 1.5, "dash": "dot"}
    return {
        "type": "line",
        "xref": x,
        "yref": f"{y} domain",
        "x0": step,
        "x1": step,
        "y0": 0,
        "y1": 1,
        "line": line,
    }
