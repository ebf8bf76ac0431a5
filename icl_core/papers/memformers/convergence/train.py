"""Trains the preconditioners of one depth."""

from functools import partial

import numpy as np

from icl_core.experiment import Progress
from icl_core.papers.memformers.convergence.settings import Config
from icl_core.papers.memformers.shared.baselines import construction
from icl_core.papers.memformers.shared.train import frozen, training_phase
from icl_core.training import phases


def run(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Train one depth, all seeds together. `curve/*` [seeds, evaluations] beside `curve/step`; `snapshot/*`
    [snapshots, seeds, …] beside `snapshot/step`; `final/<L>/*`; `evaluated/*` [seeds]; `reference/floor_steps` [L, L];
    `frozen/*`."""
    name = f"main {config.layers}"
    made = phases.run([training_phase(name, config)], progress, partial(phases.curves, name))[name]
    final = {f"final/{config.layers}/{key}": array for key, array in phases.final(made).items()}
    kept = {key: array for key, array in made.items() if not key.startswith("final/")}
    return {**kept, **final, **construction(config), **frozen(config)}
