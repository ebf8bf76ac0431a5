"""Trains the simplified transformer of Section 4.2 on the bigram task, seed after seed, and then its baselines."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np
import torch

from icl_core import device
from icl_core.experiment import Progress
from icl_core.papers.birth.shared import baselines, gradient, probes
from icl_core.papers.birth.shared.gradient import evaluate
from icl_core.papers.birth.shared.model import Weights, initialise
from icl_core.papers.birth.shared.settings import Config
from icl_core.papers.birth.shared.task import Batch, Task, make_task, sample
from icl_core.training import loop

FROZEN = ("W_E", "P", "W_U", "R1", "V2")
SNAPSHOTS = 12
RECORDED = ("in_context_accuracy", "in_context_loss", "global_loss")  # of every fresh batch
WATCHED = 2**13  # held-out positions judged at each evaluation
JUDGED = 2**16  # held-out positions judged at the end


def task_of(config: Config, outputs: str | None = None) -> Task:
    """The bigram task that a config asks for; `outputs` puts another output law in the place of its own."""
    return make_task(config.N, config.K, config.T, config.triggers, outputs or config.outputs, config.no_repeat)


def held_out(config: Config, positions: int, outputs: str | None = None, where: str | None = None) -> Batch:
    """Sequences that no training saw, `positions` in all; the same for every seed. On the device, or `where`."""
    generator = torch.Generator().manual_seed(2**31 + 17)
    return sample(task_of(config, outputs), max(16, positions // config.T), generator, where or device.device())


def initial(config: Config, seed: int) -> Weights:
    """The weights before training, on the device."""
    generator = torch.Generator().manual_seed(seed)
    weights = initialise(config.N, config.d, config.T, generator, config.scale, config.feed_forward)
    return weights.to(device.device())


def trained_names(config: Config, step: int) -> frozenset[str]:
    """The matrices that learn in this step."""
    names = {"W_K2", "W_O2"} | ({"W_K1"} if config.layers == 2 else set()) | ({"W_F"} if config.feed_forward else set())
    frozen = {name for name in names if getattr(config, f"freeze_{name}") and step < config.freeze_until}
    return frozenset(names - frozen)


def run(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Train every seed, then a one-layer model as baseline; all curves, the snapshots of the first seed.

    `curve/*` [seeds, evaluations] and `batch/*` [seeds, steps] beside `curve/step` [evaluations]; `snapshot/*`
    [moments, d, d] in float16 beside `snapshot/step`; `final/*` and `frozen/*` in float32; `judged/*` [seeds];
    `baseline/*` [1]. Raises `Diverged` and `Cancelled`.
    """
    passes = _passes(config)
    resumed = progress.resume() or {}
    finished = {name: array for name, array in resumed.items() if name.startswith("pass/")}
    current = {name.removeprefix("now/"): array for name, array in resumed.items() if name.startswith("now/")}
    for index, part in enumerate(passes):
        if f"pass/{index}/step" not in finished:
            report = partial(_report, progress, passes, index, finished)
            finished |= {f"pass/{index}/{n}": a for n, a in train_one(part, index == 0, current, report).items()}
            current = {}
    return _gather(config, passes, finished)


def _passes(config: Config) -> list[Config]:
    """One config a training: each seed, and a single layer to compare two with."""
    seeds = [replace(config, seed=config.seed + i, seeds=1) for i in range(config.seeds)]
    if config.layers == 1:
        return seeds
    return [*seeds, replace(config, layers=1, seeds=1, steps=min(config.steps, 150), freeze_until=0)]


def train_one(config: Config, keep: bool, resumed: Mapping[str, np.ndarray], report) -> dict[str, np.ndarray]:
    """One training from start to end, or on from `resumed`; `keep` its snapshots too."""
    weights = initial(config, config.seed)
    generator = torch.Generator().manual_seed(10_000 + config.seed)
    problem = _problem(config, weights, generator)
    at = loop.log_spaced(config.steps, SNAPSHOTS) if keep else []
    state = loop.train(problem, config.steps, at, loop.evaluations(config.steps), resumed, report)
    found = {**_curves(state), **_judge(config, weights)}
    return {**found, **_matrices(weights, state, at)} if keep else found


