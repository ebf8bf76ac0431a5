"""What can be drawn of prompts whose tokens mix the components: losses and gates of heads by depth,
by method and while they learn; and heads as what they are, polynomials in S, a prompt's mean
square, and where S lies."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Trace
from icl_core.figures import Curve
from icl_core.figures.style import FAINT
from icl_core.papers.memformers.mixture.claims import ADAPTED, FIGURES, GATED, LINEAR
from icl_core.papers.memformers.mixture.settings import View, mixture_of
from icl_core.papers.memformers.mixture.words import WORDS
from icl_core.papers.memformers.shared.draw.categories import dots, named, stacks
from icl_core.papers.memformers.shared.draw.losses import (
    NEUTRAL,
    SEAT,
    fitted,
    over_layers,
    roomy,
    tabled,
    window,
    written,
)
from icl_core.papers.memformers.shared.load_run import curve, log_of, step

SCALAR = "one head, one number"
ALONE = "best head as it is"
EVEN = "equal gates, not learned"
OWN = "trained on the mixture"
# of a method, by id: name, colour, dash; both kinds of head are alike in what is not here
METHODS = {
    LINEAR: ("linear, gates (Fig. 9)", "layer 2", None),
    GATED: ("Memformer, gates (Fig. 10 grey)", "layer 3", "dash"),
    ADAPTED: ("Memformer, gates, Γ (Fig. 10 black)", "trained", "dot"),
    "linear/scalar": (SCALAR, "layer 1", None),
    "linear/even": (EVEN, "gradient descent", None),
    "linear/mixture": (OWN, "layer 5", "dot"),
}
# of a method where there is little room, and in the table
SHORT = {
    LINEAR: ("linear", "linear"),
    GATED: ("Memformer", "Memformer"),
    ADAPTED: ("Memformer,<br>Γ learned too", "Memformer, Γ too"),
}
# of a method on the stage
ON_STAGE = {LINEAR: "linear", GATED: "Memformer", ADAPTED: "Memformer, Γ too"}
# of a kind of head, by id: name, colour, marker
KINDS = {
    "linear": ("linear transformer", "layer 2", "circle"),
    "lfom": ("LFOM Memformer", "trained", "diamond"),
}
# what is done with heads, by id: name on the axis and in the table; "alone" is read off each head
CATEGORIES = {
    "gated": ("gates", "gates"),
    "adapted": ("gates<br>+ Γ", "gates and Γ"),
    "scalar": ("one<br>number", SCALAR),
    "even": ("equal", EVEN),
    "alone": ("best<br>head", ALONE),
    "mixture": ("own<br>training", OWN),
}


def style_of(method: str) -> tuple[str, str, str | None]:
    """Return name, colour and dash of a method; plain for one that the table does not know."""
    return METHODS.get(method, (method, NEUTRAL, None))


def drawn(run: Run) -> list[str]:
    """Return the run's methods that are drawn as lines: those with a style, and those that nothing
    here knows."""
    listed = []
    for kind in KINDS:
        listed += [f"{kind}/{category}" for category in CATEGORIES]
    return [method for method in run.names("methods") if method in METHODS or method not in listed]


def _curve(method: str, x: np.ndarray, losses: np.ndarray, markers: bool = False) -> Curve:
    name, kind, dash = style_of(method)
    return Curve(name, x, log_of(losses), kind, dash, markers=markers)


def comparison(run: Run, view: View) -> Panel:
    """Draw the log-loss of the figures' three methods, by depth."""
    x = run["depth/layers"]
    floor = log_of(run["baseline/floor"])
    series = [
        stage_curve(method, x, log_of(run[f"evaluated/{method}"]), markers=True)
        for method in FIGURES
    ]
    y_range = window([*(np.minimum(each.y, 1.5) for each in series), floor, [0.0]])
    series.append(Curve("floor", x, floor, "floor"))
    figure = over_layers(series, "log-loss", y_range, 0.0, SEAT)
    return WORDS.panel("comparison", run, view, fitted(figure))


def stage_curve(method: str, x: np.ndarray, y: np.ndarray, markers: bool = False) -> Curve:
    """Return a curve of one of the figures' methods, with the name that it has on the stage."""
    _, kind, dash = style_of(method)
    return Curve(ON_STAGE[method], x, y, kind, dash, markers=markers)


def depth(run: Run, view: View) -> Panel:
    """Draw the log-loss of all methods against layers."""
    x = run["depth/layers"]
    floor = log_of(run["baseline/floor"])
    curves = [_curve(method, x, run[f"evaluated/{method}"], markers=True) for method in drawn(run)]
    series = [*curves, Curve("floor", x, floor, "floor")]
    capped = [np.minimum(each.y, 1.5) for each in curves]
    y_range = window([*capped, floor, [0.0]])
    figure = over_layers(series, "log-loss", y_range, 0.0, height=430)
    return WORDS.panel("depth", run, view, figure, data=tabled("layers", x, series))


def _row(run: Run, view: View) -> int:
    return min(view.depth_shown, run.config.layers) - 1


