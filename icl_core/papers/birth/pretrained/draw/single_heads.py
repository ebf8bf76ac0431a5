"""One head at a time: what is lost without it, beside how much it looks; and how far back it finds
what followed."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import CannotDraw, Panel, Run
from icl_core.contract.figure import Figure, Trace
from icl_core.figures import Curve
from icl_core.figures.series import axis_range, extent
from icl_core.figures.style import axis, colour, layout, legend
from icl_core.papers.birth.pretrained.load_run import (
    FOLLOWED,
    half_losses,
    looking_head,
    losses_alone,
    needed_head,
    place_of,
    roles,
    scores,
    sees_all,
)
from icl_core.papers.birth.pretrained.settings import AGAIN, View
from icl_core.papers.birth.pretrained.words import WORDS
from icl_core.papers.birth.shared.behaviour import INDUCTION, PREVIOUS

KINDS = {PREVIOUS: "layer 1", INDUCTION: "layer 2"}  # colours of roles


def alone(run: Run, view: View) -> Panel:
    """Draw what the second half costs without each head, against how much the head looks at what
    followed."""
    looks = scores(run, "followers")  # (layers, H)
    costs = losses_alone(run).mean(0)  # (layers, H)
    whole = float(run["alone/whole"][:, 1].mean())
    first = float(run["alone/whole"][:, 0].mean())
    by_head = roles(run)
    places = [place_of(run, name) for name in by_head]
    is_global = sees_all(run)
    frame = pd.DataFrame(
        {
            "head": list(by_head),
            "role": list(by_head.values()),
            "sees all positions": [bool(is_global[layer]) for layer, _ in places],
            "on what followed": [float(looks[place]) for place in places],
            "loss without it": [float(costs[place]) for place in places],
        }
    )
    lines = [("all heads", whole, "floor"), ("first half", first, "seed")]
    top = max(float(costs.max()), first)
    needed = needed_head(run)
    most = looking_head(run)
    limits = (min(0.0, float(costs.min())), 1.12 * top)
    figure = _dots(frame, {needed, most}, limits, lines)
    return WORDS.panel(
        "alone",
        run,
        view,
        figures.seated(figure),
        data=frame,
        needed=needed,
        without_needed=costs[place_of(run, needed)],
        most=most,
        without_most=costs[place_of(run, most)],
        with_all=whole,
    )


def _dots(
    frame: pd.DataFrame,
    named: set[str],
    limits: tuple[float, float],
    lines: list[tuple[str, float, str]],
) -> Figure:
    """Return a dot for every head, coloured by its role, hollow where it sees a window alone. The
    ids of the heads `named` stand beside theirs."""
    figure = Figure(layout=layout(figures.SEAT, {"t": 38, "b": 56}, legend=legend(1.1)))
    shown_roles = frame["role"].where(frame["role"].isin(KINDS), "other")
    middle = frame["on what followed"].max() / 2
    for role, part in frame.groupby(shown_roles, sort=False):
        hollow = ~part["sees all positions"]
        figure.add_trace(
            Trace(
                x=part["on what followed"].tolist(),
                y=part["loss without it"].tolist(),
                text=[head if head in named else "" for head in part["head"]],
                customdata=part["head"].tolist(),
                mode="markers+text",
                # towards the middle of the plot, where there is room
                textposition=[
                    "middle left" if looks > middle else "middle right"
                    for looks in part["on what followed"]
                ],
                name=str(role),
                marker={
                    "size": 9,
                    "color": colour(KINDS.get(str(role), "seed")),
                    "symbol": ["circle-open" if each else "circle" for each in hollow],
                },
                hovertemplate="head %{customdata}: %{y:.3g} nats, looks %{x:.0%}",
            )
        )
    across = figures.references(lines, limits=limits)
    looks = extent([frame["on what followed"].to_numpy()], False, 0.1)
    return figure.update_layout(
        xaxis=axis("attention on what followed", **axis_range(looks, False)),
        yaxis=axis("loss without it, second half", **axis_range(limits, False)),
        shapes=across["shapes"],
        annotations=across["annotations"],
        showlegend=True,
    )


def losses_by_distance(run: Run, view: View) -> Panel:
    """Draw what a repeat costs against how far back it was said first."""
    distances = _distances(run)
    losses = run["distance/loss"]  # (draws, distances)
    first = float(half_losses(run)[0].mean())
    figure = figures.curves(
        [Curve("said again", distances, losses, "layer 2", band="minmax", markers=True)],
        "positions since the first time",
        "loss in nats",
        log_x=True,
        y_range=(0, 1.15 * max(first, float(losses.max()))),
        lines=[("the first time", first, "seed")],
        marks=_window_marks(run),
    )
    means = losses.mean(0)
    # where as many tokens are said again as at the largest distance
    nearest = int(np.argmax(distances >= min(AGAIN, distances[-1])))
    return WORDS.panel(
        "losses_by_distance",
        run,
        view,
        figure,
        data=pd.DataFrame(losses.T, distances).rename_axis("positions"),
        are_several=distances[nearest] < distances[-1],
        nearest=distances[nearest],
        at_nearest=means[nearest],
        furthest=distances[-1],
        at_furthest=means[-1],
    )


def heads_by_distance(run: Run, view: View) -> Panel:
    """Draw how much the strongest heads look at what followed, against how far back that is."""
    distances = _distances(run)
    heads = run.names("strongest")[:FOLLOWED]
    is_global = sees_all(run)
    series = []
    for number, name in enumerate(heads):
        layer, head = place_of(run, name)
        looks = run["distance/followers"][:, :, layer, head]  # (draws, distances)
        dash = "solid" if is_global[layer] else "dot"
        series.append(Curve(name, distances, looks, f"layer {number + 1}", dash, markers=True))
    figure = figures.curves(
        series,
        "positions since the first time",
        "attention on what followed",
        log_x=True,
        y_range=(0, 1.05),
        marks=_window_marks(run),
    )
    table = pd.DataFrame({curve.name: curve.mean() for curve in series}, distances)
    return WORDS.panel(
        "heads_by_distance",
        run,
        view,
        figure,
        data=table.rename_axis("positions"),
        strongest=len(heads),
        in_global=sum(bool(is_global[place_of(run, name)[0]]) for name in heads),
        local_heads=", ".join(name for name in heads if not is_global[place_of(run, name)[0]]),
    )


def _distances(run: Run) -> np.ndarray:
    """Return the distances at which a repeat was measured. `CannotDraw` if there was no room."""
    distances = run["distance/tokens"]
    if not len(distances):
        raise CannotDraw("this model has no room for repeats at a distance")
    return distances


def _window_marks(run: Run) -> list[tuple[float, str, str]]:
    """Return the edges of the windows, as marks."""
    windows = {int(each) for each in run.tensors.get("layers/window", ()) if each}
    return [(window, f"window, {window}", "floor") for window in sorted(windows)]
