"""What models leave at every noise, what their layers do there, and what they keep of w*."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.figures import Curve
from icl_core.papers.learners.memory.models import COEFFICIENTS, MEMFORMER, STEPS
from icl_core.papers.learners.memory.settings import View
from icl_core.papers.learners.memory.words import WORDS

LEAST = 0.003  # the ends of the axis of shares
LARGEST = 1.5
NOISE = "noise, % of the labels"
LINES = {
    STEPS: ("steps", "layer 7", "dash"),
    MEMFORMER: ("Memformer", "layer 8", "solid"),
    "all": ("attention", "trained", "solid"),
    "ridge": ("ridge, one r", "construction", "dash"),
    "knowing": ("ridge, right r", "construction", "solid"),
    "bayes": ("Bayes", "floor", "dot"),
}
KINDS = {
    "xx alone": ("w_xx and steps", "layer 2", "solid"),
    "without yy": ("no w_yy", "layer 3", "solid"),
    "without xy": ("no w_xy", "layer 5", "solid"),
    "all": ("all four", "trained", "solid"),
}


def errors(run: Run, view: View) -> Panel:
    """Draw what models and references leave against the noise of a prompt."""
    percents = run["snapshot/step"]
    series = [
        Curve(name, percents, np.clip(run[f"share/{id}"], LEAST, None), kind, dash)
        for id, (name, kind, dash) in LINES.items()
    ]
    figure = figures.curves(
        series,
        NOISE,
        "share left",
        log_y=True,
        y_range=(LEAST, LARGEST),
        at=run.step(view),
        height=figures.SEAT,
    )
    return WORDS.panel(
        "errors",
        run,
        view,
        figures.seated(figure, figures.WIDE),
        data=_by_noise(run, LINES),
        lowest=LEAST,
    )


def triangles(run: Run, view: View) -> Panel:
    """Draw the coefficients of every layer's step on the gradients so far."""
    level = run.snapshot_at(view)
    layers = run.config.layers
    rows = [f"step {layer + 1}" for layer in range(layers)]
    columns = [f"∇{layer + 1}" for layer in range(layers)]
    names = {"all": "attention", "xx alone": "w_xx and steps", MEMFORMER: "Memformer"}
    maps = {name: run[f"triangle/{id}"][level].mean(0) for id, name in names.items()}  # over seeds
    limit = max(figures.largest_magnitude(run[f"triangle/{id}"]) for id in names)
    figure = figures.small_maps(maps, (rows, columns), ("", ""), "coefficient", limit, written=True)
    data = pd.DataFrame(np.hstack(list(maps.values())), index=rows).round(4).reset_index()
    return WORDS.panel("triangles", run, view, figure, data=data)


def kept(run: Run, view: View) -> Panel:
    """Draw the share of w* that is kept against the eigenvalue of S."""
    level = run.snapshot_at(view)
    at = run["eigenvalue"][level]
    series = [
        Curve(f"{name} keeps", at, run[f"kept/{id}"][level], kind, dash)
        for id, (name, kind, dash) in LINES.items()
        if id in ("all", MEMFORMER, "knowing")
    ]
    figure = figures.curves(
        series,
        "eigenvalue λ of S",
        "kept of w*",
        y_range=(0.0, 1.2),
        lines=[("right without noise", 1.0, "floor")],
        height=figures.SEAT,
    )
    end = 1.05 * float(run["eigenvalue"].max())  # the same at every noise
    figure.update_layout(xaxis={"range": [0.0, end]})
    data = pd.DataFrame({"λ": at} | {curve.name: curve.mean() for curve in series}).round(5)
    return WORDS.panel("kept", run, view, figures.seated(figure), data=data)


def products(run: Run, view: View) -> Panel:
    """Draw what attention leaves over Bayes without some of its coefficients."""
    percents = run["snapshot/step"]
    floor = np.clip(run["share/bayes"], LEAST, None)
    series = [
        Curve(name, percents, np.clip(run[f"share/{id}"], LEAST, None) / floor, kind, dash)
        for id, (name, kind, dash) in KINDS.items()
    ]
    figure = figures.curves(
        series,
        NOISE,
        "over Bayes",
        log_y=True,
        y_range=(0.9, max(20.0, 1.2 * max(float(curve.mean().max()) for curve in series))),
        lines=[("as good as Bayes", 1.0, "floor")],
        at=run.step(view),
        height=figures.SEAT,
    )
    return WORDS.panel(
        "products",
        run,
        view,
        figures.seated(figure),
        data=_by_noise(run, KINDS),
        lowest=LEAST,
    )


def coefficients(run: Run, view: View) -> Panel:
    """Draw the four coefficients of every layer of all kinds of attention."""
    values = run["final/coefficients"].mean(1)  # [variants, layers, 4], over seeds
    rows = [str(layer + 1) for layer in range(run.config.layers)]
    columns = [name.removeprefix("w_") for name in COEFFICIENTS]
    maps = {KINDS[id][0]: matrix for id, matrix in zip(run.names("models"), values, strict=False)}
    figure = figures.small_maps(
        maps, (rows, columns), ("layer", ""), "w", figures.largest_magnitude(values), written=True
    )
    table = [
        {"model": name, "layer": row, **dict(zip(COEFFICIENTS, line, strict=True))}
        for name, matrix in maps.items()
        for row, line in zip(rows, matrix, strict=True)
    ]
    return WORDS.panel(
        "coefficients",
        run,
        view,
        figure,
        data=pd.DataFrame(table).round(5),
        first_step=float(-maps["all four"][0, 2]),
    )


def training(run: Run, view: View) -> Panel:
    """Draw what every model leaves of other prompts, of all noises, while it trains."""
    steps = np.asarray(run.tensors.get("curve/step", [0]))
    every = {**LINES, **KINDS, "all": LINES["all"]}
    series = [
        Curve(name, steps, run[f"curve/{id}"], kind, dash)
        for id, (name, kind, dash) in every.items()
        if f"curve/{id}" in run.tensors
    ]
    figure = figures.curves(
        series or [Curve("none yet", steps, np.full(len(steps), np.nan))],
        "training step",
        "share left",
        log_y=True,
        y_range=(LEAST, LARGEST),
    )
    data = pd.DataFrame({"step": steps} | {curve.name: curve.mean() for curve in series})
    return WORDS.panel(
        "training",
        run,
        view,
        figure,
        data=data.round(5),
        models=len(series),
        last=int(steps[-1]),
    )


def _by_noise(run: Run, names: Mapping[str, tuple[str, str, str]]) -> pd.DataFrame:
    """Return what each of some models leaves at every noise, the mean over seeds."""
    shares = {name: np.atleast_2d(run[f"share/{id}"]).mean(0) for id, (name, *_) in names.items()}
    return pd.DataFrame({"noise": run["snapshot/step"]} | shares).round(5)
