"""How the student comes to agree with its teacher."""

import numpy as np
from icl_core.papers.toy.walk.settings import View
from icl_core.papers.toy.walk.words import WORDS

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure, Trace
from icl_core.figures.style import axis, layout


def loss(run: Run, view: View) -> Panel:
    """Draw the loss over training, of a run that may still be going."""
    line = figures.Curve("loss", run["curve/step"], run["curve/loss"])
    at = run.step(view) if run.snapshot_steps else None
    figure = figures.curves([line], "training step", "loss", log_y=True, at=at)
    return WORDS.panel("loss", run, view, figures.seated(figure))


def weights(run: Run, view: View) -> Panel:
    """Draw the weights at the step shown beside the teacher's: two bars an input, on one scale for
    all steps."""
    seed = min(view.seed_shown, run.config.seeds - 1)
    students = run["snapshot/weights"][:, seed]  # [snapshots, d]
    teacher = run["final/teacher"][seed]
    limit = 1.05 * float(np.abs([*students, teacher]).max())
    student = students[run.snapshot_at(view)]
    traces = [_bars(student, "student", "trained"), _bars(teacher, "teacher", "floor")]
    axes = {"xaxis": axis("input"), "yaxis": axis("weight", range=[-limit, limit])}
    figure = Figure(traces, layout(figures.SEAT, **axes))
    return WORDS.panel("weights", run, view, figures.seated(figure))


def _bars(values: np.ndarray, name: str, kind: str) -> Trace:
    inputs = np.arange(1, len(values) + 1)
    return Trace("bar", x=inputs, y=values, name=name, marker={"color": figures.colour(kind)})


def spread(run: Run, view: View) -> Panel:
    """Draw what is left between every seed's student and its teacher at the end."""
    left = np.abs(run["final/weights"] - run["final/teacher"]).max(1)
    names = [f"seed {run.config.seed + index}" for index in range(len(left))]
    return WORDS.panel("spread", run, view, figures.bars(names, left, "largest error"))
