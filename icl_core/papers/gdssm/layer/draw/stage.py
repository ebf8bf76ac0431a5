"""What is on stage: the state beside the exact gradient, the weights beside the construction, the
falling loss."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.figures import Curve, mean_of, number_text
from icl_core.papers.gdssm.layer.draw import own_points, training
from icl_core.papers.gdssm.layer.draw import weights_maps as blocks
from icl_core.papers.gdssm.layer.draw.state import Held, held, typical
from icl_core.papers.gdssm.layer.draw.weights import LIMIT
from icl_core.papers.gdssm.layer.grafted import in_title, weight_parts
from icl_core.papers.gdssm.shared.load_run import compared, curve_of, percent
from icl_core.papers.gdssm.shared.typed_points import points

LONGEST = 5  # rows in which numbers have room
STATE = (
    "What the layer has added up over one fresh prompt. The scale of a state is arbitrary, so one "
    "factor is fitted; it stands in the title. The map should become the one beside it; before "
    "training it mixes all products of tokens."
)
EXACT = (
    "The sum over the same pairs, computed exactly. It is minus N times the gradient of a linear "
    "model's loss at zero. The layer is never shown it."
)
DIFFERENCE = (
    "State minus gradient, on the same scale. It should be empty. A layer that adds up something "
    "else would leave as much here as its state holds."
)


def _map(index: int, title: Callable[[Held], str], caption: str, run: Run, view: Any) -> Panel:
    """Draw one of the three maps of what is held."""
    state = held(run, view)
    matrix = list(state.maps.values())[index]
    figure = figures.small_map(matrix, (None, None), state.axes, state.names[0], state.limit)
    return Panel(title(state), caption, figure)


def _after(state: Held) -> str:
    """Return the title of the state's map."""
    return (
        f"The state after {state.shown} pair{'s' * (state.shown > 1)}, × "
        f"{number_text(state.factor, 2)}"
    )


def _sum(state: Held) -> str:
    """Return the title of the exact sum's map."""
    return f"{state.names[0]}, the {state.names[1]}, exact"


def _away(state: Held) -> str:
    """Return the title of the difference's map."""
    return f"State and gradient differ by {percent(state.away[state.shown - 1])}"


state = partial(_map, 0, _after, STATE)
exact = partial(_map, 1, _sum, EXACT)
difference = partial(_map, 2, _away, DIFFERENCE)


def along(run: Run, view: Any) -> Panel:
    """Draw, for one feature, where state and gradient are numbers, one against the other, over
    prompts and pairs read."""
    state, exact = typical(run, view)
    top = 1.05 * figures.largest_magnitude(exact)
    away = np.sqrt(((state - exact)[-1] ** 2).mean() / (exact[-1] ** 2).mean())
    ends = np.array([-top, top])
    pairs = np.stack([exact.ravel(), state.ravel()], 1)  # [N prompts, 2]
    total = "∑ x xᵀ" if view.state == "curvature" and run.config.layers > 1 else "∑ y xᵀ"
    figure = figures.curves(
        [Curve("equal, as constructed", ends, ends, "construction")],
        f"{total}, exact",
        "state",
        x_range=(-top, top),
        y_range=(-top, top),
        height=figures.SEAT,
    )
    dots = figures.dots(pairs, "trained").update(
        marker={"size": 7, "color": figures.colour("trained")}
    )
    return Panel(
        f"The state is {percent(float(away))} off the gradient after {run.config.N} pairs",
        f"Each dot is one of {exact.shape[1]} prompts, after some number of pairs. If the layer "
        "adds up the gradient, all dots lie on the line; before training they lie anywhere.",
        figures.seated(
            figure.add_trace(dots).update_layout(showlegend=True, hovermode="closest"), figures.WIDE
        ),
    )


def weights(run: Run, view: Any) -> Panel:
    """Draw the weights that decide what enters the state and what reads it, symmetries normalised
    away."""
    parts = weight_parts(run, view)
    block = blocks.laid(parts)[0]
    few = len(block.rows) <= LONGEST
    most = number_text(max(part.away for part in parts), 2)
    grafts = in_title(run, view)
    return Panel(
        f"{grafts}; weights differ by {most} at most"
        if grafts
        else f"Learned and constructed weights differ by {most} at most",
        "The learned weights beside the construction's, which make the state a gradient. Scales, "
        "signs and the basis of the state are normalised, because the model acts the same in all "
        "of them. The difference should be empty; before training it is as strong as the learned "
        "weights. The title names the farthest entry; decays and rates are in units "
        "of the constructed ones. With parts replaced, all are in the construction's units.",
        figures.small_maps(
            block.maps, (block.rows, block.columns), ("", ""), "entry", LIMIT, written=few
        ),
    )


def loss(run: Run, view: Any) -> Panel:
    """Draw the loss over training, with its distance from the construction at the step shown."""
    panel = training.loss(run, view)
    assert panel.figure is not None
    figure = figures.seated(panel.figure)
    if not run.finished:
        return replace(panel, figure=figure)
    away = above(run, view)[0]
    is_grafted = bool(in_title(run, view))
    subject = "Trained:" if is_grafted else "The loss is"
    title = f"{subject} {compared(away)} the construction"
    return replace(panel, title=title, figure=figure)


def above(run: Run, view: Any) -> tuple[float, float]:
    """Return by what share the loss at the view's snapshot is above the construction's on the same
    tasks, as the mean over seeds, and by what share predicting zero is."""
    x, rows = curve_of(run, "loss")
    step = run.step(view)
    beside = float(run["watched/constructed"][0])
    zero = float(run["baseline/zero"][0])
    shown = float(mean_of(rows)[np.abs(x - step).argmin()])
    return shown / beside - 1, zero / beside - 1


def line(run: Run, view: Any) -> Panel:
    """Draw, for one feature, the line through your points, in a picture that does not move."""
    panel = own_points.draw(run, view)
    pairs = np.array(points(view.points))
    assert panel.figure is not None and panel.data is not None
    low, high = own_points.limits(
        pairs, [panel.data[name].to_numpy() for name in ("constructed", "best")]
    )
    panel.figure.update_yaxes(range=[low, high])
    for trace in panel.figure.data:  # one row of names
        trace.update(showlegend=trace["name"] in ("trained", "constructed"))
    title = panel.title.split(", least")[0].replace("Trained fits slope", "Slope")
    caption = f"{panel.caption} Dotted is least squares."
    return replace(panel, title=title, caption=caption, figure=figures.seated(panel.figure))
