"""What is on stage: the recalls step by step, both heads, the three memories."""

from functools import partial

import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.figures import Curve
from icl_core.papers.birth.shared import stage
from icl_core.papers.birth.shared.draw import KINDS, NAMES
from icl_core.papers.birth.shared.probes import OVER, memory_scores, recall
from icl_core.papers.birth.shared.sequence import Reading, Shown
from icl_core.papers.birth.steps.gradient_steps import task_of
from icl_core.papers.birth.steps.load_run import learned, read, shown, way_of, weights_after, zero
from icl_core.papers.birth.steps.metrics import after
from icl_core.papers.birth.steps.settings import THEN, View

ASKED = {
    "W_K1": "finds the position before",
    "W_K2": "finds the same character",
    "W_O2": "says the output",
}


def recalls(run: Run, view: View) -> Panel:
    """Recall of every memory, and the share of right answers, after each step."""
    steps, way = run["curve/step"], way_of(run, view)
    order = run.config.order.split(THEN)
    series = [
        Curve(
            NAMES[name],
            steps,
            run[f"curve/recall_{name}_{way}"],
            KINDS[name],
            band="minmax",
            markers=True,
        )
        for name in order
    ]
    series.append(
        Curve(
            "answers", steps, run[f"curve/accuracy_{way}"], "floor", "dash", "minmax", markers=True
        )
    )
    at = run.snapshot_at(view)
    figure = figures.curves(
        series,
        "after the step on",
        "share right",
        y_range=(0, 1.04),
        x_range=(-0.15, 3.15),
        at=at,
        height=figures.SEAT,
    )
    texts = ["start", *(NAMES[name] for name in order)]
    right = float(after(run, "accuracy", at, way).mean())
    return Panel(
        f"After {at} of 3 steps {right:.0%} of answers are right",
        "Recall is the share of its pairs that a matrix gets right, asked on its own. The "
        "dashed line is the whole model: the share of right answers on fresh sequences. A step "
        "that teaches nothing leaves its line at the bottom, which is chance.",
        figures.seated(figure.update_xaxes(tickvals=list(range(4)), ticktext=texts)),
        data=_table(run, way),
    )


def _table(run: Run, way: str) -> pd.DataFrame:
    kept = [name for name in run.tensors if name.startswith("curve/") and name.endswith(f"_{way}")]
    means = {name[6 : -len(way) - 1]: run[name].mean(0).round(4) for name in kept}
    return pd.DataFrame({"step": run["curve/step"], **means})


def reading(run: Run, view: View) -> tuple[Reading, Shown]:
    """What the model makes of the sequence on stage after the steps taken."""
    sequence = shown(run, view)
    weights = weights_after(run, run.snapshot_at(view), way_of(run, view))
    return read(weights, sequence, run.config.setup), sequence


def first(run: Run, view: View) -> Panel:
    """Layer 1's attention on the sequence."""
    return stage.first(*reading(run, view))


def second(run: Run, view: View) -> Panel:
    """Layer 2's attention on the sequence; the last row is the trigger that has come again."""
    found, sequence = reading(run, view)
    return stage.second(found, sequence)


def _memory(name: str, run: Run, view: View) -> Panel:
    """A memory as readings of all pairs, on the scale that it has in the end."""
    at, way, task = run.snapshot_at(view), way_of(run, view), task_of(run.config)
    weights = weights_after(run, at, way)
    found, end = (memory_scores(name, each, task) for each in (weights, weights_after(run, 3, way)))
    right = recall(found.matrix, OVER[name])
    said = f"{ASKED[name]}: {right:.0%} right"
    if zero(weights, name):
        said = (
            "has not moved: its gradient was zero"
            if name in learned(run, at)
            else "is zero: its step is to come"
        )
    return stage.memory(
        name,
        found,
        end,
        said,
        "Before its step, and after a step on a gradient of zero, all is grey.",
    )


w_k1, w_k2, w_o2 = (partial(_memory, name) for name in ("W_K1", "W_K2", "W_O2"))
