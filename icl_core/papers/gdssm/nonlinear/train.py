"""Train the seven models on sines one after the other, all seeds in one pass, and evaluate them on
the same tasks.

Plain Adam without weight decay, a cosine to zero, as for the linear tasks.
"""

import math
from functools import partial
from itertools import product

import numpy as np
import torch
from torch import Tensor

from icl_core.contract.experiment import Progress, Tensors, names
from icl_core.machine import device
from icl_core.papers.gdssm.nonlinear.model import Model, forward, frozen, initial
from icl_core.papers.gdssm.nonlinear.settings import (
    FIGURE_4B,
    SIDE_BY_SIDE,
    VARIANTS,
    Config,
    Variant,
)
from icl_core.papers.gdssm.shared import construction
from icl_core.papers.gdssm.shared.task import Tasks, sample_sine
from icl_core.training import loop, phases, several_seeds

EVALUATIONS = 10, 30  # every so many steps at first, and so many of these
WATCHED = 2**11  # held-out tasks of the curves
TEST_SET = 2**15  # held-out tasks of the end
CHUNK = 2**17  # hidden units and seeds times tokens held at a time
CEILING = 100.0  # a loss above it, where predicting zero costs 0.026, counts as diverged
ZERO = 0.31 / 12  # E amplitude^2 / 4: predicting zero, the phase all but averaged over x
MEAN = 0.3 * 2 / math.pi  # of the labels at x, times cos x: E amplitude times E sin phase


def held_out(config: Config, count: int) -> Tasks:
    """Return tasks that no training saw, the same for every seed and model."""
    tasks = sample_sine(config.N, count, torch.Generator().manual_seed(2**31 + 17))
    return tasks.to(device.current_device())


