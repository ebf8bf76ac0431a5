"""Trains the seven models on sines one after the other, all seeds in one pass, and evaluates them
on the same tasks.

Plain Adam without weight decay, a cosine to zero, as for the linear tasks.
"""

import math
from functools import partial

import numpy as np
import torch
from torch import Tensor

from icl_core.contract.experiment import Progress, Tensors, names
from icl_core.machine import device
from icl_core.papers.gdssm.nonlinear.initial_weights import frozen, initial
from icl_core.papers.gdssm.nonlinear.model import Model, forward
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
WATCHED, TEST_SET = 2**11, 2**15  # held-out tasks
CHUNK = 2**17  # hidden units and seeds times tokens held at a time
CEILING = 100.0  # a loss above it, where predicting zero costs 0.026, counts as diverged
ZERO = 0.31 / 12  # E amplitude^2 / 4: predicting zero, the phase all but averaged over x
MEAN = 0.3 * 2 / math.pi  # of the labels at x, times cos x: E amplitude times E sin phase


def held_out(config: Config, count: int) -> Tasks:
    """Tasks that no training saw, the same for every seed and model."""
    return sample_sine(config.N, count, torch.Generator().manual_seed(2**31 + 17)).to(
        device.current_device()
    )


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
            partial(train_variant, config, each),
            partial(_curves, id),
            label=each.label,
        )
        for id, each in VARIANTS.items()
    ]
    made = phases.run([*plan, *_many_seeds(config)], progress, _partial_curves, preview=_preview)
    own = _of_variants(made)
    everything = {name: array for each in own.values() for name, array in each.items()}
    return {
        **_thinned(everything),
        "names/variants": names(own),
        **baselines(config),
        **_of_many_seeds(config, made),
    }


def _parts(config: Config) -> list[range]:
    """The seeds of the models of Figure 4 B of which there are many, those that train side by
    side."""
    first, count = config.seed, config.many
    return [
        range(start, min(start + SIDE_BY_SIDE, first + count))
        for start in range(first, first + count, SIDE_BY_SIDE)
    ]


def _phase_name(id: str, seeds: range) -> str:
    return f"{id} seeds {seeds.start} to {seeds[-1]}"


