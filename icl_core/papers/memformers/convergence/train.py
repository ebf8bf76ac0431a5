"""Trains the preconditioners of one depth."""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from icl_core.contract.experiment import Progress, Tensors
from icl_core.papers.memformers.convergence.settings import Config
from icl_core.papers.memformers.shared import batched_trainings
from icl_core.papers.memformers.shared.baselines import construction
from icl_core.papers.memformers.shared.load_run import preview_of
from icl_core.papers.memformers.shared.train import frozen, has_segments, training_phase
from icl_core.training import phases, segments

MAIN = "main"


def compute(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Train one depth, all seeds together. `curve/*` [seeds, evaluations] beside `curve/step`;
    `snapshot/*` [snapshots, seeds, …] beside `snapshot/step`; `final/<L>/*`; `evaluated/*` [seeds];
    `reference/floor_steps` [L, L]; `frozen/*`."""
    name = _name(config)
    curves = partial(phases.curves, name)
    preview = _previews([config])[0]
    in_segments = has_segments(config) and segments.wanted()
    plan = [training_phase(name, config, in_segments=in_segments)]
    results = phases.run(plan, progress, curves, preview=preview)[name]
    return _kept(config, results)


def compute_together(
    configs: Sequence[Config], progresses: Sequence[Progress]
) -> Iterator[tuple[int, Tensors | Exception]]:
    """Return what `compute` returns for each, all trained as one: see `Batching`."""
    names = [_name(config) for config in configs]
    plans = [
        (training_phase(name, config), progress, partial(phases.curves, name))
        for name, config, progress in zip(names, configs, progresses, strict=True)
    ]
    train = partial(batched_trainings.train, MAIN, configs)
    for index, results in phases.run_together(plans, train, previews=_previews(configs)):
        yield (
            index,
            results
            if isinstance(results, Exception)
            else _kept(configs[index], results[names[index]]),
        )


def _previews(configs: Sequence[Config]) -> list[phases.Show]:
    """Return what makes the previews of each run."""
    return [partial(_preview, config) for config in configs]


def _preview(config: Config, results: phases.Made) -> Tensors:
    return preview_of(config.layers, results[_name(config)])


def completed(config: Config, tensors: Tensors) -> dict[str, np.ndarray]:
    """Return what else the stage needs of a run in training: the construction and the
    covariances."""
    return {**construction(config), **frozen(config)}


def _name(config: Config) -> str:
    return f"{MAIN} {config.layers}"


def _kept(config: Config, results: Tensors) -> dict[str, np.ndarray]:
    final = {f"final/{config.layers}/{key}": array for key, array in phases.final(results).items()}
    others = {key: array for key, array in results.items() if not key.startswith("final/")}
    return {**others, **final, **construction(config), **frozen(config)}
