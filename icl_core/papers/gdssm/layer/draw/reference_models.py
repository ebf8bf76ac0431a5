"""What a trained layer is set beside, apart from its construction: another training, the best
weights of all, and what the 1-D layer's tokens allow."""

from typing import Any

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.figures import Curve, mean_of, number_text
from icl_core.papers.gdssm.layer.convergence_step import NEAR, apart, arrivals
from icl_core.papers.gdssm.layer.metrics import population_distance
from icl_core.papers.gdssm.layer.settings import as_here
from icl_core.papers.gdssm.layer.symmetries import mean_decay, quantities
from icl_core.papers.gdssm.shared import closed_forms
from icl_core.papers.gdssm.shared.load_run import folded, model_of
from icl_core.papers.gdssm.shared.settings import Config
from icl_core.papers.gdssm.shared.train import DECAY, WARM_UP

LOWEST = 1e-5  # a share above L* below it is rounding
ENTRIES = ("x x", "y x", "y y", "x⁺ x", "x⁺ y", "x⁺ x⁺")  # of Q, folded


def training(run: Run, view: Any) -> Panel:
    """Draw the steps to within 1% of L*, trained as the authors do and as here, from equal
    weights."""
    own = as_here(run.config)
    level = float(run["watched/constructed"][0])
    steps = arrivals(run)
    theirs, ours = (_after(each) for each in steps)
    rows = {"as here": ("beside", "layer 4"), "as the authors train": ("curve", "trained")}
    series = [
        Curve(
            name,
            run[f"{kind}/step"][1:],
            np.maximum(np.abs(run[f"{kind}/loss"][:, 1:] / level - 1), LOWEST),
            colour,
        )
        for name, (kind, colour) in rows.items()
    ]
    table = [
        pd.DataFrame({"trained": x.name, "step": x.x, "off L*": mean_of(x.y).round(6)})
        for x in series
    ]
    return Panel(
        f"Within 1% of L*: {theirs} as the authors train, {ours} as here",
        "How far the loss is from the construction's on the same tasks, as a share; both axes "
        f"are logarithmic. The dotted line is 1%. {_theirs(run.config)} Ours is Adam at "
        f"{own.learning_rate:g} on {own.batch} tasks per step, without weight decay. Both "
        "should come down: if only one training found the layer, the other would stay up.",
        figures.curves(
            series,
            "training step",
            "off L*, as a share",
            log_x=True,
            log_y=True,
            lines=[("1%", NEAR, "floor")],
        ),
        data=pd.concat(table),
        note=_beside(run, own, steps),
    )


def _theirs(config: Config) -> str:
    """Describe in a sentence or two how the authors train."""
    rate = config.learning_rate
    training = (
        f"Theirs is AdamW with weight decay {DECAY:g}, rates {rate / 2:g} for the decays and "
        f"{rate:g} for the rest, {config.batch} tasks per step, and a cosine after a warm-up "
        "(Appendix A.5). The paper does not say how long the warm-up is; here it is "
        f"{WARM_UP:.0%} of the steps."
    )
    of_vectors = (
        " For vector labels Appendix A.6 names Adam and a cosine, without decay or warm-up."
    )
    return training + of_vectors * (config.model == "N-D")


def _beside(run: Run, own: Config, steps: tuple[np.ndarray, np.ndarray]) -> str:
    """Compare the authors' steps and tasks with ours, seed by seed, and say how exactly arrivals
    are known."""
    theirs, ours = steps
    comparison = ""
    ratios = theirs / np.maximum(ours, 1)
    batches = run.config.batch / own.batch
    if np.isfinite(ratios).any():
        comparison = (
            f"Theirs over ours, seed by seed: {_spread(ratios)} times the steps, "
            f"{_spread(batches * ratios)} times the tasks; our rate is "
            f"{own.learning_rate / run.config.learning_rate:,.0f} times theirs. "
        )
    late = apart(run["curve/step"], theirs), apart(run["beside/step"], ours)
    return (
        f"{comparison}Arrived: the first evaluation from which on the loss stays within 1%. Later "
        f"evaluations lie farther apart, at these arrivals by up to {late[0]:,.0f} and "
        f"{late[1]:,.0f} steps."
    )


def _after(steps: np.ndarray) -> str:
    """Return the steps of all seeds in words: "after 9,600 to 12,000 steps (1 of 5 seeds not at
    all)"."""
    missing = int((~np.isfinite(steps)).sum())
    if missing == len(steps):
        return "in none of its steps"
    return f"after {_spread(steps)} steps" + f" ({missing} of {len(steps)} seeds not at all)" * (
        missing > 0
    )


def _spread(steps: np.ndarray) -> str:
    """Return the steps or ratios of the seeds that arrived, in words: "9,600 to 12,000"."""
    low, high = (
        f"{end:,.0f}" if end >= 10 else f"{end:.2g}" for end in (np.nanmin(steps), np.nanmax(steps))
    )
    return low if low == high else f"{low} to {high}"


