"""Trains a layer, and asks of it beyond its loss what no view should have to compute: tasks of
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
from icl_core.papers.gdssm.shared import batched_rates, closed_forms, over_runs, train
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
    made = trained[TRAIN]
    return {**made, **_beside(trained), **_swept(config, [made]), **_known(config)}


def compute_together(
    configs: Sequence[Config], progresses: Sequence[Progress]
) -> Iterator[tuple[int, Tensors | Exception]]:
    """Return what `compute` returns for each, all trained as one: see `Batching`."""
    plans = [
        (train.training_phase(TRAIN, config), progress, partial(phases.curves, TRAIN))
        for config, progress in zip(configs, progresses, strict=True)
    ]
    made: dict[int, Tensors] = {}
    train_all, previews = partial(batched_rates.train, configs), [_preview] * len(plans)
    for index, found in phases.run_together(plans, train_all, previews=previews):
        if isinstance(found, Exception):
            yield index, found
        else:
            made[index] = found[TRAIN]
    if made:
        config, known = configs[0], _known(configs[0])
        swept = batched_rates.split(
            _swept(config, list(made.values())), config.seeds, ("sweep/trained",)
        )
        for index, own in zip(made, swept, strict=False):
            yield index, {**made[index], **own, **known}


def _preview(trained: phases.Made) -> Tensors:
    """The weights of all seeds as they are now; after their training, as they ended."""
    tensors = trained[TRAIN]
    weights = {f"snapshot/{name}": array[None] for name, array in phases.final(tensors).items()}
    return {"snapshot/step": tensors["snapshot/step"][-1:], **weights}


def completed(config: Config, tensors: Tensors) -> dict[str, np.ndarray]:
    """What else the stage needs of a run in training: the construction."""
    return train.construct(config)


def _beside(trained: phases.Made) -> dict[str, np.ndarray]:
    """The curve of the training that goes beside the run's own."""
    return {
        f"beside/{name}": trained["beside"][f"curve/{name}"]
        for name in ("step", "loss")
        if "beside" in trained
    }


def _swept(config: Config, made: Sequence[Tensors]) -> dict[str, np.ndarray]:
    """Trained, in one run or several, and constructed at every scale, and the construction on the
    watched tasks."""
    trained = [model_of(config, each, "final/").to(device.current_device()) for each in made]
    constructed = model_of(config, made[0], "constructed/").to(
        device.current_device()
    )  # the same for all
    tasks = train.held_out(config, SWEPT)
    scaled = (tasks.times(float(alpha)) for alpha in ALPHAS)
    swept = np.stack(
        list(over_runs.losses(trained, [constructed], scaled)), 1
    )  # (seeds + 1, scales)
    return {
        "sweep/alpha": ALPHAS,
        "sweep/trained": swept[:-1],
        "sweep/constructed": swept[-1],
        "sweep/closed": np.array([train.expected(config, alpha) for alpha in ALPHAS]),
        "sweep/zero": np.array(
            [closed_forms.zero_loss(config.f, alpha * config.r) for alpha in ALPHAS]
        ),
        "watched/constructed": models.losses(constructed, train.held_out(config, train.WATCHED)),
    }


def _known(config: Config) -> dict[str, np.ndarray]:
    """What is known of the model, trained or not."""
    found = {}
    if population.applies(config):
        best = population.optimum(config).to(torch.float32)
        found = {f"population/{name}": tensor.numpy() for name, tensor in best.tensors().items()}
    if config.model == "1-D" and config.layers == 2:
        floors = second_step.floors(train.held_out(config))
        found |= {
            f"baseline/{name}": np.array([value], np.float32) for name, value in floors.items()
        }
    return found
