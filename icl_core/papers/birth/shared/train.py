"""Trains the simplified transformer of Section 4.2 on the bigram task, seed after seed, and then its baselines."""

from dataclasses import replace
from functools import partial

import numpy as np
import torch

from icl_core import device
from icl_core.experiment import Progress, Tensors
from icl_core.papers.birth.shared import baselines, gradient, probes
from icl_core.papers.birth.shared.gradient import evaluate
from icl_core.papers.birth.shared.model import Weights, initialise
from icl_core.papers.birth.shared.settings import Config
from icl_core.papers.birth.shared.task import Batch, Task, make_task, sample
from icl_core.training import loop, phases
from icl_core.training.several_seeds import padded

FROZEN = ("W_E", "P", "W_U", "R1", "V2")
SNAPSHOTS = 12
ONE_LAYER = "one layer"
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
    [snapshots, d, d] in float16 beside `snapshot/step`; `final/*` and `frozen/*` in float32; `judged/*` [seeds];
    `baseline/*` [1]. Raises `Diverged` and `Cancelled`.
    """
    plan = [training_phase(name, part, index == 0) for index, (name, part) in enumerate(_trainings(config).items())]
    made = phases.run(plan, progress, partial(_curves_of, config), "in_context_loss")
    return _gather(config, made)


def _trainings(config: Config) -> dict[str, Config]:
    """One config a training, by its name: each seed, and a single layer to compare two with."""
    found = {f"seed {i}": replace(config, seed=config.seed + i, seeds=1) for i in range(config.seeds)}
    if config.layers == 2:
        found[ONE_LAYER] = replace(config, layers=1, seeds=1, steps=min(config.steps, 150), freeze_until=0)
    return found


def training_phase(name: str, config: Config, keep: bool) -> phases.Phase:
    """One training as a part of a run; `keep` its snapshots too."""
    return phases.Phase(name, config.steps, partial(_train, config, keep), _curves)


def _train(config: Config, keep: bool, resumed: Tensors, report: phases.Report) -> dict[str, np.ndarray]:
    weights = initial(config, config.seed)
    generator = torch.Generator().manual_seed(10_000 + config.seed)
    problem = _problem(config, weights, generator)
    at = loop.log_spaced(config.steps, SNAPSHOTS) if keep else []
    state = loop.train(problem, config.steps, at, loop.evaluations(config.steps), resumed, report)
    found = {**_curves(state), **_judge(config, weights)}
    if not keep:
        return found
    frozen = {f"frozen/{name}": getattr(weights, name).cpu().numpy() for name in FROZEN}
    # float16 halves the file: snapshots before the last are only looked at, the last is computed with
    return {**found, "snapshot/step": np.array(at), **state.kept(np.float16), **frozen}


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
    return {**state.batches(), **state.curves()}


def _judge(config: Config, weights: Weights) -> dict[str, np.ndarray]:
    """Held-out measures of the finished model, on more sequences than during training."""
    measures = evaluate(weights, held_out(config, JUDGED), config.layers)
    return {f"judged/{name}": np.array(value, np.float32) for name, value in measures.items()}


def _gather(config: Config, made: phases.Made) -> dict[str, np.ndarray]:
    """The run's tensors from those of its trainings."""
    seeds = [made[f"seed {i}"] for i in range(config.seeds)]
    kept = {name: array for name, array in seeds[0].items() if name.startswith(("snapshot/", "final/", "frozen/"))}
    judged = {name: np.stack([each[name] for each in seeds]) for name in seeds[0] if name.startswith("judged/")}
    lines = baselines.lines(task_of(config), held_out(config, 4 * JUDGED))
    if ONE_LAYER in made:
        lines["one_layer"] = float(made[ONE_LAYER]["judged/accuracy"])
    found = {f"baseline/{name}": np.array([value], np.float32) for name, value in lines.items()}
    return {**_curves_of(config, made), **kept, **judged, **found}


def _curves_of(config: Config, made: phases.Made) -> dict[str, np.ndarray]:
    """Curves of the full models, seeds first; what has not been reached is NaN."""
    at = loop.evaluations(config.steps)
    found: dict[str, np.ndarray] = {}
    for name in made["seed 0"]:
        if name.startswith(("curve/", "batch/")) and name != "curve/step":
            length = config.steps if name.startswith("batch/") else len(at)
            rows = [made.get(f"seed {i}", {}).get(name, np.zeros(0, np.float32)) for i in range(config.seeds)]
            found[name] = np.stack([padded(row, length) for row in rows])
    return {**found, "curve/step": np.array(at)}
