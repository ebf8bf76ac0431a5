"""Heads on a Gaussian mixture as what they are: polynomials in S, a prompt's mean square, and where
S lies."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Trace
from icl_core.figures import Curve
from icl_core.figures.style import FAINT
from icl_core.papers.memformers.mixture.claims import FIGURES
from icl_core.papers.memformers.mixture.draw.losses import stage_curve, style_of
from icl_core.papers.memformers.mixture.settings import View, mixture_of
from icl_core.papers.memformers.mixture.words import WORDS
from icl_core.papers.memformers.shared.draw.losses import SEAT, fitted, roomy

SHAPES = (*FIGURES, "linear/mixture")
SEEN = (1e-4, 30.0)  # of what is left of w*, on the stage


def shapes(run: Run, view: View) -> Panel:
    """Draw what each method leaves of w*, a polynomial of S, over where S lies."""
    seed = min(view.seed_shown, run.config.seeds) - 1
    x = run["shape/at"]
    left = {method: np.maximum(run[f"shape/{method}"][seed], 1e-5) for method in FIGURES}
    series = [stage_curve(method, x, shape) for method, shape in left.items()]
    at = run["density/at"]
    density = run["density/S"][-1]
    figure = figures.curves(
        series,
        "S / E x²",
        "part of w* left",
        log_y=True,
        x_range=(0.0, 3.0),
        y_range=SEEN,
        height=SEAT,
    )
    for trace in figure.data:  # the panel beside names the methods
        trace.update(showlegend=False)
    figure.data.insert(0, _hill(at, density))
    figure.update_layout(showlegend=True)
    often = at[density > 0.01 * density.max()]
    inside = (x >= often[0]) & (x <= often[-1])
    worst = max(float(shape[inside].max(initial=0.0)) for shape in left.values())
    return WORDS.panel("shapes", run, view, fitted(figure), most_left=worst)


def _hill(at: np.ndarray, density: np.ndarray) -> Trace:
    """Return how often each S is met, as a hill on the foot of the picture: its heights have
    no numbers."""
    height = SEEN[0] * 10 ** (3 * density / density.max())
    shape = {
        "mode": "lines",
        "line": {"width": 0, "color": FAINT},
        "fill": "toself",
        "fillcolor": FAINT,
    }
    x = np.append(at, [at[-1], at[0]])
    y = np.append(height, [SEEN[0], SEEN[0]])
    return Trace(x=x, y=y, name="prompts", hoverinfo="skip", opacity=0.3, **shape)


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
    data = pd.DataFrame({"S / E x²": x} | {name: shape for (name, *_), shape in shapes.items()})
    return WORDS.panel("polynomials", run, view, roomy(figure), data=data.round(6), most_left=worst)


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
    narrowest = int(relative[:-1].argmin())
    data = pd.DataFrame({"S / E x²": at} | dict(zip(names, density, strict=True)))
    return WORDS.panel(
        "spread", run, view, roomy(figure), data=data.round(5), mixed_spread=relative[-1],
        narrowest=names[narrowest], narrowest_spread=relative[narrowest],
    )  # fmt: skip