def compute(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Train and evaluate all variants.

    `names/variants`; for each, by its id: `curve/*` and `evaluated/*`, `/blind` (its labels set to
    zero) [seeds, ...], `snapshot/*/` its tensors [snapshots, seeds, ...], in half precision: the
    loss of two layers, a hundredth of that of predicting zero, does not bear a byte a number;
    `curve/step`, `snapshot/step`; `baseline/*` [1]. With many seeds also `many/*` [many] and
    `many/curve/*` [many, evaluations], by the ids of the models of Figure 4 B.
    """
    plan = [
        phases.Phase(
            id,
            config.steps,
            partial(train_variant, config, variant),
            partial(_curves, id),
            label=variant.label,
        )
        for id, variant in VARIANTS.items()
    ]
    results = phases.run([*plan, *_many_seeds(config)], progress, _partial_curves, preview=_preview)
    own = _of_variants(results)
    return {
        **_thinned(_joined(own)),
        "names/variants": names(own),
        **baselines(config),
        **_of_many_seeds(config, results),
    }


def _joined(parts: phases.Made) -> dict[str, np.ndarray]:
    """Return the tensors of all trainings; a later one's stand for an earlier one's of that
    name."""
    tensors: dict[str, np.ndarray] = {}
    for part in parts.values():
        tensors |= part
    return tensors


def _parts(config: Config) -> list[range]:
    """Return the seeds of the models of Figure 4 B of which there are many, those that train side
    by side."""
    first = config.seed
    count = config.many
    return [
        range(start, min(start + SIDE_BY_SIDE, first + count))
        for start in range(first, first + count, SIDE_BY_SIDE)
    ]


def _phase_name(id: str, seeds: range) -> str:
    """Return the name of the training of some of many seeds."""
    return f"{id} seeds {seeds.start} to {seeds[-1]}"


def _many_seeds(config: Config) -> list[phases.Phase]:
    """Return the trainings of many seeds, of which the losses at the end are kept, and the
    curves."""
    return [
        phases.Phase(
            _phase_name(id, seeds),
            config.steps,
            partial(_train_seeds, config, VARIANTS[id], seeds),
            label=f"{VARIANTS[id].label}, seeds {seeds.start} to {seeds[-1]}",
        )
        for id, seeds in product(FIGURE_4B, _parts(config))
    ]


def _train_seeds(
    config: Config, variant: Variant, seeds: range, resumed: Tensors, report: phases.Report
) -> dict[str, np.ndarray]:
    """Train a variant with some seeds, on the tasks that the run's own seeds read."""
    weights = initial(config, variant, seeds).to(device.current_device())
    at = loop.evaluations(config.steps, *EVALUATIONS)
    training = problem(config, variant, weights)
    state = loop.train(training, config.steps, at, resumed, report, keep=False)
    return {
        "loss": losses(weights, held_out(config, TEST_SET)),
        "curve": state.curves()["curve/loss"],
    }


def _of_many_seeds(config: Config, results: phases.Made) -> dict[str, np.ndarray]:
    """Return `many/<id>` [many] and `many/curve/<id>` [many, evaluations]; nothing without many
    seeds."""
    if not config.many:
        return {}
    joined: dict[str, np.ndarray] = {}
    for id in FIGURE_4B:
        parts = [results[_phase_name(id, seeds)] for seeds in _parts(config)]
        joined[f"many/{id}"] = np.concatenate([part["loss"] for part in parts])
        joined[f"many/curve/{id}"] = np.concatenate([part["curve"] for part in parts])
    return joined


def _of_variants(results: phases.Made) -> phases.Made:
    """Return the trainings of the variants themselves, without those of many seeds."""
    return {id: tensors for id, tensors in results.items() if id in VARIANTS}


def _thinned(tensors: Tensors) -> dict[str, np.ndarray]:
    """Return the same with the snapshots that are kept: along the logarithms of all variants'
    losses."""
    losses = [
        array.mean(0)
        for name, array in tensors.items()
        if name.startswith("curve/") and name != "curve/step"
    ]
    at = loop.spread([np.log(loss) for loss in losses])
    return {
        name: array[at] if name.startswith("snapshot/") else array
        for name, array in tensors.items()
    }


def _partial_curves(phase_tensors: phases.Made) -> dict[str, np.ndarray]:
    """Return the curves of the variants trained so far and of the one in training; `curve/step` of
    the longest."""
    own = _of_variants(phase_tensors)
    curves = {name: array for name, array in _joined(own).items() if name.startswith("curve/")}
    longest = max((tensors["curve/step"] for tensors in own.values()), key=len)
    return {**curves, "curve/step": longest, "names/variants": names(VARIANTS)}


def _preview(results: phases.Made) -> Tensors:
    """Return the models begun so far: the one in training as it is now, the others as they
    ended."""
    own = _of_variants(results)
    last = next(reversed(own))
    final = phases.final(own[last])
    now = {f"snapshot/{last}/{name}": array[None] for name, array in final.items()}
    ended = {
        name: array[-1:]
        for name, array in _joined(own).items()
        if name.startswith("snapshot/") and name != "snapshot/step"
    }
    return {
        **ended,
        **now,
        "snapshot/step": own[last]["snapshot/step"][-1:],
        "names/variants": names(own),
    }


def train_variant(
    config: Config, variant: Variant, resumed: Tensors, report: phases.Report
) -> dict[str, np.ndarray]:
    """Train one variant from start to end, or on from `resumed`."""
    seeds = range(config.seed, config.seed + config.seeds)
    weights = initial(config, variant, seeds).to(device.current_device())
    at = loop.evaluations(config.steps, *EVALUATIONS)
    state = loop.train(problem(config, variant, weights), config.steps, at, resumed, report)
    snapshots = {
        name: np.stack([snapshot[name] for snapshot in state.snapshots])
        for name in weights.tensors()
    }
    tasks = held_out(config, TEST_SET)
    blind = Tasks(tasks.x, torch.cat((torch.zeros_like(tasks.y[:-1]), tasks.y[-1:])))
    return {
        **_curves(variant.id, state),
        "snapshot/step": np.array(at),
        **{
            f"snapshot/{variant.id}/{name}": array.astype(np.float16)
            for name, array in snapshots.items()
        },
        f"evaluated/{variant.id}": losses(weights, tasks),
        f"evaluated/{variant.id}/blind": losses(weights, blind),
    }


def problem(config: Config, variant: Variant, weights: Model) -> loop.Problem:
    """Return what the loop trains; `weights` change in place, but for those that are frozen."""
    watched = held_out(config, WATCHED)
    fixed = frozen(config, variant)
    place = device.current_device()
    generator = torch.Generator().manual_seed(10_000 + config.seed)

    def gradient_at(step: int) -> tuple[dict[str, Tensor], dict[str, np.ndarray]]:
        tasks = sample_sine(config.N, config.batch, generator).to(place)
        return gradient(weights, fixed, tasks)

    return loop.Problem(
        parameters=weights.tensors(),
        gradient=gradient_at,
        evaluate=lambda step: {"loss": losses(weights, watched)},
        optimiser=lambda parameters: torch.optim.Adam(parameters, lr=config.learning_rate),
        generators=(generator,),
        loss="loss",
        schedule=loop.cosine(config.steps),
        ceiling=CEILING,
    )


def gradient(
    weights: Model, fixed: tuple[str, ...], tasks: Tasks
) -> tuple[dict[str, Tensor], dict[str, np.ndarray]]:
    """Return the gradient of every seed's loss by its own trained weights, and the losses
    [seeds]."""
    trained = {name: part for name, part in weights.tensors().items() if name not in fixed}
    leaves = several_seeds.leaves(trained)
    errors = forward(weights.with_(**leaves), tasks) - tasks.y[-1, 0]
    seed_losses = errors.square().mean(-1) / 2  # (seeds,)
    measures = {"loss": seed_losses.detach().cpu().numpy()}
    return several_seeds.gradients(seed_losses, leaves), measures


@torch.no_grad()
def predict(weights: Model, tasks: Tasks) -> Tensor:
    """Return the prediction of many tasks, some at a time, (seeds, tasks)."""
    size = max(1, CHUNK // (len(weights.W) * max(weights.W.shape[1:]) * (tasks.N + 1)))
    parts = [tasks.part(start, start + size) for start in range(0, len(tasks), size)]
    return torch.cat([forward(weights, part) for part in parts], -1)


def losses(weights: Model, tasks: Tasks) -> np.ndarray:
    """Return half the squared error at the query, [seeds]."""
    return ((predict(weights, tasks) - tasks.y[-1, 0]).square().mean(-1) / 2).cpu().numpy()


def ideal(tasks: Tasks) -> Tasks:
    """Return the tasks with features (sin x, cos x), in which every sine is linear."""
    return Tasks(torch.cat((tasks.x.sin(), tasks.x.cos()), 1), tasks.y)


def baselines(config: Config) -> dict[str, np.ndarray]:
    """Return losses on the test set: of predicting zero; the mean over all sines, which ignores the
    prompt; `layers` steps of gradient descent at the best rates on raw x and on (sin x, cos x); and
    `line`, what a straight line costs that is fitted to each whole sine: no model that is linear in
    the query's x is better, whatever it read. `ideal/mixture` [layers] is what those steps on (sin
    x, cos x) mix, as in `construction.best_mixture`."""
    tasks = held_out(config, TEST_SET)
    label = tasks.y[-1, 0]
    x = tasks.x[-1, 0]
    c, ideal_loss = construction.best_mixture(ideal(tasks), config.layers)
    values = {
        "zero": float(label.square().mean()) / 2,
        "mean": float((MEAN * x.cos() - label).square().mean()) / 2,
        "raw": construction.best_mixture(tasks, config.layers)[1],
        "ideal": ideal_loss,
        "line": best_line(),
    }
    rows = {f"baseline/{name}": np.array([value], np.float32) for name, value in values.items()}
    return {**rows, "ideal/mixture": c.astype(np.float32)}


def best_line() -> float:
    """Return the mean loss over all sines of the straight line that is best for each, exact but for
    the grid.

    y = amplitude (cos(phase) sin x + sin(phase) cos x), and cos and sin of the phase have mean
    square 1/2 and no correlation, so that it is the mean over sin x and cos x of what a line leaves
    of them.
    """
    x = np.linspace(-5, 5, 20_001)
    line = np.stack([np.ones_like(x), x], 1)
    waves = np.stack([np.sin(x), np.cos(x)], 1)
    left = waves - line @ np.linalg.lstsq(line, waves, rcond=None)[0]
    return 0.31 / 3 * float((left**2).mean(0).sum()) / 4


def _curves(id: str, state: loop.State) -> dict[str, np.ndarray]:
    """Return the curve of one variant, beside its steps."""
    curves = state.curves()
    return {"curve/step": curves["curve/step"], f"curve/{id}": curves["curve/loss"]}
