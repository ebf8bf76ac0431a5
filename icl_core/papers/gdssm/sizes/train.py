"""Train a layer for every size, one after the other."""

from functools import partial

import numpy as np

from icl_core.contract.experiment import Progress
from icl_core.papers.gdssm.shared import train
from icl_core.papers.gdssm.sizes.settings import Config, layer_of, sizes_of
from icl_core.training import phases


def compute(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Train every size. Return `size/f`, `size/N` [sizes]; `evaluated/loss`, `/ratio` and `/scaled`
    [seeds, sizes]; `baseline/expected`, `/constructed` and `/zero` [sizes]; `curve/*` of the first
    size."""
    sizes = sizes_of(config)
    plan = [
        train.training_phase(f"f {f} N {N}", layer_of(config, f, N), f"f = {f}, N = {N}")
        for f, N in sizes
    ]
    results = phases.run(plan, progress, partial(phases.curves, plan[0].name))
    columns = [results[phase.name] for phase in plan]
    evaluated = [f"evaluated/{name}" for name in ("loss", "ratio", "scaled")]
    baselines = [f"baseline/{name}" for name in ("expected", "constructed", "zero")]
    return {
        **phases.curves(plan[0].name, results),
        "size/f": np.array([f for f, _ in sizes]),
        "size/N": np.array([N for _, N in sizes]),
        **{name: np.stack([column[name] for column in columns], 1) for name in evaluated},
        **{name: np.concatenate([column[name] for column in columns]) for name in baselines},
    }
