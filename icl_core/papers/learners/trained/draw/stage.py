"""Every trained learner while it trains: its error, its implied weights, what it acts like, and how
far it is from linear in the query."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.figures import number_text
from icl_core.figures.style import INK
from icl_core.papers.learners.shared.plane import STAR, add_mark, frame, plane, two
from icl_core.papers.learners.trained.draw.marks import (
    LARGEST,
    LEAST,
    MARK,
    ROOM,
    capitalised,
    curve_of,
    mark_of,
)
from icl_core.papers.learners.trained.load_run import learners_of, share_of
from icl_core.papers.learners.trained.settings import View

LINES = {"one step": ("GD 1", "gradient descent"), "Bayes": ("Bayes", "floor")}
CROSSES = {"one step": ("GD 1", "cross"), "Bayes": ("Bayes", "x")}


def errors(run: Run, view: View) -> Panel:
    """Draw the error of every learner against the training step, with those of one step and of
    Bayes."""
    steps = run["curve/step"]
    at = run.step(view)
    series = [curve_of(learner, steps, run) for learner in learners_of(run)]
    lines = [(name, share_of(run, of), kind) for name, (of, kind) in LINES.items()]
    figure = figures.curves(
        series,
        "training step",
        "share left",
        log_y=True,
        y_range=(LEAST, LARGEST),
        lines=[(name, value, kind) for name, value, kind in lines if value > LEAST],
        at=at,
        height=figures.SEAT,
    )
    share = run["snapshot/share"][run.snapshot_at(view)]  # [learners]
    below = int((share < share_of(run, "GD 1")).sum())
    return Panel(
        f"Step {at:,}: {below} of {len(series)} learners are below one step",
        "The error on fresh prompts, over that of predicting zero, while each learner trains on "
        "the same distribution. Look for plateaus at 1: a learner that has not found which token "
        "is to be multiplied with which predicts zero. The title counts on the prompts of the "
        "lines and tables; the curves are of others, on which a learner may lie a little higher "
        "or lower.",
        figures.seated(figure, figures.WIDE),
        data=pd.DataFrame({"step": steps} | {curve.name: curve.y for curve in series}).round(5),
    )


def weights(run: Run, view: View) -> Panel:
    """Draw the implied weights of every learner in the plane of the first two features."""
    snapshot = run.snapshot_at(view)
    prompt = min(view.prompt, run["prompt/y"].shape[1] - 1)
    implied = run["snapshot/implied"][snapshot, :, prompt]  # [learners, d]
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
    distances = np.linalg.norm(implied - run["prompt/w"][:, prompt], axis=1)
    best = learners_of(run)[int(distances.argmin())].short
    return Panel(
        f"{capitalised(best)} is nearest to w*, {number_text(float(distances.min()), 2)} away",
        "The derivative of each learner's answer by the query: the weights that it has found in "
        "this prompt, whatever is inside it. The star is w*, crosses are what can be written down. "
        "Before training all are at random near zero."
        + (" Of more features the first two are drawn." if run.config.d > 2 else ""),
        figures.seated(figure),
        data=pd.DataFrame(
            {"learner": run.names("learners")}
            | {f"w{i + 1}": implied[:, i] for i in range(run.config.d)}
        ).round(5),
    )


def bend(run: Run, view: View) -> Panel:
    """Draw how far every learner's answer is from linear in the query."""
    snapshot = run.snapshot_at(view)
    values = run["snapshot/bend"][snapshot]
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
    straight = int((values < 0.01).sum())
    return Panel(
        f"{straight} of {len(learners)} answer by a straight ⟨ŵ, x⟩",
        "The root mean square of f(x) − ⟨J, x⟩ over that of f(x), with J the derivative of the "
        "answer f by the query x: 0 for a learner whose answer is linear in the query. Norms and "
        "gates bend it.",
        figures.seated(figure),
        data=pd.DataFrame({"learner": run.names("learners"), "bend": values}).round(5),
    )


def _initials(label: str) -> str:
    """Return a label short enough to stand under one of twelve bars."""
    first, _, number = label.partition(" ")
    short = first if len(first) <= 6 else f"{first[:4]}."
    return f"{short}{number}" if number.isdigit() else short
