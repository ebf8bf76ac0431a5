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
from icl_core.papers.birth.laboratory.words import WORDS
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
    return WORDS.panel(
        "near",
        run,
        view,
        figures.seated(figure),
        data=pd.DataFrame({"inner product": middle, "normal": bell}).round(4),
        within=within,
        nearness=0 if within > 0.4 else 1 if within > 0.2 else 2,
    )


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
    data = pd.DataFrame({"d": widths} | {curve.name: curve.mean() for curve in series}).round(5)
    return WORDS.panel("spread", run, view, figure, data=data)


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
    data = pd.DataFrame({"d": widths} | {curve.name: curve.mean() for curve in series}).round(5)
    return WORDS.panel("norms", run, view, figure, data=data, remapped=remapped)
