"""Tasks until predicting zero is left, against f, and the curves of one f."""

from typing import Any

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Trace
from icl_core.figures import Curve, mean_of
from icl_core.figures.style import colour
from icl_core.papers.gdssm.plateau.claims import at_least, budget, curve, label, middle, size_shown
from icl_core.papers.gdssm.plateau.settings import sizes
from icl_core.papers.gdssm.plateau.words import WORDS
from icl_core.papers.gdssm.shared.sequence_models import model
from icl_core.papers.gdssm.shared.sequence_models.training_end import LEFT

COLOURS = {
    "paper": "gradient descent",
    "curriculum": "momentum",
    "dense": "layer 2",
    "both": "trained",
}
TICKS = [digit * 10**power for power in range(8) for digit in (1, 2, 5)]  # of tasks
APART = 0.06  # of f, between the lines of two recipes, which would lie on each other


def until_left(run: Run, view: Any) -> Panel:
    """Draw a line a recipe and model: the tasks until predicting zero is left, against f."""
    x = sizes(run.config)
    most = budget(run)
    series = []
    dots = []
    rows = []
    for id in run.names("models"):
        for place, recipe in enumerate(run.names("recipes")):
            at = np.array(x) + APART * (place - 1.5)
            tasks = middle(run, id, recipe)  # (sizes,)
            series.append(_line(run, id, recipe, at, np.minimum(tasks, most)))
            dots.append(_seeds(recipe, at, at_least(run, id, recipe)))
            dots.append(_arrows(recipe, at[np.isinf(tasks)], most))
            rows.append(
                (model(id).label, label(recipe), *(_tasks_as_text(count, most) for count in tasks))
            )
    lowest = min(float(np.min(trace["y"])) for trace in dots if len(trace["y"]))
    limits = (0.7 * lowest, 1.7 * most)
    figure = figures.curves(
        series,
        "features, f = N",
        "tasks until zero is left",
        log_y=True,
        x_range=(min(x) - 0.3, max(x) + 0.3),
        y_range=limits,
        lines=[("all tasks of a training", most, "floor")],
        height=440,
    )
    figure.add_traces([trace for trace in dots if len(trace["x"])])
    figure.update_xaxes(tickvals=x, ticktext=[str(f) for f in x])
    ticks = [tick for tick in TICKS if limits[0] <= tick <= limits[1]]
    figure.update_yaxes(tickvals=ticks, ticktext=[f"{tick:,}" for tick in ticks])
    columns = ["model", "trained", *(f"f = {f}" for f in x)]
    data = pd.DataFrame(rows, columns=columns)
    return WORDS.panel("until", run, view, figures.seated(figure, figures.HALF), data=data)


def _tasks_as_text(tasks: float, most: int) -> str:
    return f"not within {most:,}" if not np.isfinite(tasks) else f"after {tasks:,.0f}"


def _line(run: Run, id: str, recipe: str, x: np.ndarray, y: np.ndarray) -> Curve:
    several = len(run.names("models")) > 1
    name = f"{model(id).short}, {label(recipe)}" if several else label(recipe)
    dash = model(id).dash if several else "solid"
    return Curve(name, x, y, COLOURS.get(recipe, "floor"), dash, markers=True)


def _seeds(recipe: str, x: np.ndarray, tasks: np.ndarray) -> Trace:
    """Return a dot a seed; `tasks` is [sizes, seeds]."""
    shade = colour(COLOURS.get(recipe, "floor"))
    return Trace(
        x=np.repeat(x, tasks.shape[1]),
        y=tasks.ravel(),
        mode="markers",
        marker={"size": 5, "color": shade, "opacity": 0.6},
        name=f"{label(recipe)}, seeds",
        showlegend=False,
        hovertemplate="%{y:,} tasks<extra></extra>",
    )


def _arrows(recipe: str, x: np.ndarray, most: int) -> Trace:
    """Return where half of the seeds ended on the plateau."""
    look = {"symbol": "triangle-up", "size": 14, "color": colour(COLOURS.get(recipe, "floor"))}
    hover = f"{label(recipe)}: not within {most:,} tasks<extra></extra>"
    where = {"x": x.tolist(), "y": [most] * len(x)}
    return Trace(**where, mode="markers", marker=look, showlegend=False, hovertemplate=hover)


def curves_of_one_size(run: Run, view: Any) -> Panel:
    """Draw the losses of all trainings on one number of features; also of a run that is still
    going."""
    f = size_shown(run, view)
    series = []
    table = {}
    left = 0
    for id in run.names("models") if "names/models" in run.tensors else []:
        for recipe in run.names("recipes"):
            losses_by_task = curve(run, id, recipe, f)
            if losses_by_task is not None:
                tasks, losses = losses_by_task
                line = _line(run, id, recipe, tasks, mean_of(losses))
                series.append(Curve(line.name, line.x, line.y, line.kind, line.dash))
                table[line.name] = line.y
                left += int(np.median(np.nanmin(losses, 1)) < 1 - LEFT)  # half of the seeds
    nothing = Curve("none yet", np.array([0.0, 1.0]), np.full(2, np.nan))
    figure = figures.curves(
        series or [nothing],
        "tasks seen",
        "loss over predicting zero",
        y_range=(0.65, 1.12),
        lines=[("predicting zero", 1.0, "floor"), ("left", 1 - LEFT, "gradient descent")],
        height=440,
    )
    if run.finished:  # the panel beside names the lines
        figure.update_layout(showlegend=False)
    longest = max((len(column) for column in table.values()), default=0)
    padded = {
        name: [*column.round(4), *[np.nan] * (longest - len(column))]
        for name, column in table.items()
    }
    return WORDS.panel(
        "curves",
        run,
        view,
        figures.seated(figure, figures.HALF),
        data=pd.DataFrame(padded),
        left=left,
        trainings=len(series),
    )
