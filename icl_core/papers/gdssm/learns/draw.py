"""Final loss over that of one step, against width and against tasks seen."""

from typing import Any

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure
from icl_core.figures import Curve, mean_of
from icl_core.papers.gdssm.learns.claims import curve, place_shown, ratios, widths
from icl_core.papers.gdssm.learns.run import OWN
from icl_core.papers.gdssm.learns.words import WORDS
from icl_core.papers.gdssm.shared.sequence_models import Model
from icl_core.papers.gdssm.shared.sequence_models import model as model_of
from icl_core.papers.gdssm.shared.sequence_models.training_end import levels, watched

MOST = 1.3  # times predicting zero: what lies beyond is not shown


def by_width(run: Run, view: Any) -> Panel:
    """Draw the end of every training, a line a model."""
    x = widths(run)
    models = [model_of(id) for id in run.names("models")]
    series = [
        Curve(
            _label(model),
            x,
            _shown(run, ratios(run, model.id)),
            model.colour,
            model.dash,
            markers=True,
        )
        for model in models
    ]
    figure = _figure(run, series, "width / (2f + N + 1)", models)
    figure.update_xaxes(tickvals=x, ticktext=[f"{width:.2g}" for width in x])
    columns = {
        f"{width:.2g}": [_ratio(ratios(run, model.id)[:, place].mean()) for model in models]
        for place, width in enumerate(x)
    }
    diverged = [model.short for model in models if not np.isfinite(ratios(run, model.id)).all()]
    data = pd.DataFrame({"model": [model.label for model in models]} | columns)
    return WORDS.panel("width", run, view, figure, data=data, diverged=", ".join(diverged))


def by_tasks(run: Run, view: Any) -> Panel:
    """Draw the curves of one width over the tasks seen; also of a run that is still going."""
    zero, one, _ = watched(run)
    x = np.asarray(run.tensors.get("curve/step", [0])) * run.config.batch
    ids = run.names("models") if "names/models" in run.tensors else [OWN]
    curves = {model_of(id): curve(run, id, place_shown(run, view)) for id in ids}
    rows = {model: losses / one for model, losses in curves.items() if losses is not None}
    clipped = {model: np.minimum(y, MOST * zero / one) for model, y in rows.items()}
    series = [Curve(_label(model), x, y, model.colour, model.dash) for model, y in clipped.items()]
    below = [x[mean_of(y) < 0.9 * (zero / one)] for y in rows.values()]
    left = [float(at[0]) for at in below if len(at)]
    first = min(left, default=0.0)
    figure = _figure(
        run, series or [Curve("none yet", x, np.full(len(x), np.nan))], "tasks seen", list(rows)
    )
    means = {model.label: mean_of(y).round(4) for model, y in rows.items()}
    return WORDS.panel(
        "tasks",
        run,
        view,
        figure,
        data=pd.DataFrame({"tasks": x} | means),
        left=len(left),
        drawn=len(rows),
        first=first,
        first_million=first / 1e6 if first >= 1e6 else 0,
    )


def _figure(run: Run, series: list[Curve], title: str, models: list[Model]) -> Figure:
    """Draw the axes and lines of either panel; the models' symbols on what has dots."""
    zero, one, two = levels(run) if run.finished else watched(run)
    lines = [("predicting zero", zero / one, "floor"), ("one step", 1.0, "gradient descent")]
    across = title != "tasks seen"
    lowest = min(
        [two / one, *(float(np.nanmin(line.y)) for line in series if np.isfinite(line.y).any())]
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
    styles = {_label(model): model.marker(10) for model in models} if across else {}
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
