"""Train GD-SSM on fresh tasks, all seeds in one pass, and evaluate it beside its construction on
the same tasks.

Seeds differ in their initial weights and read the same tasks, whose products are then computed once
for all. Settings that converge for every seed: plain Adam without weight decay, a cosine to zero,
weights N(0, 0.1^2), a ~ U(0.95, 1) left free, beta = 1 / N at first. The authors' way (Appendix
A.5) is an option: AdamW, half the rate for the recurrence, a warm-up, batches of 64, for vector
labels too, where A.6 names Adam, without decay or warm-up; the weights begin as ours do, of which
the paper says nothing.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from icl_core.contract.experiment import Progress, Tensors
from icl_core.machine import device
from icl_core.papers.gdssm.shared import any_layer as models
from icl_core.papers.gdssm.shared import closed_forms, construction
from icl_core.papers.gdssm.shared.any_layer import Model
from icl_core.papers.gdssm.shared.settings import DERIVED, TEST_SET, Config
from icl_core.papers.gdssm.shared.task import Tasks, loss, sample
from icl_core.training import loop, phases, several_seeds

DECAY = 0.05  # the authors' weight decay
SLOWER = 0.5  # their factor on the learning rate of the recurrence
WARM_UP = 0.01  # and the share of the steps that rise, which they do not give
RECURRENT = ("a", "a_tilde")
EVALUATIONS = 5, 30  # every so many steps at first, and so many of these
WATCHED = (2**10, 2**20)  # held-out tasks at most, and numbers of x at most
CEILING = 1e4  # times the loss of predicting zero


def draw(config: Config, tasks: int, generator: torch.Generator) -> Tasks:
    """Draw fresh tasks of a setting, on the device."""
    fresh = sample(config.f, config.N, tasks, generator, config.labels, config.r)
    return fresh.to(device.current_device())


def count(config: Config, most: tuple[int, int]) -> int:
    """Return how many tasks are held out."""
    return max(256, min(most[0], most[1] // (config.N * config.f)))


def held_out(config: Config, most: tuple[int, int] = TEST_SET) -> Tasks:
    """Return tasks that no training saw, the same for every seed."""
    return draw(config, count(config, most), torch.Generator().manual_seed(2**31 + 17))


def run(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Train and evaluate.

    `curve/*` [seeds, evaluations] beside `curve/step`; `snapshot/*` [snapshots, seeds, ...] beside
    `snapshot/step`; `final/*` [seeds, ...]; `constructed/*` [1, ...]; `evaluated/*` [seeds];
    `baseline/*` [1]. Snapshots are few numbers and are kept whole: what is shown of them is how far
    they are off the construction, which is less than rounding would move a decay that is raised to
    the tenth. Raise `Diverged` and `Cancelled`.
    """
    plan = [training_phase("train", config)]
    return phases.run(plan, progress, lambda results: results.get("train", {}))["train"]


def training_phase(
    name: str, config: Config, label: str = "", in_segments: bool = False
) -> phases.Phase:
    """Return one training, as a part of a run, called `label` for people, in compiled segments if
    it is to be."""
    train = partial(train_layer, config, in_segments)
    return phases.Phase(name, config.steps, train, loop.State.curves, label=label)


def has_segments(config: Config) -> bool:
    """Return whether `fast_segment` makes the steps of a training."""
    is_single = config.layers == 1 and config.model == "N-D"
    return is_single and config.recurrence != "full" and config.labels == config.f


def train_layer(
    config: Config, in_segments: bool, resumed: Tensors, report: phases.Report
) -> dict[str, np.ndarray]:
    """Train from start to end, or on from `resumed`."""
    weights = initial(config)
    task = problem(config, weights, watched(config))
    task = with_segments(config, task) if in_segments else task
    state = loop.train(task, config.steps, evaluations(config), resumed, report)
    return {**kept(state), **evaluate(config, [weights])}


def initial(config: Config) -> Model:
    """Return the weights of all seeds before training, on the device."""
    if config.start == "construction":
        return models.constructed(config, held_out(config), shared=True).to(device.current_device())
    seeds = list(range(config.seed, config.seed + config.seeds))
    return models.initial(config, seeds).to(device.current_device())


def evaluations(config: Config) -> list[int]:
    """Return the steps at which a training is evaluated."""
    return loop.evaluations(config.steps, *EVALUATIONS)


def kept(state: loop.State) -> dict[str, np.ndarray]:
    """Return curves, and the snapshots in which something happens."""
    distance, cosine = state.moving("prediction_distance", "sensitivity_cosine")
    snapshots = loop.spread([distance, np.log(distance), cosine])
    return {**state.curves(), **state.snapshot_arrays(snapshots)}