def _many_seeds(config: Config) -> list[phases.Phase]:
    """The trainings of many seeds, of which the losses at the end are kept, and the curves."""
    return [
        phases.Phase(
            _phase_name(id, seeds),
            config.steps,
            partial(_train_seeds, config, VARIANTS[id], seeds),
            label=f"{VARIANTS[id].label}, seeds {seeds.start} to {seeds[-1]}",
        )
        for id in FIGURE_4B
        for seeds in _parts(config)
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


def _of_many_seeds(config: Config, made: phases.Made) -> dict[str, np.ndarray]:
    """Return `many/<id>` [many] and `many/curve/<id>` [many, evaluations]; nothing without many
    seeds."""
    if not config.many:
        return {}
    joined: dict[str, np.ndarray] = {}
    for id in FIGURE_4B:
        parts = [made[_phase_name(id, seeds)] for seeds in _parts(config)]
        joined[f"many/{id}"] = np.concatenate([part["loss"] for part in parts])
        joined[f"many/curve/{id}"] = np.concatenate([part["curve"] for part in parts])
    return joined


def _of_variants(made: phases.Made) -> phases.Made:
    """The trainings of the variants themselves, without those of many seeds."""
    return {id: tensors for id, tensors in made.items() if id in VARIANTS}


def _thinned(tensors: Tensors) -> dict[str, np.ndarray]:
    """The same with the snapshots that are kept: along the logarithms of all variants' losses."""
    losses = [
        array.mean(0)
        for name, array in tensors.items()
        if name.startswith("curve/") and name != "curve/step"
    ]
    at = loop.spread([np.log(each) for each in losses])
    return {
        name: array[at] if name.startswith("snapshot/") else array
        for name, array in tensors.items()
    }


def _partial_curves(phase_tensors: phases.Made) -> dict[str, np.ndarray]:
    """The curves of the variants trained so far and of the one in training; `curve/step` of the
    longest."""
    own = _of_variants(phase_tensors).values()
    curves = {
        name: array
        for tensors in own
        for name, array in tensors.items()
        if name.startswith("curve/")
    }
    longest = max((tensors["curve/step"] for tensors in own), key=len)
    return {**curves, "curve/step": longest, "names/variants": names(VARIANTS)}


def _preview(made: phases.Made) -> Tensors:
    """The models begun so far: the one in training as it is now, the others as they ended."""
    own = _of_variants(made)
    last = next(reversed(own))
    final = phases.final(own[last])
    now = {f"snapshot/{last}/{name}": array[None] for name, array in final.items()}
    ended = {
        name: array[-1:]
        for id, tensors in own.items()
        for name, array in tensors.items()
        if name.startswith(f"snapshot/{id}/")
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
    """One training from start to end, or on from `resumed`."""
    weights = initial(config, variant, range(config.seed, config.seed + config.seeds)).to(
        device.current_device()
    )
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
    """What the loop trains; `weights` change in place, but for those that are frozen."""
    watched, fixed, on = held_out(config, WATCHED), frozen(config, variant), device.current_device()
    generator = torch.Generator().manual_seed(10_000 + config.seed)
    return loop.Problem(
        parameters=weights.tensors(),
        gradient=lambda step: gradient(
            weights, fixed, sample_sine(config.N, config.batch, generator).to(on)
        ),
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
    """The gradient of every seed's loss by its own trained weights, and the losses [seeds]."""
    leaves = several_seeds.leaves(
        {n: tensor for n, tensor in weights.tensors().items() if n not in fixed}
    )
    errors = forward(weights.with_(**leaves), tasks) - tasks.y[-1, 0]
    seed_losses = errors.square().mean(-1) / 2  # (seeds,)
    return several_seeds.gradients(seed_losses, leaves), {
        "loss": seed_losses.detach().cpu().numpy()
    }


@torch.no_grad()
def predict(weights: Model, tasks: Tasks) -> Tensor:
    """The prediction of many tasks, some at a time, (seeds, tasks)."""
    size = max(1, CHUNK // (len(weights.W) * max(weights.W.shape[1:]) * (tasks.N + 1)))
    parts = [tasks.part(start, start + size) for start in range(0, len(tasks), size)]
    return torch.cat([forward(weights, part) for part in parts], -1)


def losses(weights: Model, tasks: Tasks) -> np.ndarray:
    """Half the squared error at the query, [seeds]."""
    return ((predict(weights, tasks) - tasks.y[-1, 0]).square().mean(-1) / 2).cpu().numpy()


def ideal(tasks: Tasks) -> Tasks:
    """The tasks with features (sin x, cos x), in which every sine is linear."""
    return Tasks(torch.cat((tasks.x.sin(), tasks.x.cos()), 1), tasks.y)


def baselines(config: Config) -> dict[str, np.ndarray]:
    """On the test set: predicting zero; the mean over all sines, which ignores the prompt; `layers`
    steps of gradient descent at the best rates on raw x and on (sin x, cos x); and `line`, what a
    straight line costs that is fitted to each whole sine: no model that is linear in the query's x
    is better, whatever it read. `ideal/mixture` [layers] is what those steps on (sin x, cos x) mix,
    as in `construction.best_mixture`.
    """
    tasks = held_out(config, TEST_SET)
    label, x = tasks.y[-1, 0], tasks.x[-1, 0]
    c, ideally = construction.best_mixture(ideal(tasks), config.layers)
    values = {
        "zero": float(label.square().mean()) / 2,
        "mean": float((MEAN * x.cos() - label).square().mean()) / 2,
        "raw": construction.best_mixture(tasks, config.layers)[1],
        "ideal": ideally,
        "line": best_line(),
    }
    rows = {f"baseline/{name}": np.array([value], np.float32) for name, value in values.items()}
    return {**rows, "ideal/mixture": c.astype(np.float32)}


def best_line() -> float:
    """The mean loss over all sines of the straight line that is best for each, exact but for the
    grid.

    y = amplitude (cos(phase) sin x + sin(phase) cos x), and cos and sin of the phase have mean
    square 1/2 and no correlation, so that it is the mean over sin x and cos x of what a line leaves
    of them.
    """
    x = np.linspace(-5, 5, 20_001)
    line, waves = np.stack([np.ones_like(x), x], 1), np.stack([np.sin(x), np.cos(x)], 1)
    left = waves - line @ np.linalg.lstsq(line, waves, rcond=None)[0]
    return 0.31 / 3 * float((left**2).mean(0).sum()) / 4


def _curves(id: str, state: loop.State) -> dict[str, np.ndarray]:
    curves = state.curves()
    return {"curve/step": curves["curve/step"], f"curve/{id}": curves["curve/loss"]}
