"""Final loss over that of one step, against width and against tasks seen."""

from typing import Any

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure
from icl_core.figures import Curve, mean_of
from icl_core.papers.gdssm.learns import load_run
from icl_core.papers.gdssm.learns.load_run import curve, ratios, widths
from icl_core.papers.gdssm.learns.run import OWN
from icl_core.papers.gdssm.learns.settings import SHOWN, settings_of
from icl_core.papers.gdssm.shared.load_run import percent
from icl_core.papers.gdssm.shared.sequence_models import Model, model
from icl_core.papers.gdssm.shared.sequence_models.style import marker
from icl_core.papers.gdssm.shared.sequence_models.training_end import NEAR, levels, watched

MOST = 1.3  # times predicting zero: what lies beyond is not shown


def by_width(run: Run, view: Any) -> Panel:
    """Draw the end of every training, a line a model."""
    x = widths(run)
    models = [model(id) for id in run.names("models")]
    series = [
        Curve(
            _label(each), x, _shown(run, ratios(run, each.id)), each.colour, each.dash, markers=True
        )
        for each in models
    ]
    figure = _figure(run, series, "width / (2f + N + 1)", models)
    figure.update_xaxes(tickvals=x, ticktext=[f"{width:.2g}" for width in x])
    columns = {
        f"{width:.2g}": [_ratio(ratios(run, each.id)[:, place].mean()) for each in models]
        for place, width in enumerate(x)
    }
    return Panel(
        _reached(run),
        "Loss at the end, as a multiple of the loss of one step, on the same fresh tasks. A "
        f"mean over seeds within {percent(NEAR - 1)} of 1 reaches it. Width 1 is about the room "
        "that x, y and the positions need. If a line falls to 1 towards the right, the model "
        "was too narrow; if it levels off above 1, it lacks something else, or tasks."
        + _blind(run)
        + _own(run)
        + _lost(run, models),
        figure,
        data=pd.DataFrame({"model": [each.label for each in models]} | columns),
    )


def _blind(run: Run) -> str:
    """Say which models do not see the size of y. Empty if all do: see `seen` of the comparison."""
    config = run.config
    if config.bias or config.norm == "none":
        return ""
    blind = ("s5", "mamba", "gated-delta") if config.norm == "authors" else ("mamba", "gated-delta")
    names = [model(id).short for id in blind if id in run.names("models")]
    return (
        f" Without a bias in the read-in, hidden from {', '.join(names)}: the size of y."
        if names
        else ""
    )


def by_tasks(run: Run, view: Any) -> Panel:
    """Draw the curves of one width over the tasks seen; also of a run that is still going."""
    place = {"narrowest": 0, "base": load_run.base_place(run), "widest": -1}[view.shown]
    zero, one, _ = watched(run)
    x = np.asarray(run.tensors.get("curve/step", [0])) * run.config.batch
    ids = run.names("models") if "names/models" in run.tensors else [OWN]
    rows = {model(id): losses / one for id in ids if (losses := curve(run, id, place)) is not None}
    clipped = {each: np.minimum(y, MOST * zero / one) for each, y in rows.items()}
    series = [Curve(_label(each), x, y, each.colour, each.dash) for each, y in clipped.items()]
    setting = settings_of(run.config)[place]
    return Panel(
        _left(x, rows, zero / one),
        f"The same trainings at width {setting.hidden}, {setting.hidden / setting.base:.2g} × (2f "
        f"+ N + 1), {SHOWN[view.shown]}, against the fresh tasks that each model has seen. Look "
        "for plateaus: a model that finds the products falls suddenly. One that stays level to the "
        "end may only need more tasks; the paper trains on up to 19 million.",
        _figure(
            run, series or [Curve("none yet", x, np.full(len(x), np.nan))], "tasks seen", list(rows)
        ),
        data=pd.DataFrame(
            {"tasks": x} | {each.label: mean_of(y).round(4) for each, y in rows.items()}
        ),
    )


def _figure(run: Run, series: list[Curve], title: str, models: list[Model]) -> Figure:
    """Draw the axes and lines of either panel; the models' symbols on what has dots."""
    zero, one, two = levels(run) if run.finished else watched(run)
    lines = [("predicting zero", zero / one, "floor"), ("one step", 1.0, "gradient descent")]
    across = title != "tasks seen"
    lowest = min(
        [two / one, *(float(np.nanmin(each.y)) for each in series if np.isfinite(each.y).any())]
    )
    x = widths(run)
    # with room for the dots at both ends
    limits = (0.94 * float(x.min()), 1.06 * float(x.max())) if across else None
    figure = figures.curves(
        series,
        title,
        "loss over one step",
        log_x=across,
        lines=lines,
        x_range=limits,
        y_range=(0.95 * min(1.0, lowest), 1.05 * MOST * zero / one),
        height=440,
    )
    styles = {_label(each): marker(each, 10) for each in models} if across else {}
    for trace in figure.data:
        if trace.get("name") in styles:
            trace.update(marker=styles[trace["name"]])
    if run.finished and not across:  # the panel beside names the models
        figure.update_layout(showlegend=False)
    return figures.seated(figure, figures.HALF)


def _label(model: Model) -> str:
    """Return a model's name in the key."""
    return model.short.replace(" transformer", "").replace(" network", "")


def _shown(run: Run, rows: np.ndarray) -> np.ndarray:
    """Return ratios [seeds, widths] within the panel; a training that diverged leaves a gap, NaN,
    which a mean over the other seeds fills."""
    zero, one, _ = levels(run)
    return np.where(np.isfinite(rows), np.minimum(rows, MOST * zero / one), np.nan)


def _ratio(value: float) -> float | str:
    """Return a ratio as the table has it."""
    return round(float(value), 3) if np.isfinite(value) else "diverged"


def _reached(run: Run) -> str:
    """Say how many reach one step at the narrowest width, and how many at the widest."""
    x = widths(run)
    others = [id for id in run.names("models") if id != OWN]
    near = [sum(ratios(run, id)[:, place].mean() <= NEAR for id in others) for place in (0, -1)]
    if len(x) == 1:
        return f"At width {x[0]:.2g} {near[0]} of {len(others)} models reach one step"
    return (
        f"{near[0]} of {len(others)} models reach one step at width {x[0]:.2g}, {near[1]} at "
        f"{x[-1]:.2g}"
    )


def _left(x: np.ndarray, rows: dict[Model, np.ndarray], zero: float) -> str:
    """Say how many models have left predicting zero, and after how many tasks the first."""
    left = [x[mean_of(y) < 0.9 * zero] for y in rows.values()]
    first = [float(at[0]) for at in left if len(at)]
    if not first:
        return "No model beats predicting zero"
    tasks = f"{min(first):,.0f}" if min(first) < 1e6 else f"{min(first) / 1e6:.3g} million"
    return f"{len(first)} of {len(rows)} beat predicting zero, first at {tasks} tasks"


def _own(run: Run) -> str:
    """Say why the GD-SSM ends where it does, where that is above one step."""
    ratio = float(ratios(run, OWN).mean())
    no_width = " The GD-SSM has no width."
    if not NEAR < ratio < np.inf:
        return no_width
    return (
        f"{no_width} It ends at {ratio:.2f}, which is no defeat: one learning rate, "
        f"{run.config.learning_rate:g}, and {run.config.steps:,} steps do not suit all alike."
    )


def _lost(run: Run, models: list[Model]) -> str:
    """Say which models diverged at some width. Empty if none did."""
    names = [each.short for each in models if not np.isfinite(ratios(run, each.id)).all()]
    return f" Diverged at some width: {', '.join(names)}." if names else ""
