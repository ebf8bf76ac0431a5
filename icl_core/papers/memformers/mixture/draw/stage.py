"""What is on stage: gated heads by depth, what they leave of w* over the prompts that there are,
and their gates."""

from dataclasses import replace

import numpy as np

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Trace
from icl_core.figures import Curve
from icl_core.figures.style import FAINT
from icl_core.papers.memformers.mixture.draw import losses
from icl_core.papers.memformers.mixture.draw.losses import ADAPTED, FIGURES, GATED, LINEAR
from icl_core.papers.memformers.mixture.settings import View
from icl_core.papers.memformers.shared.draw.losses import over_layers, window, written
from icl_core.papers.memformers.shared.draw.stage import HEIGHT, fitted, named
from icl_core.papers.memformers.shared.load_run import end, log_of

NAMES = {LINEAR: "linear", GATED: "Memformer", ADAPTED: "Memformer, Γ too"}
SEEN = (1e-4, 30.0)  # of what is left of w*


def comparison(run: Run, view: View) -> Panel:
    """Draw the log-loss of the figures' three methods, by depth."""
    x = run["depth/layers"]
    floor = log_of(run["baseline/floor"])
    series = [
        _curve(method, x, log_of(run[f"evaluated/{method}"]), markers=True) for method in FIGURES
    ]
    y_range = window([*(np.minimum(each.y, 1.5) for each in series), floor, [0.0]])
    linear, memory = (written(end(run, f"evaluated/{method}")) for method in (LINEAR, GATED))
    return Panel(
        f"Log-loss is {linear} (linear), {memory} (Memformer)",
        "Log-loss on fresh prompts of the mixture: one less is an error 2.7 times smaller. Each "
        "depth has heads of its own, put together by learned gates. If memory mattered, the lines "
        "would lie apart. Without gates the heads are off by a factor, and worse.",
        fitted(
            over_layers(
                [*series, Curve("floor", x, floor, "floor")], "log-loss", y_range, 0.0, HEIGHT
            )
        ),
    )


def _curve(method: str, x: np.ndarray, y: np.ndarray, markers: bool = False) -> Curve:
    _, kind, dash = losses.style_of(method)
    return Curve(NAMES[method], x, y, kind, dash, markers=markers)


def shapes(run: Run, view: View) -> Panel:
    """Draw what each method leaves of w*, a polynomial of S, over where S lies."""
    seed = min(view.seed_shown, run.config.seeds) - 1
    x = run["shape/at"]
    left = {method: np.maximum(run[f"shape/{method}"][seed], 1e-5) for method in FIGURES}
    series = [_curve(method, x, each) for method, each in left.items()]
    at = run["density/at"]
    density = run["density/S"][-1]
    figure = figures.curves(
        series,
        "S / E x²",
        "part of w* left",
        log_y=True,
        x_range=(0.0, 3.0),
        y_range=SEEN,
        height=HEIGHT,
    )
    for trace in figure.data:  # the panel beside names the methods
        trace.update(showlegend=False)
    figure.data.insert(0, _hill(at, density))
    figure.update_layout(showlegend=True)
    often = at[density > 0.01 * density.max()]
    inside = (x >= often[0]) & (x <= often[-1])
    worst = max(float(each[inside].max(initial=0.0)) for each in left.values())
    return Panel(
        f"Where prompts lie, at most {worst:.2g} is left",
        "S is the mean of x² over a prompt. What a model leaves of w* is a polynomial of S; at "
        "each zero it solves the prompt. Lines should stay low over the grey hill, where the "
        "prompts are. A gate stretches a line, no more.",
        fitted(figure),
    )


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


def shares(run: Run, view: View) -> Panel:
    """Draw the gates, in shares of a whole step."""
    panel = losses.gates(run, view)
    assert panel.figure is not None
    title = panel.title.replace("add up", "sum").replace("whole steps", "steps")
    return replace(panel, title=title, figure=named(panel.figure))
