"""Learns methods of every number of steps from every number of prompts."""

from collections.abc import Mapping
from functools import partial

import numpy as np

from icl_core.contract.experiment import Progress
from icl_core.papers.memformers.learned import bounded
from icl_core.papers.memformers.learned.settings import Config, model_of, sizes_of
from icl_core.papers.memformers.shared import authors_prompts, authors_test
from icl_core.papers.memformers.shared.authors_prompts import LEFT_OUT
from icl_core.papers.memformers.shared.baselines import baseline_losses
from icl_core.papers.memformers.shared.batched_trainings import at_once
from icl_core.papers.memformers.shared.settings import Model
from icl_core.papers.memformers.shared.train import (
    by_depth,
    by_phase,
    every_depth,
    on_own_batch,
)
from icl_core.training import phases

ENDLESS = "endless"
TESTED = 1000  # prompts that the authors test conjugate gradient on


def compute(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Learn from every number of prompts N and for every number of steps, all seeds together.
    `size/prompts` [N]; `evaluated/loss`, `/median`, `/train` [seeds, N, K] on fresh prompts and on
    its own; `endless/loss`, `/median` [seeds, K]; `curve/*` of the fewest prompts; `baseline/*`
    [K], `baseline/cg_train` [seeds, N, K]."""
    models = {str(size): model_of(config, size) for size in sizes_of(config)}
    every = {**models, ENDLESS: model_of(config, None)}
    labels = {name: f"{name} prompts" for name in every}
    if config.prompts == "spheres":
        plan = bounded.plan(every, labels)
    else:
        plan = at_once(every_depth(every, labels), by_phase(every))
    results = phases.run(plan, progress, partial(phases.curves, plan[0].name))
    of = partial(by_depth, results, layers=config.layers)  # [seeds, K]
    by_size = {
        measure: np.stack([of(size, measure=measure) for size in models], 1)
        for measure in ("loss", "median", "train")
    }
    return {
        **phases.curves(plan[0].name, results),
        **{f"evaluated/{measure}": losses for measure, losses in by_size.items()},
        **{f"endless/{measure}": of(ENDLESS, measure=measure) for measure in ("loss", "median")},
        "size/prompts": np.array(sizes_of(config)),
        **_baselines(config, models),
    }


def _baselines(config: Config, models: Mapping[str, Model]) -> dict[str, np.ndarray]:
    """Return `baseline/*` [K] on fresh prompts and `baseline/cg_train` [seeds, N, K]; of the
    authors' own prompts, `authors/cg` [K] too."""
    if config.prompts == "spheres":
        return bounded.conjugate_gradient(models)
    endless = model_of(config, None)
    own = [on_own_batch(model)["baseline/cg_train"] for model in models.values()]
    lines = {**baseline_losses(endless), "baseline/cg_train": np.stack(own, 1)}
    return {**lines, **_of_authors(config, endless)}


def _of_authors(config: Config, model: Model) -> dict[str, np.ndarray]:
    """Return `authors/cg` [K] of their own prompts: conjugate gradient on 1000 of them, with the
    example that the methods do not see."""
    if config.batches != "authors":
        return {}
    normals = authors_prompts.classical_batch(config.d, config.n + LEFT_OUT, 0, TESTED)
    losses = authors_test.on_batch(normals, model, config.n + LEFT_OUT)
    return {"authors/cg": losses["cg"]}
