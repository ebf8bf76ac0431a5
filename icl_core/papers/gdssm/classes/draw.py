"""The falling cross-entropy, the probabilities of one prompt, and the weights beside their
construction."""

import math
from typing import Any

import numpy as np
import pandas as pd
import torch

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.figures import Curve, mean_of
from icl_core.papers.gdssm.classes import train
from icl_core.papers.gdssm.classes.claims import normalised
from icl_core.papers.gdssm.classes.words import WORDS
from icl_core.papers.gdssm.shared import any_layer as models
from icl_core.papers.gdssm.shared.layer_nd import LayerND

PARTS = ("a", "Q", "q", "beta")
NAMES = ["x", "y", "x⁺"]
LIMIT = 1.5  # of the weights' colours, in units of the leading entry


def training(run: Run, view: Any) -> Panel:
    """Draw the cross-entropy over training, beside one step's; also of a run that is still
    going."""
    x = np.asarray(run.tensors.get("curve/step", [0]))
    loss = run.tensors.get("curve/loss", np.full((run.config.seeds, 1), np.nan))
    guessing = math.log(run.config.K)
    lines = [("guessing", guessing, "floor")]
    series = [Curve("trained", x, loss, band="minmax")]
    for beside in run.tensors.get("watched/constructed", ()):
        series.insert(0, Curve("one step", x[[0, -1]], np.full(2, beside), "construction"))
    figure = figures.curves(
        series,
        "training step",
        "cross-entropy",
        y_range=(0, 1.3 * guessing),
        lines=lines,
        height=figures.SEAT,
    )
    data = pd.DataFrame({"step": x, "trained": mean_of(loss)}).round(5)
    return WORDS.panel("training", run, view, figures.seated(figure, figures.HALF), data=data)


def probabilities(run: Run, view: Any) -> Panel:
    """Draw the probabilities of the classes of one prompt's query, trained and constructed."""
    config = run.config
    prompt = train.sample(config, 1, torch.Generator().manual_seed(2**31 + 1000 + view.prompt))
    trained, constructed = (_model(run, prefix) for prefix in ("final", "constructed"))
    rows = []
    for layer in (trained, constructed):
        logits = models.predict(layer, prompt)[0, :, 0]  # (K,)
        rows.append(logits.softmax(0).numpy())
    right = int(prompt.y[-1, :, 0].argmax())
    counts = prompt.y[:-1, :, 0].sum(0).int().tolist()
    x = np.arange(1, config.K + 1)
    series = [
        Curve("trained", x, rows[0], markers=True),
        Curve("one step", x, rows[1], "construction", markers=True),
    ]
    figure = figures.curves(
        series,
        "class",
        "probability",
        y_range=(0, 1.05),
        lines=[("guessing", 1 / config.K, "floor")],
        height=figures.SEAT,
    )
    texts = [f"{number} (right)" if number == right + 1 else str(number) for number in x]
    figure.update_xaxes(tickvals=x.tolist(), ticktext=texts, range=[0.6, config.K + 0.4])
    for trace in figure.data:
        if trace.get("name") == "trained":
            trace.update(marker={"size": 14}, line={"width": 1})
    columns = {"class": x, "trained": rows[0], "one step": rows[1], "examples": counts}
    return WORDS.panel(
        "probabilities",
        run,
        view,
        figures.seated(figure, figures.HALF),
        data=pd.DataFrame(columns).round(4),
        right_class=float(rows[0][right]),
        right_class_by_step=float(rows[1][right]),
    )


def _model(run: Run, prefix: str) -> LayerND:
    """Return the layer of the first seed."""
    a, Q, q, beta = (torch.tensor(run[f"{prefix}/{name}"][:1]) for name in PARTS)
    return LayerND(a, Q, q, beta, labels=run.config.K)


def weights(run: Run, view: Any) -> Panel:
    """Draw Q and q of the first seed beside the construction, scale and sign normalised away."""
    ours = normalised(run, "final")
    theirs = normalised(run, "constructed")
    learned, constructed = (np.vstack([layer["Q"][0], layer["q"][0]]) for layer in (ours, theirs))
    maps = {"learned": learned, "constructed": constructed, "difference": learned - constructed}
    rows = [*(f"Q {name}" for name in NAMES), "q"]
    figure = figures.small_maps(maps, (rows, NAMES), ("", ""), "entry", LIMIT, written=True)
    return WORDS.panel("weights", run, view, figure)
