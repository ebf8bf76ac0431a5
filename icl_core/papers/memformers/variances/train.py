"""Trains every head, and then gates for every variance."""

from functools import partial

import numpy as np
import torch

from icl_core.contract.experiment import Progress, names
from icl_core.papers.memformers.shared.batched_trainings import at_once
from icl_core.papers.memformers.shared.train import training_phase
from icl_core.papers.memformers.variances.settings import Config, met_by, model_of, trained_on
from icl_core.papers.memformers.variances.test_time import (
    METHODS,
    adapted,
    from_all_starts,
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
    """
    heads = len(trained_on(config))
    models = {f"head {h}": model_of(config, h) for h in range(heads)}
    plan = [
        training_phase(name, model, f"head {index} of {heads}")
        for index, (name, model) in enumerate(models.items(), start=1)
    ]
    plan = at_once(plan, models)
    results = phases.run(plan, progress, partial(phases.curves, FIRST))
    learned = []
    for part in results.values():
        learned.append({key: torch.tensor(array) for key, array in phases.final(part).items()})
    every = [*met_by(config), *trained_on(config)]
    last = len(met_by(config)) - 1
    by_variance = adapted(config, learned, every)
    return {
        **phases.curves(FIRST, results),
        **{name: np.stack([each[name] for each in by_variance], 1) for name in by_variance[0]},
        "own/loss": np.stack([part["evaluated/loss"] for part in results.values()], 1),
        **from_all_starts(config, learned, every[last], last),
        "names/methods": names(METHODS),
        "test_time/variance": np.array(every),
        **references(config),
    }
