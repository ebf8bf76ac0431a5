"""Learns methods of every number of steps from every number of prompts."""

from dataclasses import replace
from functools import partial

import numpy as np

from icl_core.experiment import Progress
from icl_core.papers.memformers.learned.settings import Config, model_of, sizes_of
from icl_core.papers.memformers.shared.baselines import baselines
from icl_core.papers.memformers.shared.train import on_own_batch, training_phase
from icl_core.training import phases

ENDLESS = "endless"


def run(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Learn from every number of prompts N and for every number of steps, all seeds together. `size/prompts` [N];
    `evaluated/loss`, `/error`, `/train` [seeds, N, K] on fresh prompts and on its own; `endless/loss` [seeds, K];
    `curve/*` of the fewest prompts; `baseline/*` [K], `baseline/cg_train` [seeds, N, K]."""
    models = {str(size): model_of(config, size) for size in sizes_of(config)}
    every = {**models, ENDLESS: model_of(config, None)}
    depths = range(1, config.layers + 1)
    # the deepest first: its curves are the ones to watch
    plan = [
        training_phase(f"{name} {depth}", replace(model, layers=depth))
        for depth in reversed(depths)
        for name, model in every.items()
    ]
    made = phases.run(plan, progress, partial(phases.curves, plan[0].name))

    def evaluated(name: str, measure: str) -> np.ndarray:
        return np.stack([made[f"{name} {depth}"][f"evaluated/{measure}"] for depth in depths], 1)  # [seeds, K]

    by_size = {name: np.stack([evaluated(size, name) for size in models], 1) for name in ("loss", "error", "train")}
    return {
        **phases.curves(plan[0].name, made),
        **{f"evaluated/{name}": array for name, array in by_size.items()},
        "endless/loss": evaluated(ENDLESS, "loss"),
        "size/prompts": np.array(sizes_of(config)),
        **baselines(every[ENDLESS]),
        "baseline/cg_train": np.stack([on_own_batch(model)["baseline/cg_train"] for model in models.values()], 1),
    }
