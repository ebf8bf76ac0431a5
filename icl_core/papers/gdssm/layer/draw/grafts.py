"""Any trained part replaced by its construction, its initial value or zero: the loss and one
prediction, at once."""

from typing import Any

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure
from icl_core.figures import number_text
from icl_core.figures.style import PAPER
from icl_core.papers.gdssm.layer import ablation
from icl_core.papers.gdssm.layer.grafted import held_out
from icl_core.papers.gdssm.shared import any_layer as models
from icl_core.papers.gdssm.shared import closed_forms
from icl_core.papers.gdssm.shared.load_run import constructed_of, row_of, trained_at

MANY_LAYERS = (
    " Three and four layers can share the work in many ways, so one part alone may not fit where "
    "all together do."
)


def draw(run: Run, view: Any) -> Panel:
    """Draw the loss before and after the replacements that the view asks for, beside construction
    and zero."""
    snapshot = run.snapshot_at(view)
    row = row_of(run, view)
    trained = trained_at(run, snapshot, row)
    start = trained_at(run, 0, row)
    constructed = constructed_of(run)
    grafted, words = ablation.graft(trained, start, constructed, view, run.config)
    tasks = held_out(run)
    shown = (trained, grafted, constructed)
    losses = [float(models.losses(model, tasks)[0]) for model in shown]
    labels = ["trained", "after the graft", "constructed"]
    first = tasks.part(0, 1)
    outputs = [float(models.predict(model, first)[0, 0, 0]) for model in shown]
    return Panel(
        _title(losses, words),
        "Pick a replacement for a part. If training found the construction, the second bar stays "
        "as high as the first. If a part did nothing, zero in its place would change nothing. "
        "Replace several at once; all of them together make the "
        "construction." + (MANY_LAYERS if run.config.layers > 2 else ""),
        _bars(labels, losses, closed_forms.zero_loss(run.config.f, run.config.r)),
        data=pd.DataFrame({"model": labels, "loss": losses, "prediction": outputs}).round(5),
        note=f"One task, first entry of y {number_text(float(first.y[-1, 0, 0]))}: trained "
        f"predicts {number_text(outputs[0])}, after the graft {number_text(outputs[1])}, the "
        f"construction {number_text(outputs[2])}. {len(tasks):,} held-out tasks; step "
        f"{run.snapshot_steps[snapshot]}, seed {row + 1}.",
    )


def after(run: Run, view: Any) -> tuple[float, float]:
    """Return the loss before and after the replacements that the view asks for."""
    snapshot = run.snapshot_at(view)
    row = row_of(run, view)
    trained = trained_at(run, snapshot, row)
    start = trained_at(run, 0, row)
    grafted, _ = ablation.graft(trained, start, constructed_of(run), view, run.config)
    tasks = held_out(run)
    before, left = (float(models.losses(model, tasks)[0]) for model in (trained, grafted))
    return before, left


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


def _title(losses: list[float], words: dict[str, str]) -> str:
    """Return what is replaced by what, and the loss before and after."""
    if not words:
        return (
            f"Nothing replaced: loss {number_text(losses[0])}; the construction has "
            f"{number_text(losses[2])}"
        )
    parts = ", ".join(f"{ablation.SIGNS.get(name, name)} → {word}" for name, word in words.items())
    if len(words) > 2 and len(set(words.values())) == 1:
        parts = f"{len(words)} parts → {next(iter(words.values()))}"
    return f"{parts}: loss {number_text(losses[0])} → {number_text(losses[1])}"
