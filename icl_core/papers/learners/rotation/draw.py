"""What is left after each layer where Σ is known and where it is not, and why."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.figures import Curve
from icl_core.papers.learners.rotation.settings import View
from icl_core.papers.learners.rotation.words import WORDS, layer_shown

LEAST = 1e-4  # the lower end of the axis of shares
STYLES = {
    "descent": ("gradient descent", "gradient descent"),
    "floor": ("best fixed steps", "floor"),
    "conjugate": ("CG", "conjugate gradient"),
}
TITLES = {"fixed": "Σ known", "rotated": "rotated"}


def _by_layer(run: Run, view: View, case: str) -> Panel:
    """Draw what methods leave after each layer in one case."""
    x = np.arange(run.config.layers + 1)
    series = [
        Curve(
            STYLES[method][0],
            x,
            np.clip(run[f"share/{method}/{case}"][:, 0], LEAST, None),
            STYLES[method][1],
            error=run[f"share/{method}/{case}"][:, 1],
        )
        for method in run.names("methods")
    ]
    figure = figures.curves(
        series,
        "layers",
        "share left",
        log_y=True,
        y_range=(LEAST, 1.3),
        at=layer_shown(run, view),
        height=figures.SEAT,
    )
    if case == "rotated":  # the panel beside it has the names
        for trace in figure.data:
            trace.update(showlegend=False)
    data = pd.DataFrame({"layers": x} | {curve.name: curve.y for curve in series})
    return WORDS.panel(case, run, view, figures.seated(figure), data=data.round(6))


def fixed(run: Run, view: View) -> Panel:
    """Draw what methods leave where Σ is known."""
    return _by_layer(run, view, "fixed")


def rotated(run: Run, view: View) -> Panel:
    """Draw what methods leave where every prompt is rotated."""
    return _by_layer(run, view, "rotated")


def lead(run: Run, view: View) -> Panel:
    """Draw how many times less fixed steps leave than plain conjugate gradient, in both cases."""
    layer = layer_shown(run, view)
    x = np.arange(1, run.config.layers + 1)
    conjugate = np.clip(run["share/conjugate/rotated"][1:, 0], 1e-12, None)
    series = [
        Curve(
            f"best fixed steps, {TITLES[case]}",
            x,
            np.clip(conjugate / run[f"share/floor/{case}"][1:, 0], 1e-3, 1e3),
            kind,
            markers=True,
        )
        for case, kind in (("fixed", "trained"), ("rotated", "layer 8"))
    ]
    figure = figures.curves(
        series,
        "layers",
        "CG over steps",
        log_y=True,
        y_range=(0.01, 10.0),
        lines=[("as good as CG", 1.0, "conjugate gradient")],
        at=layer,
        height=figures.SEAT,
    )
    data = pd.DataFrame({"layers": x} | {curve.name: curve.y for curve in series})
    times_fixed, times_rotated = (float(curve.y[layer - 1]) for curve in series)
    return WORDS.panel(
        "lead",
        run,
        view,
        figures.seated(figure),
        data=data.round(5),
        times_fixed=times_fixed,
        times_rotated=times_rotated,
    )


def kept(run: Run, view: View) -> Panel:
    """Draw what the best fixed steps keep at every eigenvalue, over the eigenvalues of S."""
    layer = layer_shown(run, view)
    series = [
        Curve(
            TITLES[case], run[f"polynomial/at/{case}"], run[f"polynomial/{case}"][layer - 1], kind
        )
        for case, kind in (("fixed", "trained"), ("rotated", "layer 8"))
    ]
    end = max(float(curve.x[-1]) for curve in series)
    figure = figures.curves(
        series,
        "eigenvalue λ of S",
        "kept of w*",
        x_range=(0.0, end),
        y_range=(-0.1, 1.5),
        lines=[("right", 1.0, "floor")],
        height=figures.SEAT,
    )
    for offset, (case, kind) in enumerate((("fixed", "trained"), ("rotated", "layer 8"))):
        values = run[f"eigenvalues/{case}"].ravel()[:400]
        ticks = {"symbol": "line-ns-open", "size": 7, "color": figures.colour(kind), "opacity": 0.4}
        figure.add_scatter(
            x=values,
            y=np.full(len(values), -0.02 - 0.05 * offset),
            mode="markers",
            marker=ticks,
            showlegend=False,
            hoverinfo="skip",
            name=f"eigenvalues, {TITLES[case]}",
        )
    data = pd.DataFrame(
        {"λ, Σ known": series[0].x, "kept, Σ known": series[0].y, "λ": series[1].x}
        | {"kept, rotated": series[1].y}
    )
    least_with, least_without = (
        float(np.quantile(run[f"eigenvalues/{case}"], 0.02)) for case in ("fixed", "rotated")
    )
    return WORDS.panel(
        "kept",
        run,
        view,
        figures.seated(figure),
        data=data.round(5),
        least_with=least_with,
        least_without=least_without,
    )


def conditions(run: Run, view: View) -> Panel:
    """Draw what is left against the condition number of Σ."""
    layer = layer_shown(run, view)
    at = run["sweep/at"]
    series = [
        Curve(
            f"{STYLES[method][0]}, {TITLES[case]}",
            at,
            np.clip(run[f"sweep/{method}/{case}"][:, layer], LEAST, None),
            kind,
            dash,
        )
        for method, case, kind, dash in (
            ("floor", "fixed", "trained", "solid"),
            ("floor", "rotated", "layer 8", "solid"),
            ("conjugate", "rotated", "conjugate gradient", "solid"),
        )
    ]
    figure = figures.curves(
        series,
        "condition number of Σ",
        "share left",
        log_x=True,
        log_y=True,
        y_range=(LEAST, 1.3),
    )
    data = pd.DataFrame({"condition": at} | {curve.name: curve.y for curve in series})
    return WORDS.panel(
        "conditions",
        run,
        view,
        figure,
        data=data.round(6),
        largest=at[-1],
        left=float(series[1].y[-1]),
    )
