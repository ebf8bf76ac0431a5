"""What is left after each layer where Σ is known and where it is not, and why."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.figures import Curve, number_text, significant
from icl_core.papers.learners.rotation.metrics import share
from icl_core.papers.learners.rotation.settings import View

LEAST = 1e-4  # the lower end of the axis of shares
STYLES = {
    "descent": ("gradient descent", "gradient descent"),
    "floor": ("best fixed steps", "floor"),
    "conjugate": ("CG", "conjugate gradient"),
}
TITLES = {"fixed": "Σ known", "rotated": "rotated"}


def _layer(run: Run, view: View) -> int:
    return min(view.layer, run.config.layers)


def _by_layer(run: Run, view: View, case: str) -> Panel:
    """Draw what methods leave after each layer in one case."""
    layer = _layer(run, view)
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
        at=layer,
        height=figures.SEAT,
    )
    if case == "rotated":  # the panel beside it has the names
        for trace in figure.data:
            trace.update(showlegend=False)
    floor, conjugate = (significant(share(run, f"{of}/{case}", layer), 2) for of in METHODS)
    caption = {
        "fixed": "Σ is the same in every prompt, and every method steps along Σ⁻¹. The best fixed "
        "steps, which a trained linear transformer with memory comes to, begin close to "
        "conjugate gradient and fall behind with every further layer.",
        "rotated": "Every prompt has eigenvectors of its own, so that nothing can be known of them "
        "beforehand. One rate must do for steep and for flat directions. Conjugate gradient reads "
        "them off the prompt, and leaves the others behind.",
    }[case]
    return Panel(
        f"{TITLES[case].capitalize()}: fixed steps have {floor} left, CG {conjugate}",
        caption + " Below the axis' end, 0.0001, lines stay on it.",
        figures.seated(figure),
        data=pd.DataFrame({"layers": x} | {curve.name: curve.y for curve in series}).round(6),
    )


METHODS = ("floor", "conjugate")


def fixed(run: Run, view: View) -> Panel:
    """Draw what methods leave where Σ is known."""
    return _by_layer(run, view, "fixed")


def rotated(run: Run, view: View) -> Panel:
    """Draw what methods leave where every prompt is rotated."""
    return _by_layer(run, view, "rotated")


def lead(run: Run, view: View) -> Panel:
    """Draw how many times less fixed steps leave than plain conjugate gradient, in both cases."""
    layer = _layer(run, view)
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
    ahead, behind = (float(curve.y[layer - 1]) for curve in series)
    return Panel(
        f"What plain CG leaves is {significant(ahead, 2)} × the steps with Σ, "
        f"{significant(behind, 2)} × rotated",
        "How many times more plain conjugate gradient leaves than the best fixed steps: above 1 "
        "the steps lead. With a known Σ they lead for some layers, because they know what "
        "conjugate gradient has to find out. Without they never do.",
        figures.seated(figure),
        data=pd.DataFrame({"layers": x} | {curve.name: curve.y for curve in series}).round(5),
    )


def kept(run: Run, view: View) -> Panel:
    """Draw what the best fixed steps keep at every eigenvalue, over the eigenvalues of S."""
    layer = _layer(run, view)
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
    spread = {
        case: float(np.quantile(run[f"eigenvalues/{case}"], 0.02)) for case in ("fixed", "rotated")
    }
    least = number_text(spread["rotated"], 2)
    return Panel(
        f"Eigenvalues reach {least} without Σ, {number_text(spread['fixed'], 2)} with it",
        "The share of w* that the best fixed steps keep along a direction with eigenvalue λ; 1 is "
        "right. Ticks are eigenvalues of prompts. Divided by Σ they lie around 1, where a "
        "polynomial of few steps can be near 1. Without Σ they reach down to 0, where every "
        "polynomial begins at 0.",
        figures.seated(figure),
        data=pd.DataFrame(
            {"λ, Σ known": series[0].x, "kept, Σ known": series[0].y, "λ": series[1].x}
            | {"kept, rotated": series[1].y}
        ).round(5),
    )


def conditions(run: Run, view: View) -> Panel:
    """Draw what is left against the condition number of Σ."""
    layer = _layer(run, view)
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
    worst = number_text(float(series[1].y[-1]), 2)
    return Panel(
        f"At a condition of {at[-1]:g} rotated steps leave {worst}",
        f"After {layer} layers, for a Σ whose eigenvalues fall from 1 by equal factors. Where Σ is "
        "known its condition makes no difference. Where it is not, fixed steps lose more the more "
        "uneven it is; conjugate gradient loses far less.",
        figure,
        data=pd.DataFrame({"condition": at} | {curve.name: curve.y for curve in series}).round(6),
    )
