"""What is on stage: the recalls step by step, both heads, the three memories and how their numbers
are made."""

from functools import partial

import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.explanation import Map
from icl_core.figures import Curve
from icl_core.papers.birth.shared import draw, explanations
from icl_core.papers.birth.shared.draw import KINDS, NAMES
from icl_core.papers.birth.shared.probes import OVER, memory_scores, recall
from icl_core.papers.birth.shared.sequence import Reading, Shown
from icl_core.papers.birth.steps.gradient_steps import task_of
from icl_core.papers.birth.steps.load_run import learned, read, shown, way_of, weights_after, zero
from icl_core.papers.birth.steps.settings import THEN, View
from icl_core.papers.birth.steps.words import WORDS

ASKED = ("W_K1", "W_K2", "W_O2")  # in the order of the words on what each finds


def recalls(run: Run, view: View) -> Panel:
    """Draw the recall of every memory, and the share of right answers, after each step."""
    steps = run["curve/step"]
    way = way_of(run, view)
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
    figure.update_xaxes(tickvals=list(range(4)), ticktext=texts)
    return WORDS.panel("recalls", run, view, figures.seated(figure), data=_table(run, way))


def _table(run: Run, way: str) -> pd.DataFrame:
    """Return the mean over seeds of every curve of one way to take gradients, a row a step."""
    means = {}
    for name in run.tensors:
        if name.startswith("curve/") and name.endswith(f"_{way}"):
            column = name.removeprefix("curve/").removesuffix(f"_{way}")
            means[column] = run[name].mean(0).round(4)
    return pd.DataFrame({"step": run["curve/step"], **means})


def reading(run: Run, view: View) -> tuple[Reading, Shown]:
    """Return what the model makes of the sequence on stage after the steps taken, and the
    sequence."""
    sequence = shown(run, view)
    weights = weights_after(run, run.snapshot_at(view), way_of(run, view))
    return read(weights, sequence, run.config.setup), sequence


def first(run: Run, view: View) -> Panel:
    """Draw layer 1's attention on the sequence."""
    return draw.first_of(*reading(run, view))


def second(run: Run, view: View) -> Panel:
    """Draw layer 2's attention on the sequence; the last row is the trigger that has come again."""
    return draw.second_of(*reading(run, view))


def _memory(name: str, run: Run, view: View) -> Panel:
    """Draw a memory as readings of all pairs, on the scale that it has in the end."""
    at = run.snapshot_at(view)
    way = way_of(run, view)
    task = task_of(run.config)
    weights = weights_after(run, at, way)
    scores = memory_scores(name, weights, task)
    last_scores = memory_scores(name, weights_after(run, 3, way), task)
    finding = WORDS.text(
        "memory_stores",
        is_zero=zero(weights, name),
        is_past=name in learned(run, at),
        asked=ASKED.index(name),
        recall=recall(scores.matrix, OVER[name]),
    )
    return draw.memory(name, scores, last_scores, finding, WORDS.text("memory_more"))


w_k1 = partial(_memory, "W_K1")
w_k2 = partial(_memory, "W_K2")
w_o2 = partial(_memory, "W_O2")


def _explained(name: str, run: Run, view: View) -> list[Map]:
    """Return a memory's map with an explanation of each of its numbers."""
    weights = weights_after(run, run.snapshot_at(view), way_of(run, view))
    return explanations.memory(name, weights, task_of(run.config))


explained_w_k1 = partial(_explained, "W_K1")
explained_w_k2 = partial(_explained, "W_K2")
explained_w_o2 = partial(_explained, "W_O2")
