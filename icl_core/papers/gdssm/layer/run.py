"""Train a layer, and ask of it beyond its loss what no view should have to compute: tasks of
another scale (Figures 1 D and 2 D), and the construction on the tasks that the curves are watched
on. Several trainings may go as one program: those that differ in their learning rate alone, and so
read the same tasks."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from icl_core.contract.experiment import Progress, Tensors
from icl_core.contract.knobs import knobs_of
from icl_core.machine import device
from icl_core.papers.gdssm.layer import exact
from icl_core.papers.gdssm.layer.settings import as_here
from icl_core.papers.gdssm.shared import any_layer as models
from icl_core.papers.gdssm.shared import closed_forms, train
from icl_core.papers.gdssm.shared.load_run import model_of
from icl_core.papers.gdssm.shared.settings import Config
from icl_core.training import batched, loop, phases, rows, segments
from icl_core.training.phases import Wanted

TRAIN = "train"
ALPHAS = np.array([0.1, 0.3, 0.5, 0.7, 0.85, 1.0, 1.15, 1.3, 1.41, 1.55, 1.7, 2.0, 2.5, 3.0])
SWEPT = (2**14, 2**21)  # tasks at most, and numbers of x at most, at every scale
MOST_RUNS = 20  # at once: beyond it a run costs hardly less
CACHED_NUMBERS = 2**19  # of all rows' windows, that stay in a core's cache


def compute(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Train and evaluate as in `train.train`; then `sweep/alpha` [scales]; `sweep/trained` [seeds,
    scales], `sweep/constructed`, `sweep/closed` (NaN where there is no closed form) and
    `sweep/zero` [scales]; `watched/constructed` [1]. Where they apply: `beside/step`, `beside/loss`
    [seeds, evaluations] of our training of the same model; `population/*` [1, ...];
    `baseline/stacked` and `baseline/left_out` [1] of `exact`."""
    in_segments = train.has_segments(config) and segments.wanted()
    plan = [train.training_phase(TRAIN, config, "as the authors train", in_segments)]
    if config.optimiser == "authors":
        plan.append(train.training_phase("beside", as_here(config), "as here", in_segments))
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
    train_all = partial(train_rates, configs)
    previews = [_preview] * len(plans)
    for index, result in phases.run_together(plans, train_all, previews=previews):
        if isinstance(result, Exception):
            yield index, result
        else:
            results[index] = result[TRAIN]
    if results:
        config = configs[0]
        known = _known(config)
        sweeps = run_by_run(
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
    scales = [float(alpha) for alpha in ALPHAS]
    # [seeds of all runs + 1, scales]
    losses = train.losses_over_runs(trained, [constructed], tasks, scales)
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
    if exact.has_expected_loss(config):
        best = exact.optimum(config).to(torch.float32)
        extra = {f"population/{name}": tensor.numpy() for name, tensor in best.tensors().items()}
    if config.model == "1-D" and config.layers == 2:
        floors = exact.second_step_floors(train.held_out(config))
        extra |= {
            f"baseline/{name}": np.array([value], np.float32) for name, value in floors.items()
        }
    return extra


def alike(config: Config) -> Hashable:
    """Return what trainings of one program have in common."""
    return tuple(
        (name, getattr(config, name)) for name in knobs_of(Config) if name != "learning_rate"
    )


def most_together(config: Config) -> int:
    """Return how many runs go together: one where the optimiser has two rates, or where products
    mix the seeds with all else."""
    if config.optimiser != "ours" or config.recurrence == "full":
        return 1
    return max(
        1, min(MOST_RUNS, CACHED_NUMBERS // (config.seeds * config.N * config.f * config.batch))
    )


def train_rates(
    configs: Sequence[Config], wanted: Mapping[int, Wanted]
) -> Iterator[tuple[int, dict[str, np.ndarray] | Exception]]:
    """Train the runs that are wanted as one. Yield each by the index of its config as it ends: the
    run's tensors, or the exception that ended it."""
    indices = list(wanted)
    config = configs[min(wanted)]
    weights = [train.initial(config) for _ in indices]
    measure = train.watched(config)
    problems = [
        train.problem(configs[index], own, measure)
        for index, own in zip(indices, weights, strict=True)
    ]
    members = [
        batched.Member(problem, wanted[index].resumed, wanted[index].report)
        for index, problem in zip(indices, problems, strict=True)
    ]

    def join(kinds: Sequence[batched.Kind]) -> batched.Whole:
        """Return the runs that still train as one model, their seeds one after another."""
        (rates,) = kinds
        count = len(rates.indices)
        leader = problems[rates.indices[0]].generators[0]
        model = replace(weights[0].with_(**rates.parameters), runs=count)

        def gradient(step: int) -> tuple[list[dict[str, Tensor]], loop.Measures]:
            gradients, measures = train.gradient(model, train.draw(config, config.batch, leader))
            return [gradients], measures

        def evaluate(step: int) -> Sequence[loop.Measures]:
            return rows.by_member(measure(model), [config.seeds] * count)

        return batched.Whole(gradient, evaluate, [0] * count)

    ended: dict[int, loop.State] = {}
    for member, state in batched.train(members, join, config.steps, train.evaluations(config)):
        if isinstance(state, Exception):
            yield indices[member], state
        else:
            ended[member] = state
    yield from _evaluate_ended(
        config, {indices[member]: (weights[member], state) for member, state in ended.items()}
    )


def _evaluate_ended(
    config: Config, ended: Mapping[int, tuple[models.Model, loop.State]]
) -> Iterator[tuple[int, dict[str, np.ndarray]]]:
    """Yield of each run what `train.train_layer` returns, evaluated all at once."""
    if ended:
        losses = train.evaluate(config, [weights for weights, _ in ended.values()])
        by_run = run_by_run(losses, config.seeds)
        for (index, (_, state)), own in zip(ended.items(), by_run, strict=False):
            yield index, {**train.kept(state), **own}


def run_by_run(
    results: Mapping[str, np.ndarray], seeds: int, rows: tuple[str, ...] = ("evaluated",)
) -> Iterator[dict]:
    """Yield the results of several runs, run by run: those whose name begins with one of `rows`
    have the rows of all runs first, all else is the same for all."""
    start = 0
    while True:
        yield {
            name: array[start : start + seeds] if name.startswith(rows) else array
            for name, array in results.items()
        }
        start += seeds
