"""Log-loss against the number of layers, beside every classical method and the floors (Figures 1 to 4)."""

import numpy as np
import pandas as pd

from icl_core.experiment import Panel, Run
from icl_core.figures import Curve
from icl_core.papers.memformers.methods.draw import depth_words as words
from icl_core.papers.memformers.methods.settings import View
from icl_core.papers.memformers.shared.draw import losses
from icl_core.papers.memformers.shared.draw.losses import FULL, NEUTRAL, SCALAR, tabled, trained_name
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
    series, zero = [*_classical(run, view), *_trained(run, view), *_floors(run, view)], float(np.log(run.config.d))
    return Panel(
        words.title(run, view),
        words.caption(run, view),
        losses.over_layers(series, f"log of the {view.average} loss", _range(run, zero), zero),
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
        others = losses.beside(run, "beside/{}/loss")
        found += [Curve(name, x, logs, kind, "dash", markers=True) for name, logs, kind in others]
    return found


def _classical(run: Run, view: View) -> list[Curve]:
    if view.overlay == "trained":
        return []
    chosen = {name: curve for name, overlay, curve in _baselines(run) if overlay in ("main", view.overlay)}
    if view.average == "median":  # CGD's is over w* as well, which the others have integrated out
        chosen = {name: curve for name, curve in chosen.items() if f"baseline/{name}_median" in run.tensors}
    return list(chosen.values())


def _baselines(run: Run) -> list[tuple[str, str, Curve]]:
    """What the run has evaluated: its id, overlay and curve; one that the table does not know is drawn plainly."""
    x, styles = run["depth/layers"], {id: METHODS.get(id, (id, NEUTRAL, None, "main")) for id in run.names("baselines")}
    return [
        (id, overlay, Curve(label, x, log_of(run[f"baseline/{id}"]), kind, dash, markers=True))
        for id, (label, kind, dash, overlay) in styles.items()
    ]


def _floors(run: Run, view: View) -> list[Curve]:
    own = losses.floor_of(run.config)
    other = ("floor", FULL) if own[0] == "floor_scalar" else ("floor_scalar", SCALAR)
    every = [own, other] if view.overlay == "all" else [own]
    return [Curve(label, run["depth/layers"], log_of(run[f"baseline/{key}"]), "floor") for key, label in every]


def _range(run: Run, zero: float) -> tuple[float, float]:
    """The same for every overlay; a method that explodes, or solves all prompts exactly, leaves the picture."""
    kept = [log_of(run[name]) for name in ("evaluated/loss", "baseline/floor", "baseline/floor_scalar")]
    falling = [log_of(run[name]) for name in ("baseline/cg", "baseline/pcg")]
    return losses.window([*kept, [zero]], falling)


def _table(run: Run) -> pd.DataFrame:
    x, every = run["depth/layers"], [("trained", log_of(run["evaluated/loss"]))]
    every += [(name, logs) for name, logs, _ in losses.beside(run, "beside/{}/loss")]
    series = [Curve(name, x, logs) for name, logs in every] + [curve for *_, curve in _baselines(run)]
    floors = ((FULL, "floor"), (SCALAR, "floor_scalar"))
    return tabled("layers", x, [*series, *(Curve(label, x, log_of(run[f"baseline/{key}"])) for label, key in floors)])