def population(run: Run, view: Any) -> Panel:
    """Draw, for one feature, the trained weights, the weights of least expected loss, and the
    constructed ones."""
    names, trained = _numbers(run, "final/")
    best = _numbers(run, "population/")[1][0]
    constructed = np.isin(names, ("Q: y x", "q: x⁺", "rate", "decay")) * 1.0
    off = number_text(population_distance(run, "final/"))
    x = np.arange(len(names))
    series = [
        Curve("constructed", x, constructed, "construction"),
        Curve("best on average", x, best, "floor"),
        Curve("trained", x, trained, "trained", band="minmax"),
    ]
    figure = figures.curves(series, "", "in units of the construction", y_range=(-0.25, 1.25))
    shapes = {
        "constructed": ("line-ew-open", 30, "construction"),
        "best on average": ("diamond-open", 12, "floor"),
        "trained": ("circle", 7, "trained"),
    }
    for trace in figure.data:
        if trace.get("name") in shapes:
            symbol, size, kind = shapes[trace["name"]]
            marker = {"symbol": symbol, "size": size, "color": figures.colour(kind)}
            trace.update(mode="markers", marker=marker)
    figure.update_xaxes(tickvals=x.tolist(), ticktext=names)
    return Panel(
        f"The best weights are the construction, to {population_distance(run):.0e}; trained ones "
        f"are {off} off",
        "With one feature the expected loss of any weights can be computed exactly. We search its "
        "minimum from where training begins (diamonds), and it lies on the construction in every "
        "number. So where trained weights are off (the band spans the seeds), they have found no "
        "better way to learn; their training is unfinished. If other weights were better than "
        "gradient descent, the diamonds would leave the bars.",
        figure,
        data=pd.DataFrame(
            {"weight": names, "trained": trained.mean(0), "best": best, "constructed": constructed}
        ),
        note="Q is divided by its entry y x, q by its last; the rate is in units of the best η/N, "
        "and the decay is the mean of a^(N − t). With one feature Q and Qᵀ act alike, so the two "
        "halves of Q are added.",
    )


def _numbers(run: Run, prefix: str) -> tuple[list[str], np.ndarray]:
    """Return the names of the numbers in which weights of one feature compare, and their values
    [seeds, numbers]."""
    config = run.config
    weights = folded(model_of(config, run.tensors, prefix), 1)
    parts = quantities(weights, config.N)
    rate = closed_forms.best_beta(1, config.N, config.r)
    Q, q = (parts[name].numpy() for name in ("Q", "q"))
    lower = Q[:, *np.tril_indices(3)]  # [seeds, 6]
    decay = mean_decay(weights.tensors()["a"], config.N).numpy().reshape(-1, 1)
    rates = parts["rate"].numpy().reshape(-1, 1) / rate
    names = [
        *(f"Q: {entry}" for entry in ENTRIES),
        *(f"q: {entry}" for entry in ("x", "y", "x⁺")),
        "rate",
        "decay",
    ]
    return names, np.concatenate([lower, q, rates, decay], 1)


def tokens(run: Run, view: Any) -> Panel:
    """Draw, for scalar labels, what two layers do on windows, and two ways to use the 1-D layer's
    tokens at their best."""
    losses = _reached(run)
    zero = closed_forms.zero_loss(run.config.f, run.config.r)
    kinds = ["gradient descent", "layer 1", "layer 2", "construction", "trained"]
    shown = "trained on windows", "a layer on a layer", "x₁ left out of ∑ x xᵀ"
    trained, stacked, left_out = (number_text(losses[name]) for name in shown)
    return Panel(
        f"Two layers on windows lose {trained}; two ways on the tokens [x y, next x], {stacked} "
        f"and {left_out}",
        "The 1-D layer's tokens hold x₁ only as x₁y₁. Another x₁ with another y₁ makes the same "
        "tokens and needs another second step, so no model takes exactly two steps on them. There "
        "are two ways to come near: a second layer of the same kind, which has the first one's "
        "predictions from earlier pairs alone, or ∑ x xᵀ of all x but the first. Windows of x, y, "
        "x, y, … with y as [0, …, y] hold everything, and the layers trained here read those. If "
        "either way made the second step, its bar would be as low as that of two steps.",
        figures.bars(
            list(losses),
            list(losses.values()),
            "loss at the query",
            kinds=kinds,
            lines=[("predicting zero", zero, "floor")],
            y_range=(0, 1.1 * zero),
        ),
        data=pd.DataFrame({"two layers": list(losses), "loss": list(losses.values())}).round(5),
        note="The bars of steps are exact. Those of the tokens are fitted to the test set, each "
        "with two free numbers, and scaled by the loss of two steps on the same tasks.",
    )


def _reached(run: Run) -> dict[str, float]:
    """Return the losses that are drawn: of steps in closed form, of the others over that of two
    steps on the same tasks."""
    f = run.config.f
    N = run.config.N
    r = run.config.r
    two = closed_forms.two_steps_free(f, N, r).loss
    scale = two / float(run["baseline/floor"][0])  # of the test set's tasks
    return {
        "one step": closed_forms.best_loss(f, N, r),
        "a layer on a layer": scale * float(run["baseline/stacked"][0]),
        "x₁ left out of ∑ x xᵀ": scale * float(run["baseline/left_out"][0]),
        "two steps": two,
        "trained on windows": float(run["evaluated/scaled"].mean()),
    }
