"""Log-loss against the number of layers, beside every classical method and the floors (Figures 1 to 4)."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.experiment import Panel, Run
from icl_core.figures import Curve, mean_of
from icl_core.papers.memformers.methods.draw import depth_words as words
from icl_core.papers.memformers.methods.settings import View
from icl_core.papers.memformers.shared.draw.losses import (
    FULL,
    NEUTRAL,
    SCALAR,
    beside,
    floor_of,
    roomy,
    trained_name,
    window,
)
from icl_core.papers.memformers.shared.test_set import log_of

# of a baseline, by id: name, colour, dash, overlay from which it is drawn
METHODS = {
    "cg": ("CGD", "conjugate gradient", None, "main"),
    "pcg": ("CGD with Σ⁻¹", "conjugate gradient", "dash", "main"),
    "gd": ("gradient descent", "gradient descent", None, "all"),
    "momentum": ("momentum", "momentum", "dash", "all"),
    "momentum_tuned": ("momentum, tuned", "momentum", "dot", "all"),
    "nesterov": ("Nesterov", "nesterov", "dash", "all"),
    "nesterov_tuned": ("Nesterov, tuned", "nesterov", "dot", "all"),
}


def depth(run: Run, view: View) -> Panel:
    """Natural log of the mean (or median) loss on fresh prompts, a model of its own for every depth."""
    if view.average == "median":
        run = typical(run)
    layers = run["depth/layers"]
    series = [*_classical(run, view), *_trained(run, view), *_floors(run, view)]
    zero = float(np.log(run.config.d))
    figure = figures.curves(
        series,
        "layers",
        f"log of the {view.average} loss",
        x_range=(0.85, layers[-1] + 0.15),
        y_range=_range(run, zero),
        lines=[("predicting zero", zero, "floor")],
    )
    figure.update_xaxes(tickvals=layers, ticktext=[str(each) for each in layers])
    return Panel(
        words.title(run, view),
        words.caption(run, view),
        roomy(figure),
        data=_table(run),
        note=words.note(run) if view.average == "mean" else "",
    )


def typical(run: Run) -> Run:
    """The run with the median over prompts in the place of the mean: what a prompt that is not rare meets."""
    medians = {name: array for name, array in run.tensors.items() if "median" in name}
    renamed = {n.replace("/median", "/loss").removesuffix("_median"): array for n, array in medians.items()}
    return Run(run.config, {**run.tensors, **renamed}, run.info, run.digest, run.finished)


def _trained(run: Run, view: View) -> list[Curve]:
    """The trained model below what was trained beside it, which is dashed: where both coincide, both are seen."""
    x = run["depth/layers"]
    found = [Curve(trained_name(run), x, log_of(run["evaluated/loss"]), "trained", markers=True)]
    if view.overlay != "trained":
        others = beside(run, "beside/{}/loss")
        found += [Curve(name, x, log_of(loss), kind, "dash", markers=True) for name, loss, kind in others]
    return found


def _classical(run: Run, view: View) -> list[Curve]:
    if view.overlay == "trained":
        return []
    chosen = {name: style for name, style in _baselines(run).items() if style[-1] in ("main", view.overlay)}
    if view.average == "median":  # CGD's is over w* as well, which the others have integrated out
        chosen = {name: style for name, style in chosen.items() if f"baseline/{name}_median" in run.tensors}
    return [
        Curve(label, run["depth/layers"], log_of(run[f"baseline/{name}"]), kind, dash, markers=True)
        for name, (label, kind, dash, _) in chosen.items()
    ]


def _baselines(run: Run) -> dict[str, tuple[str, str, str | None, str]]:
    """What the run has evaluated, with its style; one that the table does not know is drawn plainly."""
    return {name: METHODS.get(name, (name, NEUTRAL, None, "main")) for name in run.names("baselines")}


def _floors(run: Run, view: View) -> list[Curve]:
    own = floor_of(run.config)
    every = [own] if view.overlay != "all" else [own, _other(own)]
    return [Curve(label, run["depth/layers"], log_of(run[f"baseline/{key}"]), "floor") for key, label in every]


def _other(own: tuple[str, str]) -> tuple[str, str]:
    return ("floor", FULL) if own[0] == "floor_scalar" else ("floor_scalar", SCALAR)


def _range(run: Run, zero: float) -> tuple[float, float]:
    """The same for every overlay; a method that explodes, or solves all prompts exactly, leaves the picture."""
    kept = [log_of(run[name]) for name in ("evaluated/loss", "baseline/floor", "baseline/floor_scalar")]
    falling = [log_of(run[name]) for name in ("baseline/cg", "baseline/pcg")]
    return window([*kept, [zero]], falling)


def _table(run: Run) -> pd.DataFrame:
    columns = {"layers": run["depth/layers"], "trained": mean_of(log_of(run["evaluated/loss"]))}
    columns |= {name: mean_of(log_of(loss)) for name, loss, _ in beside(run, "beside/{}/loss")}
    columns |= {name: log_of(run[f"baseline/{key}"]) for key, (name, *_) in _baselines(run).items()}
    floors = {FULL: "floor", SCALAR: "floor_scalar"}
    return pd.DataFrame(columns | {label: log_of(run[f"baseline/{key}"]) for label, key in floors.items()}).round(4)