def methods(run: Run, view: View) -> Panel:
    """Draw both kinds of head side by side, for all methods of putting them together, at one
    depth."""
    row = _row(run, view)
    kinds = run.names("kinds")
    categories = _categories(run)
    logs = {kind: {each: _of(run, kind, each, row) for each in categories} for kind in kinds}
    styles = {kind: KINDS.get(kind, (kind, NEUTRAL, "circle")) for kind in kinds}
    rows = [(*styles[kind], np.stack(list(logs[kind].values()), 1)) for kind in kinds]
    floor = float(log_of(run["baseline/floor"])[row])
    figure = dots(rows, [name for name, _ in categories.values()], 1.0, [("floor", floor, "floor")])
    means = {
        styles[kind][0]: [float(each.mean()) for each in logs[kind].values()] for kind in kinds
    }
    table = pd.DataFrame(means, [name for _, name in categories.values()])
    apart = {
        method: float((logs["lfom"][method] - logs["linear"][method]).mean())
        for method in ("gated", "scalar")
    }
    return WORDS.panel(
        "methods", run, view, figure, data=table.round(4).reset_index(names="method"),
        gates_apart=apart["gated"], number_apart=apart["scalar"],
    )  # fmt: skip


def _categories(run: Run) -> dict[str, tuple[str, str]]:
    """Return what the run has done with heads, in the table's order, and what the table does not
    know behind it."""
    ran = dict.fromkeys(method.partition("/")[2] for method in run.names("methods"))
    listed = {
        category: names
        for category, names in CATEGORIES.items()
        if category in ran or category == "alone"
    }
    return {
        **listed,
        **{category: (category, category) for category in ran if category not in CATEGORIES},
    }


def _of(run: Run, kind: str, method: str, row: int) -> np.ndarray:
    """Return logarithms [seeds]; NaN where a kind has no such method."""
    if method == "alone":
        return log_of(run[f"evaluated/{kind}/head"][:, row]).min(-1)
    name = f"evaluated/{kind}/{method}"
    return log_of(run[name][:, row]) if name in run.tensors else np.full(run.config.seeds, np.nan)


def gates(run: Run, view: View, on_stage: bool = False) -> Panel:
    """Draw the gates, in shares of a whole step."""
    row = _row(run, view)
    seed = min(view.seed_shown, run.config.seeds) - 1
    mixture = mixture_of(run.config)
    ratio = np.array([mixture.second / each.second for each in mixture.components])
    learned = [method for method in run.names("methods") if f"gate/{method}" in run.tensors]
    values = np.stack([run[f"gate/{method}"][seed, row] for method in learned])  # [methods, H]
    names = [f"head of {each}" for each in mixture.names]
    share = values * ratio
    figure = stacks(
        [(share, values, "learned")],
        names,
        [SHORT.get(each, (each, each))[0] for each in learned],
    )
    figure.update_yaxes(title={"text": "gate × E x² / Eₕ x²"})
    *sums, last_sum = [written(float(each)) for each in share.sum(1)]
    table = pd.DataFrame(values, [SHORT.get(each, (each, each))[1] for each in learned], names)
    return WORDS.panel(
        "gates", run, view, named(figure) if on_stage else figure,
        data=table.round(4).reset_index(names="method"),
        sums=f"{', '.join(sums)} and {last_sum}", on_stage=on_stage,
    )  # fmt: skip


def shares(run: Run, view: View) -> Panel:
    """Draw the gates on the stage."""
    return gates(run, view, on_stage=True)


def test_time(run: Run, view: View) -> Panel:
    """Draw the loss on the prompts met, while gates and Γ are learned."""
    learned = [each for each in run.names("methods") if f"learning/{each}" in run.tensors]
    x = np.arange(run[f"learning/{GATED}"].shape[1])
    series = [_curve(each, x, run[f"learning/{each}"]) for each in learned]
    y_range = window([each.y for each in series])
    figure = roomy(figures.curves(series, "step at test time", "log-loss", y_range=y_range))
    return WORDS.panel("test time", run, view, figure, data=tabled("step", x, series))


def training(run: Run, view: View) -> Panel:
    """Draw the loss of every head of the deepest models while it is trained; also of a run that is
    still going."""
    x = step(run)
    rows = [*mixture_of(run.config).names, *["mixture"] * (run.config.prompts == "tokens")]
    # A run may have nothing yet.
    kinds = run.names("kinds") if "names/kinds" in run.tensors else list(KINDS)
    series = []
    for kind in kinds:
        series += [_head_curve(run, x, kind, row, rows) for row in range(len(rows))]
    zeros = (
        [0.0]
        if run.config.prompts == "tokens"
        else [2 * np.log(c.second) for c in mixture_of(run.config).components]
    )
    figure = figures.curves(
        series, "training step", "log-loss", height=430,
        lines=[("predicting zero", 0.0, "floor")] if len(zeros) == 1 else [],
        y_range=window([*(np.minimum(each.y, max(zeros) + 1.5) for each in series), [0.0]]),
    )  # fmt: skip
    apart = np.nan
    if run.finished:
        ends = np.array([curve.mean()[-1] for curve in series])
        apart = float(np.abs(ends[: len(rows)] - ends[len(rows) : 2 * len(rows)]).max())
    return WORDS.panel(
        "training", run, view, roomy(figure), data=tabled("step", x, series),
        finished=run.finished, apart=apart,
    )  # fmt: skip


def _head_curve(run: Run, x: np.ndarray, kind: str, row: int, rows: list[str]) -> Curve:
    """Return one head's loss; dashed with memory, and in CGD's colour what learns the mixture as a
    whole, the last row."""
    name = rows[row]
    whole = rows[row] == "mixture"
    logs = log_of(curve(run, f"curve/{kind}/{row}"))
    label, dash = {"linear": (name, "solid"), "lfom": (f"{name}, Γ", "dash")}.get(
        kind, (f"{name}, {kind}", "dot")
    )
    return Curve(label, x, logs, "conjugate gradient" if whole else f"layer {row + 1}", dash)


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
