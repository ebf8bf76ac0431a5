"""Heads on a Gaussian mixture as what they are: polynomials in S, a prompt's mean square, and where
S lies."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.figures import Curve
from icl_core.papers.memformers.mixture.draw.losses import ADAPTED, GATED, LINEAR, style_of
from icl_core.papers.memformers.mixture.settings import View, mixture_of
from icl_core.papers.memformers.shared.draw.losses import roomy

SHAPES = (LINEAR, GATED, ADAPTED, "linear/mixture")


def polynomials_panel(run: Run, view: View) -> Panel:
    """Draw what is left of w* as a function of S, over where S lies."""
    seed = min(view.seed_shown, run.config.seeds) - 1
    x = run["shape/at"]
    shapes = {
        style_of(method): run[f"shape/{method}"][seed]
        for method in SHAPES
        if f"shape/{method}" in run.tensors
    }
    series = [
        Curve(name, x, np.maximum(shape, 1e-5), kind, dash)
        for (name, kind, dash), shape in shapes.items()
    ]
    at = run["density/at"]
    density = run["density/S"][-1]
    figure = figures.curves(
        [
            *series,
            Curve(
                "how often S is there", at, np.maximum(density, 1e-5), "gradient descent", "solid"
            ),
        ],
        "S / E x² of the mixture",
        "part of w* left",
        log_y=True,
        x_range=(0.0, 3.0),
        y_range=(1e-4, 30.0),
        height=430,
    )
    outside = density < 0.01 * density.max()
    inside = (x >= at[~outside][0]) & (x <= at[~outside][-1])
    worst = float(max((shape[inside].max(initial=0.0) for shape in shapes.values()), default=0.0))
    return Panel(
        f"Where prompts lie, at most {worst:.2g} of w* is left; elsewhere it may be anything",
        f"S is the mean of x² over a prompt's examples. What a model of {run.config.layers} layers "
        "leaves of w* is a polynomial of S that is 1 at S = 0; at each zero it solves the prompt. "
        "Each line should stay low under the grey hill. A model that overfits has its zeros where "
        "its own prompts were, and rises too early at the hill's edges.",
        roomy(figure),
        data=pd.DataFrame(
            {"S / E x²": x} | {name: shape for (name, *_), shape in shapes.items()}
        ).round(6),
    )


def spread(run: Run, view: View) -> Panel:
    """Draw the distribution of S for prompts of each component and of the mixture."""
    at = run["density/at"]
    density = run["density/S"]
    mixture = mixture_of(run.config)
    names = [*mixture.names, "mixture"]
    kinds = [*(f"layer {i + 1}" for i in range(len(mixture.names))), "conjugate gradient"]
    series = [
        Curve(name, at, each, kind) for name, each, kind in zip(names, density, kinds, strict=True)
    ]
    places = at[(density > 0.01 * density.max(1, keepdims=True)).any(0)]
    figure = figures.curves(
        series,
        "S / E x² of the mixture",
        "density",
        x_range=(0.0, float(places.max()) * 1.05),
        y_range=(0.0, float(density.max()) * 1.05),
    )
    # S is a mean of n squares
    every = [*mixture.components, mixture]
    relative = np.array(
        [(max(each.fourth / each.second**2 - 1, 0) / run.config.n) ** 0.5 for each in every]
    )
    most = (
        f"{names[int(relative[:-1].argmin())]} is spread by {relative[:-1].min():.0%} of its mean"
    )
    return Panel(
        f"S of a mixed prompt is spread by {relative[-1]:.0%} of its mean; {most}",
        "S is the mean of x² over a prompt's examples; each curve says how often it is met. A "
        "head learns zeros under its own curve. A gate can move one curve onto another. It cannot "
        "help where they differ in width, relative to their mean: the zeros are then too close, "
        "or too far apart. If one polynomial were to serve all, all curves would coincide.",
        roomy(figure),
        data=pd.DataFrame({"S / E x²": at} | dict(zip(names, density, strict=True))).round(5),
    )
