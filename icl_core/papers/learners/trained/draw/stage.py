"""Every trained learner while it trains: its error, its implied weights, what it acts like, and how
far it is from linear in the query."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.figures.style import INK
from icl_core.papers.learners.shared.plane import STAR, add_mark, frame, plane, two
from icl_core.papers.learners.trained.draw import LARGEST, LEAST, MARK, ROOM, curve_of, mark_of
from icl_core.papers.learners.trained.load_run import (
    implied_weights,
    learners_of,
    prompt_shown,
    share_of,
)
from icl_core.papers.learners.trained.settings import View
from icl_core.papers.learners.trained.words import WORDS

LINES = {"one step": ("GD 1", "gradient descent"), "Bayes": ("Bayes", "floor")}
CROSSES = {"one step": ("GD 1", "cross"), "Bayes": ("Bayes", "x")}


def errors(run: Run, view: View) -> Panel:
    """Draw the error of every learner against the training step, with those of one step and of
    Bayes."""
    steps = run["curve/step"]
    series = [curve_of(learner, steps, run) for learner in learners_of(run)]
    lines = [(name, share_of(run, of), kind) for name, (of, kind) in LINES.items()]
    figure = figures.curves(
        series,
        "training step",
        "share left",
        log_y=True,
        y_range=(LEAST, LARGEST),
        lines=[(name, value, kind) for name, value, kind in lines if value > LEAST],
        at=run.step(view),
        height=figures.SEAT,
    )
    data = pd.DataFrame({"step": steps} | {curve.name: curve.y for curve in series}).round(5)
    return WORDS.panel("errors", run, view, figures.seated(figure, figures.WIDE), data=data)


def weights(run: Run, view: View) -> Panel:
    """Draw the implied weights of every learner in the plane of the first two features."""
    prompt = prompt_shown(run, view)
    implied = implied_weights(run, view)
    target = two(run["prompt/w"][:, prompt])
    figure = plane("w₁", "w₂")
    for learner, vector in zip(learners_of(run), implied, strict=True):
        add_mark(figure, two(vector), learner.short, mark_of(learner))
        figure.data[-1].update(showlegend=False)
    for name, (reference, symbol) in CROSSES.items():
        vector = run["prompt/reference"][run.names("references").index(reference)][:, prompt]
        add_mark(figure, two(vector), name, {"symbol": symbol, "size": MARK, "color": INK})
    add_mark(figure, target, "w*", STAR)
    last = two(run["snapshot/implied"][-1, :, prompt])
    frame(figure, np.concatenate([last, [target, np.zeros(2)]]), ROOM)
    data = pd.DataFrame(
        {"learner": run.names("learners")}
        | {f"w{i + 1}": implied[:, i] for i in range(run.config.d)}
    )
    return WORDS.panel("plane", run, view, figures.seated(figure), data=data.round(5))


def bend(run: Run, view: View) -> Panel:
    """Draw how far every learner's answer is from linear in the query."""
    values = run["snapshot/bend"][run.snapshot_at(view)]
    learners = learners_of(run)
    labels = [_initials(learner.short) for learner in learners]
    figure = figures.bars(
        labels,
        values.tolist(),
        "bend",
        kinds=[learner.kind for learner in learners],
        y_range=(0.0, 1.1 * max(1.0, float(run["snapshot/bend"].max()))),
        text="none",
        height=figures.SEAT,
    )
    data = pd.DataFrame({"learner": run.names("learners"), "bend": values}).round(5)
    return WORDS.panel("bend", run, view, figures.seated(figure), data=data)


def _initials(label: str) -> str:
    """Return a label short enough to stand under one of twelve bars."""
    first, _, number = label.partition(" ")
    short = first if len(first) <= 6 else f"{first[:4]}."
    return f"{short}{number}" if number.isdigit() else short
