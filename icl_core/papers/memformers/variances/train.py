"""Trains every head, and then gates for every variance."""

from dataclasses import replace
from functools import partial

import numpy as np
import torch

from icl_core.contract.experiment import Progress, Tensors, names
from icl_core.papers.memformers.shared.batched_trainings import at_once
from icl_core.papers.memformers.shared.train import training_phase
from icl_core.papers.memformers.shared.variants import Parameters
from icl_core.papers.memformers.variances.settings import Config, met_by, model_of, trained_on
from icl_core.papers.memformers.variances.test_time import (
    METHODS,
    adapted,
    from_all_starts,
    gated_losses,
    references,
)
from icl_core.training import phases

FIRST = "head 0"


def compute(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Train every head, then learn gates for every variance V. Return

    test_time/variance   [V], unseen ones first
    gate/value, gate/scalar   [seeds, V, H]; gate/triangle [seeds, V, L, L]
    gate/curve           [seeds, V, steps]
    evaluated/<id>       [seeds, V] for each of `names/methods`
    evaluated/head       [seeds, V, H]
    own/loss             [seeds, H] of each head on fresh prompts of its own variance
    start/*              of the last unseen variance
    baseline/*           [K]
    curve/loss           [seeds, evaluations] of the first head
    depth/gated, depth/met   [seeds, unseen, K] with gates, on fresh prompts and on those met, after
                         one to `layers` layers; of the authors' protocol alone (Figure 8)
    """
    heads = range(len(trained_on(config)))
    models = {f"head {head}": model_of(config, head) for head in heads}
    labels = {f"head {head}": f"head {head + 1} of {len(heads)}" for head in heads}
    for depth in _shallower(config):
        for head in heads:
            name = f"head {head} of {depth}"
            models[name] = replace(model_of(config, head), layers=depth)
            labels[name] = f"head {head + 1}, layers: {depth}"
    plan = [training_phase(name, model, labels[name]) for name, model in models.items()]
    results = phases.run(at_once(plan, models), progress, partial(phases.curves, FIRST))
    learned = [_parameters(results[f"head {head}"]) for head in heads]
    every = [*met_by(config), *trained_on(config)]
    last = len(met_by(config)) - 1
    by_variance = adapted(config, learned, every)
    return {
        **phases.curves(FIRST, results),
        **{name: np.stack([each[name] for each in by_variance], 1) for name in by_variance[0]},
        "own/loss": np.stack([results[f"head {h}"]["evaluated/loss"] for h in heads], 1),
        **_by_depth(config, results, by_variance),
        **from_all_starts(config, learned, every[last], last),
        "names/methods": names(METHODS),
        "test_time/variance": np.array(every),
        **references(config),
    }


def _shallower(config: Config) -> range:
    """Return the numbers of layers that are trained beside the deepest, as in Figure 8."""
    return range(1, config.layers if config.protocol == "authors" else 1)


def _parameters(part: Tensors) -> Parameters:
    """Return what one head has learned."""
    return {name: torch.tensor(array) for name, array in phases.final(part).items()}


def _by_depth(
    config: Config, results: phases.Made, deepest: list[dict[str, np.ndarray]]
) -> dict[str, np.ndarray]:
    """Return `depth/*`, of which `deepest` has the last column, variance by variance; nothing where
    the deepest heads alone were trained."""
    if config.protocol != "authors":
        return {}
    variances = met_by(config)
    columns = []
    for depth in _shallower(config):
        heads = range(len(trained_on(config)))
        learned = [_parameters(results[f"head {head} of {depth}"]) for head in heads]
        columns.append(gated_losses(replace(config, layers=depth), learned, variances))
    unseen = deepest[: len(variances)]
    fresh = np.stack([each["evaluated/gated"] for each in unseen], 1)  # [seeds, unseen]
    met = np.stack([each["gate/curve"][:, -1] for each in unseen], 1)
    columns.append((fresh, met))
    return {
        "depth/gated": np.stack([column for column, _ in columns], -1),
        "depth/met": np.stack([column for _, column in columns], -1),
    }