def problem(
    config: Config, weights: Model, measure: Callable[[Model], loop.Measures]
) -> loop.Problem:
    """Return what the loop trains, watched by `measure`; `weights` change in place."""
    generator = torch.Generator().manual_seed(10_000 + config.seed)
    return loop.Problem(
        parameters=weights.tensors(),
        gradient=lambda step: gradient(weights, draw(config, config.batch, generator)),
        evaluate=lambda step: measure(weights),
        optimiser=partial(optimiser, config, tuple(weights.tensors())),
        generators=(generator,),
        loss="loss",
        schedule=loop.cosine(config.steps, WARM_UP if config.optimiser == "authors" else 0.0),
        ceiling=CEILING * closed_forms.zero_loss(config.f, config.r),
    )


def with_segments(config: Config, task: loop.Problem) -> loop.Problem:
    """Return the problem of a training that goes in compiled segments. Imports numba."""
    from icl_core.papers.gdssm.shared.fast_segment import Segment

    slower, decay = (1.0, 0.0) if config.optimiser == "ours" else (SLOWER, DECAY)
    return replace(task, segment=Segment(config, task, slower, decay))


def optimiser(
    config: Config, names: Sequence[str], parameters: list[Tensor]
) -> torch.optim.Optimizer:
    """Return our optimiser, or the authors' (Appendix A.5): AdamW, with half the rate for the
    recurrence."""
    if config.optimiser == "ours":
        return torch.optim.Adam(parameters, lr=config.learning_rate)
    named = list(zip(names, parameters, strict=True))
    slow = [tensor for name, tensor in named if name in RECURRENT]
    others = [tensor for name, tensor in named if name not in RECURRENT]
    groups = [
        {"params": slow, "lr": SLOWER * config.learning_rate},
        {"params": others, "lr": config.learning_rate},
    ]
    return torch.optim.AdamW(groups, weight_decay=DECAY)


def watched(config: Config) -> Callable[[Model], dict[str, np.ndarray]]:
    """Return a function that measures how far a model is from the construction, on the tasks that
    trainings are watched on: see `distance_to_construction`."""
    tasks = held_out(config, WATCHED)
    constructed = models.constructed(config, tasks).to(device.current_device())
    return distance_to_construction(constructed, tasks)


def distance_to_construction(
    constructed: Model, tasks: Tasks
) -> Callable[[Model], dict[str, np.ndarray]]:
    """Return a function that measures how far a trained model is from a construction of one seed
    (Section 4.1, Figures 1 and 2). It returns for every seed, [seeds]: the loss; the mean L2
    distance of the predictions; the mean cosine and L2 distance of the sensitivities, the
    derivatives of the prediction by the query's x."""
    first = tasks.part(0, DERIVED)
    prediction = models.predict(constructed, tasks)[0]  # (n_o, tasks)
    sensitivity = models.sensitivity(constructed, first)[0].flatten(0, 1)  # (n_o f, DERIVED)

    def measure(weights: Model) -> dict[str, np.ndarray]:
        predicted = models.predict(weights, tasks)  # (seeds, n_o, tasks)
        derived = models.sensitivity(weights, first).flatten(1, 2)  # (seeds, n_o f, DERIVED)
        cosine = torch.cosine_similarity(derived, sensitivity[None], dim=1)  # (seeds, DERIVED)
        measures = {
            "loss": loss(predicted, tasks.y[-1]),
            "prediction_distance": (predicted - prediction).norm(dim=1).mean(-1),
            "sensitivity_cosine": cosine.mean(-1),
            "sensitivity_distance": (derived - sensitivity).norm(dim=1).mean(-1),
        }
        return {name: value.cpu().numpy() for name, value in measures.items()}

    return measure


def gradient(weights: Model, tasks: Tasks) -> tuple[dict[str, Tensor], dict[str, np.ndarray]]:
    """Return the gradient of every seed's loss by its own weights, and the losses [seeds]."""
    leaves = several_seeds.leaves(weights.tensors())
    changed = weights.with_(**leaves)
    losses = loss(models.forward(changed, models.read(changed, tasks)), tasks.y[-1])
    return several_seeds.gradients(losses, leaves), {"loss": losses.detach().cpu().numpy()}


