"""Loss against the number of examples and of dimensions (Figures 1 C and 2 C)."""

from typing import Any

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.figures import Curve, mean_of, number_text
from icl_core.figures.style import TICKS
from icl_core.papers.gdssm.shared import closed_forms, construction, train
from icl_core.papers.gdssm.shared.load_run import percent
from icl_core.papers.gdssm.sizes.settings import BASE, layer_of, sizes_of


def pairs(run: Run, view: Any) -> Panel:
    """Draw the loss against N at f = 10."""
    return _against(run, view, "N", "context pairs, N", (
        "With more examples, what the other weights add to each label averages out, and the loss "
        "falls, though slowly: like f / (N + f). A layer that ignored its examples would "
        "stay at predicting zero."
    ), True)  # fmt: skip


def features(run: Run, view: Any) -> Panel:
    """Draw the loss against f at N = 10."""
    return _against(run, view, "f", "features, f", (
        "With more dimensions than examples one step cannot do much. The loss comes closer to "
        "that of predicting zero, which itself grows with f. A layer that had not found the step "
        "would be a blue dot off the curve."
    ), False)  # fmt: skip


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
    return Panel(
        f"The farthest is {percent(away[farthest] / 100)} off, at {labels[farthest]}",
        "How far the loss of the worst seed is from that of the best step of gradient descent on "
        "the same tasks. A size that did not find the step would stand out above the dotted line.",
        figure,
        data=pd.DataFrame({"size": labels, "gap in percent": away.round(4)}),
    )


def training(run: Run, view: Any) -> Panel:
    """Draw the loss of the first size over its training; also of a run that is still going."""
    f, N = sizes_of(run.config)[0]
    x = np.asarray(run.tensors.get("curve/step", [0]))
    loss = run.tensors.get("curve/loss", np.full((1, len(x)), np.nan))
    last = float(mean_of(loss)[-1])
    tasks = train.held_out(layer_of(run.config, f, N), train.WATCHED)
    lines = [
        ("predicting zero", float(tasks.y[-1].square().mean()) / 2, "floor"),
        ("best step", construction.best_mixture(tasks, 1)[1], "gradient descent"),
    ]
    return Panel(
        f"f = {f}, N = {N} {'is at' if not run.finished else 'ends at'} loss {number_text(last)}",
        "The loss of the layer that is trained first, on held-out tasks, with the lines on the "
        "same tasks. It should reach the best step of gradient descent long before the end. A "
        "curve that stays level has not found it.",
        figures.curves(
            [Curve("trained", x, loss, band="minmax")],
            "training step",
            "loss at the query",
            lines=lines,
        ),
        data=pd.DataFrame({"step": x, "loss": mean_of(loss)}).round(5),
    )


def _against(run: Run, view: Any, name: str, title: str, caption: str, named: bool) -> Panel:
    """Draw the loss against the sizes `name` of the run, with the lines `named` or not."""
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
    first, last = (number_text(float(trained[:, end].mean()), 2) for end in (0, -1))
    return Panel(
        f"From {name} = {x[0]} to {x[-1]} the {'share' if view.relative else 'loss'} goes from "
        f"{first} to {last}",
        f"{caption} All are within {percent(away)} of the closed form. To remove what differs by "
        "chance between test tasks, a dot is the closed form times the ratio of trained to "
        "constructed on the same tasks.",
        figures.seated(figure.update_layout(showlegend=named), figures.HALF),
        data=pd.DataFrame(
            {name: x, "trained": trained.mean(0), "closed form": run["baseline/expected"][order]}
        ),
    )
