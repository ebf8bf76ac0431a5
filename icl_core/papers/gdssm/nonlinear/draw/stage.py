"""What is on stage: one prompt and the curves through it, the features behind them, the falling
losses."""

from dataclasses import replace
from textwrap import wrap
from typing import Any

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.figures import Curve, mean_of, number_text
from icl_core.papers.gdssm.nonlinear.draw import fits, losses
from icl_core.papers.gdssm.nonlinear.load_run import GRID, example, lines
from icl_core.papers.gdssm.nonlinear.settings import variant
from icl_core.papers.gdssm.shared.load_run import percent, row_of

# the two models that are set against each other
BENT = "mlp gate"
STRAIGHT = "linear gate"
EVERY = 4  # of the grid's points
UNDER = 12  # letters that fit under a bar


def fit(run: Run, view: Any) -> Panel:
    """Draw one prompt, and what the gated models and gradient descent predict at every x."""
    pairs = example(run, view.prompt)
    snapshot = run.snapshot_at(view)
    row = row_of(run, view)
    curves = lines(run, pairs, snapshot, row)
    series = [
        Curve("gradient descent", curves["x"], curves["gradient descent"], "gradient descent"),
        *(
            Curve(variant(id).label, curves["x"], curves[id], variant(id).colour)
            for id in (STRAIGHT, BENT)
            if id in curves
        ),
        Curve("the sine", curves["x"], curves["truth"], "floor"),
    ]
    away = {
        id: number_text(float(np.sqrt(np.mean((curves[id] - curves["truth"]) ** 2))), 2)
        for id in (BENT, STRAIGHT)
    }
    figure = figures.curves(series, "x", "y", y_range=(-0.75, 0.75), height=figures.SEAT)
    figure.data[-1].update(showlegend=False)  # the sine, which is the dotted one on every page
    figure.add_trace(figures.dots(pairs, "examples").update(showlegend=False))
    return Panel(
        f"The MLP embedding is {away[BENT]} off the sine, the linear {away[STRAIGHT]}",
        f"The {run.config.N} dots are the prompt, and every x of the curves is a query. Blue "
        "should follow the dotted sine, as gradient descent on sin x and cos x does (dashed). "
        "Behind a linear embedding, constructed layers draw a line; a gated unit bends it, mostly "
        "towards the mean of all sines.",
        figures.seated(figure, figures.HALF),
        data=pd.DataFrame(curves).round(4),
    )


def features(run: Run, view: Any) -> Panel:
    """Draw the leading directions of an embedding's features, with fewer points and names."""
    panel = fits.features(run, view)
    assert panel.figure is not None and panel.data is not None
    for trace in panel.figure.data:
        trace.update(
            x=np.asarray(trace["x"], np.float32)[::EVERY],
            y=np.asarray(trace["y"], np.float32)[::EVERY],
        )
        trace.update(showlegend=trace.get("name") in ("nearest to sin x", "nearest to cos x"))
    sine, cosine = (np.asarray(panel.data[f"near {name}"]) for name in ("sin", "cos"))
    r2 = [
        number_text(1 - float(((ours - wave) ** 2).sum() / (wave**2).sum()), 2)
        for ours, wave in ((sine, np.sin(GRID)), (cosine, np.cos(GRID)))
    ]
    label = variant(view.features_of).label
    title = f"{label} features hold sin x (R² {r2[0]}), cos x ({r2[1]})"
    return replace(panel, title=title, figure=figures.seated(panel.figure, figures.HALF))


def bars(run: Run, view: Any) -> Panel:
    """Draw a bar for every model, with its loss when the labels in its prompt are zeros."""
    zero, ideal = (float(run[f"baseline/{name}"][0]) for name in ("zero", "ideal"))
    # trained layers have a drawer of their own
    ids = [id for id in run.names("variants") if variant(id).layers != "trained"]
    means, blind = (
        [float(run[f"evaluated/{id}{which}"].mean()) for id in ids] for which in ("", "/blind")
    )
    steps = "one step" if run.config.layers == 1 else f"{run.config.layers} steps"
    levels = [("predicting zero", zero, "floor"), (steps, ideal, "gradient descent")]
    models = [variant(id) for id in ids]
    figure = figures.bars(
        [model.label for model in models],
        means,
        "loss at the end",
        kinds=[model.colour for model in models],
        lines=levels,
        y_range=(0, 1.15 * max(zero, *means, *blind)),
        text="none",
        height=figures.SEAT,
    )
    texts = ["<br>".join(wrap(model.label, UNDER)) for model in models]
    figure.update_xaxes(tickvals=list(range(len(texts))), ticktext=texts, tickangle=0)
    for text in figure.layout["annotations"]:
        text.update(x=0.99, xanchor="right")  # where no bar is as high
    figure.data[0].update(showlegend=False)
    figure.add_trace(losses.diamonds(figure.data[0]["x"], blind)).update_layout(showlegend=True)
    return Panel(
        f"The gated MLP ends at {percent(means[ids.index(BENT)] / zero)} of the loss at zero",
        "A bar is a model's loss. The diamond is its loss with the labels in its prompt hidden "
        "(set to zero), which shows how good it is without its examples. A model that is linear "
        "in the query's x cannot be good at sines, and an MLP on the state is linear in it too. "
        "If the embedding did not matter, all bars would be equal.",
        figures.seated(figure, figures.HALF),
        data=pd.DataFrame(
            {"model": [model.label for model in models], "loss": means, "labels hidden": blind}
        ).round(5),
    )


def training(run: Run, view: Any) -> Panel:
    """Draw the loss of every model over its training, and at the step shown."""
    if not run.finished:
        panel = losses.training(run, view)
        assert panel.figure is not None
        return replace(panel, figure=figures.seated(panel.figure, figures.HALF))
    beside = [id for id in run.names("variants") if variant(id).layers == "trained"]
    panel = losses.training(run, view, beside)  # those have a drawer of their own
    assert panel.figure is not None
    for trace in panel.figure.data:  # the panel beside names these two
        if trace.get("name") in [variant(id).label for id in (BENT, STRAIGHT)]:
            trace.update(showlegend=False)
    ours, theirs = (loss_at_snapshot(run, view, id) for id in (BENT, STRAIGHT))
    return replace(
        panel,
        title=f"The loss is {number_text(ours, 4)} with an MLP embedding, "
        f"{number_text(theirs, 4)} linear",
        figure=figures.seated(panel.figure, figures.HALF),
    )


def loss_at_snapshot(run: Run, view: Any, id: str) -> float:
    """Return a model's loss at the view's snapshot, as the mean over seeds."""
    step = run.step(view)
    return float(mean_of(run[f"curve/{id}"])[np.abs(run["curve/step"] - step).argmin()])
