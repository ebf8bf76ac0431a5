"""Trains one model for every depth, and then what is to stand beside them."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from icl_core.contract.experiment import Progress, names
from icl_core.papers.memformers.methods.first_phase import with_first_phases
from icl_core.papers.memformers.methods.settings import Config
from icl_core.papers.memformers.shared.baselines import baseline_losses
from icl_core.papers.memformers.shared.train import (
    EVALUATED,
    by_depth,
    every_depth,
    frozen,
    on_own_batch,
)
from icl_core.papers.memformers.shared.variants import VARIANTS
from icl_core.training import phases
from icl_core.training.phases import Made

MAIN = "main"


def compute(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Train every depth, evaluate each on fresh prompts, and put the classical methods beside them.

    `depth/layers` [K]; `evaluated/*` and, for each of `names/beside`, `beside/<id>/*` [seeds, K];
    `baseline/*` [K]; `curve/*` [seeds, evaluations] of the deepest model and `curve/beside/<id>`,
    over `curve/step`; `snapshot/*` [snapshots, seeds, …] of it beside `snapshot/step`;
    `final/<depth>/*` and `beside/<id>/final/<depth>/*`; `frozen/rotation` [seeds, d, d],
    `frozen/eigenvalues` [d]. Raises `Diverged` and `Cancelled`.
    """
    models = {MAIN: config, **companions(config)}
    plan = every_depth(
        models, {name: VARIANTS[model.variant].name for name, model in models.items()}
    )
    plan = with_first_phases(plan, models)
    made = phases.run(plan, progress, partial(_curves, config))
    same = {} if config.batches == "fresh" else on_own_batch(config)
    return {**_gathered(config, made), **baseline_losses(config), **same, **frozen(config)}


def companions(config: Config) -> dict[str, Config]:
    """What is trained beside a model, by id."""
    one = {"heads": 1}
    choices: dict[str, dict[str, dict[str, Any]]] = {
        "none": {},
        "linear": {"linear": {"variant": "linear", **one}},
        "free": {"free": {"variant": "lfom", **one}},
        "one head": {"one-head": one},
        "coordinates": {other: {"coordinates": other} for other in _other_coordinates(config)},
        "all": {variant: {"variant": variant} for variant in ("linear", "cgd", "lfom", "shared")},
    }
    return {
        name: replace(config, **change)
        for name, change in choices[config.beside].items()
        if any(getattr(config, field) != value for field, value in change.items())
    }


def _other_coordinates(config: Config) -> tuple[str, ...]:
    """The other coordinates, where a model learns in coordinates at all."""
    if config.preconditioner == "scalar" or not VARIANTS[config.variant].preconditioned:
        return ()
    return ("original",) if config.coordinates == "whitened" else ("whitened",)


def _curves(config: Config, made: Made) -> dict[str, np.ndarray]:
    """The deepest model's curves, and the loss of what was trained beside it."""
    beside = list(companions(config))
    found = {"names/beside": names(beside), **phases.curves(f"{MAIN} {config.layers}", made)}
    others = {name: phases.curves(f"{name} {config.layers}", made) for name in beside}
    return found | {
        f"curve/beside/{name}": each["curve/loss"] for name, each in others.items() if each
    }


def _gathered(config: Config, made: Made) -> dict[str, np.ndarray]:
    """The run's tensors from those of its trainings."""
    depths = range(1, config.layers + 1)
    found = {"depth/layers": np.array(depths), **_curves(config, made)}
    for name in (MAIN, *companions(config)):
        measures, finals = (
            ("evaluated", "final") if name == MAIN else (f"beside/{name}", f"beside/{name}/final")
        )
        found |= {
            f"{measures}/{each}": by_depth(made, name, config.layers, each) for each in EVALUATED
        }
        for depth in depths:
            final = phases.final(made[f"{name} {depth}"])
            found |= {f"{finals}/{depth}/{key}": array for key, array in final.items()}
    deepest = made[f"{MAIN} {config.layers}"]
    return {
        **found,
        **{name: array for name, array in deepest.items() if name.startswith("snapshot/")},
    }
