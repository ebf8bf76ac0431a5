"""The loss on tasks of another scale than those trained on (Figures 1 D and 2 D)."""

from typing import Any

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.experiment import Panel, Run
from icl_core.figures import Curve
from icl_core.papers.gdssm.inspection import percent, written
from icl_core.papers.gdssm.metrics import off_closed_form, worse_than_zero

COARSE = 200  # points of the closed form's line


def draw(run: Run, view: Any) -> Panel:
    """Loss against the test scale: trained and constructed, with the closed form drawn through."""
    alpha, one = run["scale/alpha"], run.config.layers == 1
    rows = {name: run[f"scale/{name}"] for name in ("trained", "constructed", "closed", "zero")}
    series = [
        Curve("constructed", alpha, rows["constructed"], "construction"),
        Curve("trained", alpha, rows["trained"], markers=True),
        Curve("predicting zero", alpha, rows["zero"], "gradient descent"),
    ]
    if np.isfinite(rows["closed"]).all():
        series.append(Curve("closed form", alpha, rows["closed"], "floor"))
    figure = figures.curves(
        series,
        "test scale α",
        "loss at the query",
        log_x=True,
        log_y=True,
        marks=[(1.0, "trained here", "trained"), *([(2**0.5, "α = √2", "floor")] if one else [])],
    )
    figure.update_xaxes(tickvals=[0.1, 0.3, 1, 3], ticktext=["0.1", "0.3", "1", "3"])
    return Panel(
        _title(run),
        "The finished model on tasks whose x is α times as large as in training. Trained, constructed and the closed "
        "form should be one line: the model's rate was learned for α = 1 and stays, so for larger x its step is too "
        "long"
        + (", and from √2 on it is worse than predicting zero." if one else ".")
        + " A model that solved the regression would run parallel to the dashed line, for the task only grows.",
        figure,
        data=pd.DataFrame({"alpha": alpha} | {n: r.mean(0) if r.ndim > 1 else r for n, r in rows.items()}).round(5),
    )


def _title(run: Run) -> str:
    cross = worse_than_zero(run)
    if not np.isfinite(run["scale/closed"]).all():
        return f"Beyond {written(cross, 2)} times its scale the trained model is worse than predicting zero"
    away = percent(off_closed_form(run))
    worse = f"worse than zero beyond α = {written(cross, 2)}" if np.isfinite(cross) else "never worse than zero"
    return f"At every scale within {away} of the closed form; {worse}"
