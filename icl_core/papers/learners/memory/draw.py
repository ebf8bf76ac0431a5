"""What models leave at every noise, what their layers do there, and what they keep of w*."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.figures import Curve, number_text
from icl_core.papers.learners.memory.metrics import share, total
from icl_core.papers.learners.memory.models import COEFFICIENTS, MEMFORMER, STEPS
from icl_core.papers.learners.memory.settings import View

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
    level = run.snapshot_at(view)
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
    attention, memformer = (number_text(share(run, id, level), 3) for id in ("all", MEMFORMER))
    return Panel(
        f"Noise {run.step(view)}%: attention {attention} is left, Memformer {memformer}",
        "The error over that of predicting zero, on prompts of each noise, of models that were "
        "trained on all of them. Ridge with one r is good where its r is right; ridge that knows "
        "every prompt's noise is always right. Attention on all of a token comes near it from a "
        "third of the labels' size on; steps and the Memformer, with the same coefficients for "
        f"every prompt, cannot. Shares below {LEAST:g} are drawn there.",
        figures.seated(figure, figures.WIDE),
        data=_by_noise(run, LINES),
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
    last = number_text(float(maps["attention"][-1, -1]), 2)
    explained = float(run["explained/all"][level].min())
    return Panel(
        f"The last step is {last} at noise {run.step(view)}%",
        "Row by row how far a layer steps along the gradients at the weights before each layer so "
        "far: the diagonal is gradient descent, what stands left of it is memory. The Memformer's "
        "triangle is its own and never changes. Attention keeps no past gradients by design; what "
        f"its answers amount to is fitted (at least {number_text(explained, 2)} of every step). "
        "A model that only moves x has no noise to go by, and its fitted triangle changes too: "
        "compare.",
        figures.small_maps(maps, (rows, columns), ("", ""), "coefficient", limit, written=True),
        data=pd.DataFrame(np.hstack(list(maps.values())), index=rows).round(4).reset_index(),
    )


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
    weakest = {curve.name: float(curve.mean()[0]) for curve in series}
    attention, ridge = (
        number_text(weakest[f"{name} keeps"], 2) for name in ("attention", "ridge, right r")
    )
    return Panel(
        f"Weakest: attention has {attention}",
        "How much of w* is kept along directions in which the pairs vary little (left) and much. "
        "Ridge that knows the noise keeps all without noise, and gives up the weak directions "
        "first as noise grows. Attention bends the same way. The Memformer's curve stays. The "
        f"title is about the weakest direction, of which ridge that knows keeps {ridge} here.",
        figures.seated(figure),
        data=pd.DataFrame({"λ": at} | {curve.name: curve.mean() for curve in series}).round(5),
    )


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
    alone, every = (
        number_text(float(total(run, id).mean() / total(run, "bayes")), 2)
        for id in ("xx alone", "all")
    )
    return Panel(
        f"Over all, all four have {every} ×",
        "Attention with some of its coefficients held at zero, at each noise over Bayes, who "
        "weighs all noises: at one noise a model may leave less, over all none does. With w_xx and "
        "the step alone x becomes x + w_xx S x, a faster method but the same for every prompt, and "
        f"over all noises {alone} times what Bayes leaves. w_yy multiplies labels by 1/n ∑ y², "
        "w_xy moves x by y: either reads the size of the labels. Where Bayes leaves less than "
        f"{LEAST:g} the ratio is to that.",
        figures.seated(figure),
        data=_by_noise(run, KINDS),
    )


def coefficients(run: Run, view: View) -> Panel:
    """Draw the four coefficients of every layer of all kinds of attention."""
    values = run["final/coefficients"].mean(1)  # [variants, layers, 4], over seeds
    rows = [str(layer + 1) for layer in range(run.config.layers)]
    columns = [name.removeprefix("w_") for name in COEFFICIENTS]
    maps = {KINDS[id][0]: matrix for id, matrix in zip(run.names("models"), values, strict=False)}
    step = number_text(float(-maps["all four"][0, 2]), 2)
    return Panel(
        f"The first layer steps {step} along the gradient",
        "What each layer of attention has learned: minus w_yx is the length of its step; w_xx "
        "moves x by S, and flattens it where it is negative; w_xy and w_yy multiply by labels, "
        "whose size over all prompts is 1 here. In the last layer w_xx and w_xy do not touch the "
        "answer and stay where they began. Means over seeds.",
        figures.small_maps(
            maps, (rows, columns), ("layer", ""), "w", figures.largest_magnitude(values),
            written=True,
        ),
        data=pd.DataFrame(
            [
                {"model": name, "layer": row, **dict(zip(COEFFICIENTS, line, strict=True))}
                for name, matrix in maps.items()
                for row, line in zip(rows, matrix, strict=True)
            ]
        ).round(5),
    )  # fmt: skip


def training(run: Run, view: View) -> Panel:
    """Draw what every model leaves of other prompts, of all noises, while it trains."""
    steps = np.asarray(run.tensors.get("curve/step", [0]))
    every = {**LINES, **KINDS, "all": LINES["all"]}
    series = [
        Curve(name, steps, run[f"curve/{id}"], kind, dash)
        for id, (name, kind, dash) in every.items()
        if f"curve/{id}" in run.tensors
    ]
    return Panel(
        f"{len(series)} models, {int(steps[-1]):,} steps",
        "The error over that of predicting zero, on 2,000 other prompts of all noises.",
        figures.curves(
            series or [Curve("none yet", steps, np.full(len(steps), np.nan))],
            "training step",
            "share left",
            log_y=True,
            y_range=(LEAST, LARGEST),
        ),
        data=pd.DataFrame({"step": steps} | {curve.name: curve.mean() for curve in series}).round(
            5
        ),
    )


def _by_noise(run: Run, names: Mapping[str, tuple[str, str, str]]) -> pd.DataFrame:
    """Return what each of some models leaves at every noise, the mean over seeds."""
    shares = {name: np.atleast_2d(run[f"share/{id}"]).mean(0) for id, (name, *_) in names.items()}
    return pd.DataFrame({"noise": run["snapshot/step"]} | shares).round(5)
