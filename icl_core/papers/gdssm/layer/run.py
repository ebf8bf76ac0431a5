"""Train a layer, and ask of it beyond its loss what no view should have to compute: tasks of
another scale (Figures 1 D and 2 D), and the construction on the tasks that the curves are watched
on."""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import torch

from icl_core.contract.experiment import Progress, Tensors
from icl_core.machine import device
from icl_core.papers.gdssm.layer import population, second_step
from icl_core.papers.gdssm.layer.settings import as_here
from icl_core.papers.gdssm.shared import any_layer as models
from icl_core.papers.gdssm.shared import batched_rates, closed_forms, train
from icl_core.papers.gdssm.shared.load_run import model_of
from icl_core.papers.gdssm.shared.settings import Config
from icl_core.training import phases

TRAIN = "train"
ALPHAS = np.array([0.1, 0.3, 0.5, 0.7, 0.85, 1.0, 1.15, 1.3, 1.41, 1.55, 1.7, 2.0, 2.5, 3.0])
SWEPT = (2**14, 2**21)  # tasks at most, and numbers of x at most, at every scale


def compute(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Train and evaluate as in `train.train`; then `sweep/alpha` [scales]; `sweep/trained` [seeds,
    scales], `sweep/constructed`, `sweep/closed` (NaN where there is no closed form) and
    `sweep/zero` [scales]; `watched/constructed` [1]. Where they apply: `beside/step`, `beside/loss`
    [seeds, evaluations] of our training of the same model; `population/*` [1, ...];
    `baseline/stacked` and `baseline/left_out` [1] of `second_step`."""
    plan = [train.training_phase(TRAIN, config, "as the authors train")]
    if config.optimiser == "authors":
        plan.append(train.training_phase("beside", as_here(config), "as here"))
    trained = phases.run(plan, progress, partial(phases.curves, TRAIN), preview=_preview)
    results = trained[TRAIN]
    return {**results, **_beside(trained), **_swept(config, [results]), **_known(config)}


def compute_together(
    configs: Sequence[Config], progresses: Sequence[Progress]
) -> Iterator[tuple[int, Tensors | Exception]]:
    """Return what `compute` returns for each, all trained as one: see `Batching`."""
    plans = [
        (train.training_phase(TRAIN, config), progress, partial(phases.curves, TRAIN))
        for config, progress in zip(configs, progresses, strict=True)
    ]
    results: dict[int, Tensors] = {}
    train_all = partial(batched_rates.train, configs)
    previews = [_preview] * len(plans)
    for index, result in phases.run_together(plans, train_all, previews=previews):
        if isinstance(result, Exception):
            yield index, result
        else:
            results[index] = result[TRAIN]
    if results:
        config = configs[0]
        known = _known(config)
        sweeps = batched_rates.split(
            _swept(config, list(results.values())), config.seeds, ("sweep/trained",)
        )
        for index, sweep in zip(results, sweeps, strict=False):
            yield index, {**results[index], **sweep, **known}


def _preview(trained: phases.Made) -> Tensors:
    """Return the weights of all seeds as they are now; after their training, as they ended."""
    tensors = trained[TRAIN]
    weights = {f"snapshot/{name}": array[None] for name, array in phases.final(tensors).items()}
    return {"snapshot/step": tensors["snapshot/step"][-1:], **weights}


def completed(config: Config, tensors: Tensors) -> dict[str, np.ndarray]:
    """Return what else the stage needs of a run in training: the construction."""
    return train.construct(config)


def _beside(trained: phases.Made) -> dict[str, np.ndarray]:
    """Return the curve of the training that goes beside the run's own."""
    if "beside" not in trained:
        return {}
    return {f"beside/{name}": trained["beside"][f"curve/{name}"] for name in ("step", "loss")}


def _swept(config: Config, results: Sequence[Tensors]) -> dict[str, np.ndarray]:
    """Evaluate the trained models, of one run or several, and the constructed one at every scale,
    and the construction on the watched tasks."""
    place = device.current_device()
    trained = [model_of(config, tensors, "final/").to(place) for tensors in results]
    constructed = model_of(config, results[0], "constructed/").to(place)  # the same for all runs
    tasks = train.held_out(config, SWEPT)
    scaled = (tasks.times(float(alpha)) for alpha in ALPHAS)
    by_scale = list(train.losses_over_runs(trained, [constructed], scaled))
    losses = np.stack(by_scale, 1)  # [seeds of all runs + 1, scales]
    return {
        "sweep/alpha": ALPHAS,
        "sweep/trained": losses[:-1],
        "sweep/constructed": losses[-1],
        "sweep/closed": np.array([train.expected(config, alpha) for alpha in ALPHAS]),
        "sweep/zero": np.array(
            [closed_forms.zero_loss(config.f, alpha * config.r) for alpha in ALPHAS]
        ),
        "watched/constructed": models.losses(constructed, train.held_out(config, train.WATCHED)),
    }


def _known(config: Config) -> dict[str, np.ndarray]:
    """Return what is known of the model, trained or not."""
    extra = {}
    if population.applies(config):
        best = population.optimum(config).to(torch.float32)
        extra = {f"population/{name}": tensor.numpy() for name, tensor in best.tensors().items()}
    if config.model == "1-D" and config.layers == 2:
        floors = second_step.floors(train.held_out(config))
        extra |= {
            f"baseline/{name}": np.array([value], np.float32) for name, value in floors.items()
        }
    return extra
