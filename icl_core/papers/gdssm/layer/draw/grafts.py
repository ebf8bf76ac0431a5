"""Any trained part replaced by its construction, its initial value or zero: the loss and one
prediction, at once."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure
from icl_core.figures.style import PAPER
from icl_core.papers.gdssm.layer.ablation import SIGNS
from icl_core.papers.gdssm.layer.grafted import after, as_trained, held_out, model_shown, wanted
from icl_core.papers.gdssm.layer.settings import PARTS
from icl_core.papers.gdssm.layer.words import WORDS
from icl_core.papers.gdssm.shared import any_layer as models
from icl_core.papers.gdssm.shared import closed_forms
from icl_core.papers.gdssm.shared.load_run import constructed_of


def draw(run: Run, view: Any) -> Panel:
    """Draw the loss before and after the replacements that the view asks for, beside construction
    and zero."""
    shown = model_shown(run, as_trained(view)), model_shown(run, view), constructed_of(run)
    tasks = held_out(run)
    losses = [*after(run, view), float(models.losses(shown[2], tasks)[0])]
    labels = ["trained", "after the graft", "constructed"]
    first = tasks.part(0, 1)
    outputs = [float(models.predict(model, first)[0, 0, 0]) for model in shown]
    return WORDS.panel(
        "graft",
        run,
        view,
        _bars(labels, losses, closed_forms.zero_loss(run.config.f, run.config.r)),
        data=pd.DataFrame({"model": labels, "loss": losses, "prediction": outputs}).round(5),
        replacements=_in_short(wanted(run.config, view)),
        before=losses[0],
        after=losses[1],
        constructed=losses[2],
        label=float(first.y[-1, 0, 0]),
        output_before=outputs[0],
        output_after=outputs[1],
        output_constructed=outputs[2],
        tasks=len(tasks),
    )


def _bars(labels: list[str], losses: list[float], zero: float) -> Figure:
    """Draw a bar for every model, cut off at twice the loss of predicting zero."""
    figure = figures.bars(
        labels,
        [min(value, 2 * zero) for value in losses],
        "loss at the query",
        kinds=["trained", "#7a6fb0", "construction"],
        lines=[("predicting zero", zero, "floor")],
        y_range=(0, min(max(*losses, zero), 2 * zero) * 1.15),
        text="none",
    )
    for name, value in zip(figure.data[0]["x"], losses, strict=True):
        text = f"{value:.4g}" if np.isfinite(value) else "not finite"
        over = {
            "x": name,
            "y": min(value, 2 * zero),
            "yanchor": "bottom",
            "yshift": 2,
            "bgcolor": PAPER,
        }
        figure.add_annotation(text=text, showarrow=False, **over)
    return figure


def _in_short(replacements: Mapping[str, str]) -> str:
    """Return what is replaced by what, as a title has room for it."""
    names = {name: PARTS[how] for name, how in replacements.items()}
    if len(names) > 2 and len(set(names.values())) == 1:
        return f"{len(names)} parts → {next(iter(names.values()))}"
    return ", ".join(f"{SIGNS.get(name, name)} → {word}" for name, word in names.items())