def _problem(config: Config, weights: Weights, generator: torch.Generator) -> loop.Problem:
    task = task_of(config)
    own = held_out(config, WATCHED)
    other = "bigram" if config.outputs == "uniform" else "uniform"
    elsewhere = held_out(config, WATCHED // 2, other)

    def step(index: int):
        batch = sample(task, config.batch, generator, device.device())
        train = trained_names(config, index)
        gradients, measures = gradient.loss_and_gradient(weights, batch, config.positions, train, config.layers)
        return gradients, {name: measures[name] for name in RECORDED}

    def watch(index: int) -> dict[str, float]:
        measures = evaluate(weights, own, config.layers)
        return {
            **measures,
            f"accuracy_{config.outputs}": measures["accuracy"],
            f"accuracy_{other}": evaluate(weights, elsewhere, config.layers, positions="in_context")["accuracy"],
            **{f"recall_{name}": value for name, value in probes.recalls(weights, task).items()},
        }

    parameters = {name: getattr(weights, name) for name in sorted(trained_names(config, config.freeze_until))}
    return loop.Problem(parameters, step, watch, partial(_optimiser, config), (generator,))


def _optimiser(config: Config, parameters: list[torch.Tensor]) -> torch.optim.Optimizer:
    if config.optimiser == "sgd":
        return torch.optim.SGD(parameters, lr=config.rate, momentum=0.9, weight_decay=1e-4)  # Appendix E
    return torch.optim.AdamW(parameters, lr=config.rate, weight_decay=0.0)


def _curves(state: loop.State) -> dict[str, np.ndarray]:
    curves = {"step": np.array(state.curve.get("step", []), dtype=np.int64)}
    for rows, kind in ((state.batch, "batch"), (state.curve, "curve")):
        curves |= {f"{kind}/{name}": np.array(values, np.float32) for name, values in rows.items() if name != "step"}
    return curves


def _judge(config: Config, weights: Weights) -> dict[str, np.ndarray]:
    """Held-out measures of the finished model, on more sequences than during training."""
    measures = evaluate(weights, held_out(config, JUDGED), config.layers)
    return {f"judged/{name}": np.array(value, np.float32) for name, value in measures.items()}


def _matrices(weights: Weights, state: loop.State, at: list[int]) -> dict[str, np.ndarray]:
    # float16 halves the file: snapshots before the last are only looked at, the last is computed with
    kept = {f"snapshot/{n}": np.stack([s[n] for s in state.snapshots]).astype(np.float16) for n in state.snapshots[0]}
    final = {f"final/{n}": array for n, array in state.snapshots[-1].items()}
    frozen = {f"frozen/{n}": getattr(weights, n).cpu().numpy() for n in FROZEN}
    return {**kept, "snapshot/step": np.array(at), **final, **frozen}


def _report(progress: Progress, passes: list[Config], index: int, finished: dict, state: loop.State, save) -> None:
    done = sum(part.steps for part in passes[:index]) + state.step
    loss = state.batch.get("in_context_loss", [float("nan")])[-1]

    def live() -> dict[str, np.ndarray]:
        if not (state.curve or index):
            return {}  # before the first evaluation there is no curve
        sofar = {f"pass/{index}/{name}": array for name, array in _curves(state).items()}
        return _stack(passes, {**finished, **sofar})

    def whole() -> dict[str, np.ndarray]:
        return {**finished, **{f"now/{name}": array for name, array in save().items()}}

    progress.report(done, sum(part.steps for part in passes), loss, live, whole)


def _gather(config: Config, passes: list[Config], finished: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The run's tensors from those of its passes."""
    first = {name.removeprefix("pass/0/"): array for name, array in finished.items() if name.startswith("pass/0/")}
    kept = {name: array for name, array in first.items() if name.startswith(("snapshot/", "final/", "frozen/"))}
    judged = {
        name: np.stack([finished[f"pass/{i}/{name}"] for i in range(config.seeds)])
        for name in first
        if name.startswith("judged/")
    }
    lines = baselines.lines(task_of(config), held_out(config, 4 * JUDGED))
    if config.layers == 2:
        lines["one_layer"] = float(finished[f"pass/{len(passes) - 1}/judged/accuracy"])
    return {
        **_stack(passes, finished),
        **kept,
        **judged,
        **{f"baseline/{name}": np.array([value], np.float32) for name, value in lines.items()},
    }


def _stack(passes: list[Config], finished: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Curves of the full models, seeds first; what has not been reached is NaN."""
    seeds = [i for i in range(len(passes)) if passes[i].layers == passes[0].layers]
    names = [n.removeprefix("pass/0/") for n in finished if n.startswith(("pass/0/curve/", "pass/0/batch/"))]
    stacked: dict[str, np.ndarray] = {}
    for name in names:
        length = passes[0].steps if name.startswith("batch/") else len(loop.evaluations(passes[0].steps))
        rows = np.full((len(seeds), length), np.nan, np.float32)
        for row, i in enumerate(seeds):
            values = finished.get(f"pass/{i}/{name}", np.zeros(0))
            rows[row, : len(values)] = values
        stacked[name] = rows
    return {**stacked, "curve/step": np.array(loop.evaluations(passes[0].steps))}