def evaluate(config: Config, weights: Sequence[Model]) -> dict[str, np.ndarray]:
    """Return the losses of trained models, of one run or of several, and of constructions on the
    same tasks.

    `evaluated/scaled` is the expected loss of the construction times trained / constructed: what
    the trained model would reach on infinitely many tasks, without most of the tasks' noise. NaN
    where there is no closed form.
    """
    tasks = held_out(config)
    place = device.current_device()
    best = models.constructed(config, tasks).to(place)
    shared = models.constructed(config, tasks, shared=True).to(place)
    losses = losses_over_runs(weights, (best, shared), tasks)[:, 0]  # [seeds of all]
    baseline = expected(config)
    trained = losses[:-2]  # [seeds of all runs]
    constructed = losses[-2:-1]
    one_rate = losses[-1:]
    numbers = {
        "evaluated/loss": trained,
        "evaluated/ratio": trained / constructed,
        "evaluated/scaled": baseline * trained / constructed,
        "baseline/constructed": constructed,
        "baseline/shared": one_rate,
        "baseline/floor": np.array([construction.best_mixture(tasks, config.layers)[1]]),
        "baseline/expected": np.array([baseline]),
        "baseline/zero": np.array([closed_forms.zero_loss(config.f, config.r)]),
    }
    return {
        **{name: value.astype(np.float32) for name, value in numbers.items()},
        **{f"constructed/{name}": tensor.cpu().numpy() for name, tensor in best.tensors().items()},
    }


def construct(config: Config) -> dict[str, np.ndarray]:
    """Return the construction, `constructed/*` [1, ...], that a training is watched beside: best on
    fewer tasks than the one that it is evaluated beside."""
    best = models.constructed(config, held_out(config, WATCHED))
    return {f"constructed/{name}": tensor.cpu().numpy() for name, tensor in best.tensors().items()}


def expected(config: Config, alpha: float = 1.0) -> float:
    """Return the construction's mean loss in closed form, on tasks alpha times as large as those
    that its rates are best for: one step, or two without penalty; NaN otherwise."""
    f = config.f
    N = config.N
    r = config.r
    if config.layers == 1:
        return closed_forms.one_step_loss(closed_forms.best_beta(f, N, r), f, N, alpha * r)
    if config.layers == 2 and config.penalty == 0:
        best = closed_forms.two_steps_free(f, N, r)
        return closed_forms.two_step_loss(best.A, best.B, f, N, alpha * r)
    return math.nan


def losses_over_runs(
    trained: Sequence[Model],
    others: Sequence[Model],
    tasks: Tasks,
    scales: Sequence[float] = (1.0,),
) -> np.ndarray:
    """Return the losses, [seeds, scales], of every seed of the trained models, of several runs, and
    then of the others beside them, on the tasks and on the same with x, and so y, so many times as
    large: each to the last bit as of that run by itself.

    What depends on the tasks alone is computed once for all. But libraries may add up a product in
    another order where it has more rows, above all of the few tasks that are left behind the last
    chunk. So whether they do is looked at first.
    """
    full = len(tasks) - len(tasks) % models.chunk(tasks)
    bounds = [(start, stop) for start, stop in ((0, full), (full, len(tasks))) if start < stop]
    ways = [_way_to_predict(trained, others, tasks.part(*each)) for each in bounds]

    def predicted(scale: float) -> Tensor:
        """Return the predictions (seeds of all models, n_o, tasks)."""
        scaled = tasks.times(scale)
        parts = [scaled.part(*each) for each in bounds]
        return torch.cat(
            [way(trained, others, part) for way, part in zip(ways, parts, strict=True)], -1
        )

    if models.is_cubic(trained[0]):
        prediction = predicted(1.0)
        predictions = (scale**3 * prediction for scale in scales)
    else:
        predictions = map(predicted, scales)
    label = tasks.y[-1]
    by_scale = [loss(each, scale * label) for each, scale in zip(predictions, scales, strict=True)]
    return torch.stack(by_scale, 1).cpu().numpy()


def _way_to_predict(
    trained: Sequence[Model], others: Sequence[Model], tasks: Tasks
) -> Callable[..., Tensor]:
    """Return how tasks like these are read: all runs at once where that changes no digit of the
    first chunk."""
    first = tasks.part(0, min(len(tasks), models.chunk(tasks)))
    same = len(trained) == 1 or torch.equal(
        _predicted_at_once(trained, others, first), _predicted_apart(trained, others, first)
    )
    return _predicted_at_once if same else _predicted_apart


def _predicted_at_once(trained: Sequence[Model], others: Sequence[Model], tasks: Tasks) -> Tensor:
    """Return the predictions of all runs, (seeds of all, n_o, tasks), in one call."""
    return models.predict(models.joined(*trained, *others), tasks)


def _predicted_apart(trained: Sequence[Model], others: Sequence[Model], tasks: Tasks) -> Tensor:
    """Return the same, run by run."""
    predictions = [models.predict(models.joined(run, *others), tasks) for run in trained]
    beside = sum(len(other.a) for other in others)
    own = [prediction[:-beside] for prediction in predictions]  # the last rows are the others'
    return torch.cat([*own, predictions[0][-beside:]])
