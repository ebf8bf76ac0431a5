"""Trained learners beside all that can be written down, their certificates, and their curves."""

import numpy as np
import pandas as pd

from icl_core import figures, registry
from icl_core.contract.experiment import Panel, Run
from icl_core.figures import Curve
from icl_core.figures.style import NONE_TO_ALL, colourscale
from icl_core.papers.learners.trained.draw.marks import DECADES, LARGEST, LEAST, curve_of
from icl_core.papers.learners.trained.load_run import (
    fall,
    is_learning,
    learners_of,
    nearest,
    place,
)
from icl_core.papers.learners.trained.settings import View


def training(run: Run, view: View) -> Panel:
    """Draw the errors of the learners that have been trained so far."""
    steps = np.asarray(run.tensors.get("curve/step", [0]))
    ids = [name.removeprefix("curve/") for name in run.tensors if name.startswith("curve/")]
    every = registry.trained_learners().values()
    trained = [learner for learner in every if learner.id in ids]
    series = [curve_of(learner, steps, run) for learner in trained]
    return Panel(
        f"{len(series)} learners have begun to train",
        "The error on fresh prompts, over that of predicting zero. The learners train one after "
        "the other.",
        figures.curves(
            series or [Curve("none yet", steps, np.full(len(steps), np.nan))],
            "training step",
            "share left",
            log_y=True,
            y_range=(LEAST, LARGEST),
        ),
        data=pd.DataFrame({"step": steps} | {curve.name: curve.y for curve in series}).round(5),
    )


def acts_like(run: Run, view: View) -> Panel:
    """Draw how far every learner's answers are from those of every reference."""
    snapshot = run.snapshot_at(view)
    matrix = run["snapshot/reference"][snapshot]
    names = [learner.short for learner in learners_of(run)]
    references = run.names("references")
    logarithms = np.clip(np.log10(np.clip(matrix, LEAST, None)) + DECADES, 0, DECADES)
    figure = figures.heatmap(logarithms, names, references, "difference", limit=DECADES)
    figure.update_layout(
        coloraxis={
            "cmin": 0,
            "cmax": DECADES,
            "colorscale": colourscale(NONE_TO_ALL),
            "colorbar": {
                "title": {"text": "mean squared difference"},
                "tickvals": list(range(DECADES + 1)),
                "ticktext": ["≤ 10⁻³", "10⁻²", "10⁻¹", "1"],
            },
        }
    )
    gd_ssm = nearest(run, "gd-ssm-1", snapshot)
    return Panel(
        f"At step {run.step(view):,} the GD-SSM acts most like {gd_ssm.name}",
        "Mean squared differences between what a learner and a reference answer to the same "
        "prompts, over the error of predicting zero; pale is near. GD and CG with their number of "
        "steps, ridge with its r, and Bayes.",
        figure,
        data=pd.DataFrame(matrix, columns=references, index=names).reset_index(),
    )


def certificate(run: Run, view: View) -> Panel:
    """Tabulate what every learner is, what it has seen, and whether it was done."""
    seen = run.config.steps * run.config.batch
    rows: list[dict[str, str]] = []
    for learner in learners_of(run):
        like = nearest(run, learner.id, -1)
        index = place(run, learner.id)
        share = run["evaluated/share"][index]
        error = run["evaluated/error"][index]
        badge = " (still learning)" if is_learning(run, learner.id) else ""
        rows.append(
            {
                "learner": learner.name,
                "what it is": learner.about,
                "parameters": f"{int(run['count/parameters'][index]):,}",
                "width": str(learner.width(run.config.d, run.config.n)),
                "tasks seen": f"{seen:,}",
                "left": f"{share:.3f} ± {error:.3f}{badge}",
                "fell in the last tenth": f"{round(100 * fall(run, learner.id))}%",
                "acts most like": f"{like.name}, {like.distance:.3f} ± {like.error:.3f} away",
            }
        )
    done = [learner for learner in learners_of(run) if not is_learning(run, learner.id)]
    best = min(done, key=lambda learner: run["evaluated/share"][place(run, learner.id)])
    return Panel(
        f"Of {len(done)} that are done {best.short} leaves least",
        "All learn from the same distribution with Adam and a rate that falls to zero. A learner "
        "whose error fell by more than 5% in the last tenth of its steps is still learning, and "
        "has no place in a ranking. The width is how many numbers a learner holds for every token; "
        f"2 d + n + 1 = {2 * run.config.d + run.config.n + 1} tell x, y and the position apart.",
        table=pd.DataFrame(rows),
        data=pd.DataFrame(rows),
    )
