"""Loss against the number of examples and of dimensions (Figures 1 C and 2 C)."""

from typing import Any

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.figures import Curve, mean_of
from icl_core.figures.style import TICKS
from icl_core.papers.gdssm.shared import closed_forms, construction, train
from icl_core.papers.gdssm.sizes.settings import BASE, layer_of, sizes_of
from icl_core.papers.gdssm.sizes.words import WORDS


def pairs(run: Run, view: Any) -> Panel:
    """Draw the loss against N at f = 10."""
    return _against(run, view, "N", "context pairs, N")


def features(run: Run, view: Any) -> Panel:
    """Draw the loss against f at N = 10."""
    return _against(run, view, "f", "features, f")


def gaps(run: Run, view: Any) -> Panel:
    """Draw how far every size is from the closed form, in percent."""
    away = 100 * np.abs(run["evaluated/ratio"] - 1).max(0)
    labels = [f"f = {f}, N = {N}" for f, N in zip(run["size/f"], run["size/N"], strict=True)]
    short = [label.replace(", ", "<br>").replace(" ", "") for label in labels]
    figure = figures.bars(
        short, away.tolist(), "gap, percent", lines=[("1%", 1.0, "floor")], text="none"
    )
    for index, value in enumerate(away):
        text = {
            "text": f"{value:.1g}",
            "font": {"size": TICKS},
            "textangle": -90 if len(away) > 7 else 0,
        }
        figure.add_annotation(x=index, y=value, showarrow=False, yanchor="bottom", **text)
    farthest = int(away.argmax())
    data = pd.DataFrame({"size": labels, "gap in percent": away.round(4)})
    off = float(away[farthest] / 100)
    return WORDS.panel("gaps", run, view, figure, data=data, off=off, size=labels[farthest])


def training(run: Run, view: Any) -> Panel:
    """Draw the loss of the first size over its training; also of a run that is still going."""
    f, N = sizes_of(run.config)[0]
    x = np.asarray(run.tensors.get("curve/step", [0]))
    loss = run.tensors.get("curve/loss", np.full((1, len(x)), np.nan))
    tasks = train.held_out(layer_of(run.config, f, N), train.WATCHED)
    lines = [
        ("predicting zero", float(tasks.y[-1].square().mean()) / 2, "floor"),
        ("best step", construction.best_mixture(tasks, 1)[1], "gradient descent"),
    ]
    curve = Curve("trained", x, loss, band="minmax")
    figure = figures.curves([curve], "training step", "loss at the query", lines=lines)
    mean = mean_of(loss)
    data = pd.DataFrame({"step": x, "loss": mean}).round(5)
    return WORDS.panel(
        "training", run, view, figure, data=data, first_f=f, first_N=N, last=float(mean[-1])
    )


def _against(run: Run, view: Any, name: str, title: str) -> Panel:
    """Draw the loss against the sizes `name` of the run; one of the two panels names the lines."""
    at = run["size/f" if name == "N" else "size/N"] == BASE
    order = np.flatnonzero(at)[np.argsort(run[f"size/{name}"][at])]
    x = run[f"size/{name}"][order]
    rows = run["evaluated/scaled"][:, order]
    dense = np.arange(max(1, int(x.min())), int(x.max()) + 1)
    sizes = [(BASE, int(n)) if name == "N" else (int(n), BASE) for n in dense]
    zero = np.array([closed_forms.zero_loss(f) for f, _ in sizes])
    exact = np.array([closed_forms.best_loss(f, N) for f, N in sizes])
    share = zero if view.relative else np.ones_like(zero)
    trained = rows / np.interp(x, dense, share)
    series = [
        Curve("predicting zero", dense, zero / share, "gradient descent"),
        Curve("closed form", dense, exact / share, "floor"),
        Curve("trained", x, trained, band="minmax", markers=True),
    ]
    unit = "share of predicting zero" if view.relative else "loss at the query"
    figure = figures.curves(series, title, unit, y_range=(0, 1.08 * float((zero / share).max())))
    dots = next(trace for trace in figure.data if trace.get("name") == "trained")
    dots.update(mode="markers", marker={"size": 12})  # a line between them would hide the curve
    room = 0.04 * float(np.ptp(x)) or 0.5  # for a dot at either end
    figure.update_xaxes(
        tickvals=x, ticktext=[str(size) for size in x], range=[x.min() - room, x.max() + room]
    )
    away = float(np.abs(run["evaluated/ratio"][:, order] - 1).max())
    panel = "pairs" if name == "N" else "features"
    return WORDS.panel(
        panel,
        run,
        view,
        figures.seated(figure.update_layout(showlegend=name == "N"), figures.HALF),
        data=pd.DataFrame(
            {name: x, "trained": trained.mean(0), "closed form": run["baseline/expected"][order]}
        ),
        least=int(x[0]),
        most=int(x[-1]),
        first=float(trained[:, 0].mean()),
        last=float(trained[:, -1].mean()),
        dots=WORDS.text("dots", off=away),
    )
