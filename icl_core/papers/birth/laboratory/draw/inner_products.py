"""Inner products of random vectors."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure, Trace
from icl_core.figures import Curve
from icl_core.figures.style import axis, layout
from icl_core.papers.birth.laboratory.load_run import at
from icl_core.papers.birth.laboratory.settings import View
from icl_core.papers.birth.shared.draw import GREY

NAMES = {
    "independent": "uᵀv: two vectors",
    "itself": "uᵀu",
    "remapped": "uᵀW₀u: one and its remapping",
    "other": "vᵀW₀u",
}
KINDS = {"independent": "layer 1", "remapped": "layer 4", "other": "layer 3", "itself": "layer 2"}


def near(run: Run, view: View) -> Panel:
    """Draw how inner products are spread at the width shown."""
    d = view.width
    edges = run["axis/bin"]
    middle = (edges[1:] + edges[:-1]) / 2
    figure = Figure(layout=layout(figures.SEAT, bargap=0, barmode="overlay"))
    for name in ("independent", "itself"):
        bars = Trace(
            "bar",
            x=middle,
            y=at(run, f"near/share_{name}", near=d).mean(0),
            name=NAMES[name].split(":")[0],
        )
        bars.update(marker={"color": figures.colour(KINDS[name]), "line": {"width": 0}})
        figure.add_trace(bars.update(hovertemplate="%{x:.2f}: %{y:.1%}<extra></extra>"))
    remapped = {"color": figures.colour(KINDS["remapped"]), "width": 2, "shape": "hvh"}
    outline = at(run, "near/share_remapped", near=d).mean(0)
    figure.add_trace(
        Trace(x=middle, y=outline, mode="lines", name="uᵀW₀u", line=remapped, hoverinfo="skip")
    )
    bell = np.exp(-(middle**2) * d / 2) * np.sqrt(d / (2 * np.pi)) * (edges[1] - edges[0])
    line = {"color": figures.colour("floor"), "width": 2, "dash": "dot"}
    figure.add_trace(
        Trace(x=middle, y=bell, mode="lines", name="N(0, 1/d)", line=line, hoverinfo="skip")
    )
    figure.update_xaxes(axis("inner product", range=[-1, 1.5], showgrid=False))
    figure.update_yaxes(axis("share", range=[0, 1.15 * float(bell.max())], tickformat=".0%"))
    within = float(at(run, "near/within", near=d).mean())
    return Panel(
        f"At d = {d} vectors are {_nearly(within)} orthogonal",
        "Inner products of two random vectors, of a vector with itself, and with its own "
        f"remapping W₀u. Of those of two vectors 95% lie within ±{within:.2f}. Larger "
        "d draws them together around 0, as the dotted N(0, 1/d). If a remapping kept a vector's "
        "direction, the orange line would stand at 1.",
        figures.seated(figure),
        data=pd.DataFrame({"inner product": middle, "normal": bell}).round(4),
    )


def _nearly(within: float) -> str:
    return "hardly" if within > 0.4 else "roughly" if within > 0.2 else "nearly"


def spread(run: Run, view: View) -> Panel:
    """Draw the root mean square of inner products against the width."""
    widths = run["axis/near"]
    series = [Curve("1/√d", widths, 1 / np.sqrt(widths), "floor")]
    for name in run.names("near"):
        label = NAMES.get(name, name)
        kind = KINDS.get(name, GREY)
        series.append(Curve(label, widths, run[f"near/{name}"], kind, markers=True))
    figure = figures.curves(series, "width d", "root mean square", log_x=True, log_y=True)
    figure.update_xaxes(tickvals=widths, ticktext=[str(width) for width in widths])
    root = float(np.mean(at(run, "near/independent", near=view.width)))
    return Panel(
        f"At d = {view.width} an inner product is typically {root:.3f}, and 1/√d is "
        f"{view.width**-0.5:.3f}",
        "Four times as many dimensions halve a typical inner product. Remapped vectors lie on the "
        "same line: a random matrix makes vectors that are as good as new. Without any randomness "
        "to average over the lines would be level.",
        figure,
        data=pd.DataFrame({"d": widths} | {curve.name: curve.mean() for curve in series}).round(5),
    )


def norms(run: Run, view: View) -> Panel:
    """Draw the lengths of vectors and of remapped ones."""
    widths = run["axis/near"]
    series = [
        Curve("u", widths, run["near/norm"], "layer 1", markers=True),
        Curve("remapped, W₀u", widths, run["near/norm_remapped"], "layer 4", markers=True),
    ]
    figure = figures.curves(
        series,
        "width d",
        "mean length",
        log_x=True,
        y_range=(0.8, 1.1),
        lines=[("1", 1.0, "floor")],
    )
    figure.update_xaxes(tickvals=widths, ticktext=[str(width) for width in widths])
    remapped = float(np.mean(at(run, "near/norm_remapped", near=view.width)))
    return Panel(
        f"At d = {view.width} a remapped vector has length {remapped:.2f}",
        "Entries of variance 1/d make vectors of about length 1, and a random matrix with such "
        "entries keeps lengths. If it stretched them, a memory of remapped vectors would need "
        "another scale at each layer.",
        figure,
        data=pd.DataFrame({"d": widths} | {curve.name: curve.mean() for curve in series}).round(5),
    )
