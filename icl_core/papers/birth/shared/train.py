"""Trains the simplified transformer of Section 4.2 once on the bigram task; and what a run of
several seeds stores of its models."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch

from icl_core.contract.experiment import Tensors
from icl_core.contract.seeds import other_seeds
from icl_core.machine import cores, device
from icl_core.papers.birth.shared import gradient, own_matrices, probes
from icl_core.papers.birth.shared.gradient import evaluate
from icl_core.papers.birth.shared.model import Weights, initialise
from icl_core.papers.birth.shared.settings import EVALUATIONS, Config
from icl_core.papers.birth.shared.task import Batch, Task, counts_of, make_task, sample
from icl_core.training import loop, phases

FROZEN = ("W_E", "P", "W_U", "R1", "V2")
RECORDED = ("in_context_accuracy", "in_context_loss", "global_loss")  # of every fresh batch
WATCHED = 256  # held-out sequences at each evaluation during training
EVALUATED = 1024  # held-out sequences at the end
POOL = 8  # of so many sequences one is held out
PATH = ("accuracy", "recall_W_O2", "recall_W_K2", "recall_W_K1")  # along which the snapshots lie


def task_of(config: Any) -> Task:
    """Return the bigram task that the settings of any of the experiments ask for."""
    outputs = getattr(config, "outputs", "uniform")
    no_repeat = getattr(config, "no_repeat", False)
    counts = counts_of(getattr(config, "text", ""))
    return make_task(config.N, config.K, config.T, config.triggers, outputs, no_repeat, counts)


def held_out(task: Task, sequences: int, where: str | None = None) -> Batch:
    """Return sequences that no training saw, the same for every seed. On the device, or `where`.

    A sequence whose trigger is its own output repeats it to the end, and few such supply a quarter
    of all in-context positions. So that they have a steadier share, every `POOL`-th is taken of a
    larger sample in the order of its numbers of such repetitions: 256 sequences drawn freely hold a
    quarter more of them, or a quarter fewer.
    """
    pool = sample(task, POOL * sequences, torch.Generator().manual_seed(2**31 + 17))
    repeated = (pool.in_context & (pool.targets == pool.inputs)).sum(1)
    return pool.take(
        repeated.argsort(stable=True)[POOL // 2 :: POOL], where or device.current_device()
    )


def trained_names(config: Config, step: int) -> frozenset[str]:
    """Return the matrices that learn in this step."""
    names = (
        {"W_K2", "W_O2"}
        | ({"W_K1"} if config.layers == 2 else set())
        | ({"W_F"} if config.feed_forward else set())
    )
    frozen = {
        name for name in names if getattr(config, f"freeze_{name}") and step < config.freeze_until
    }
    return frozenset(names - frozen)


def training_phase(
    name: str, config: Config, keep: bool, label: str, end: bool = False, watched: bool = True
) -> phases.Phase:
    """Return one training as a part of a run, called `label` for people. Its results hold its
    snapshots too (`keep`), or its last matrices alone (`end`); curves if it is `watched`."""
    return phases.Phase(
        name, config.updates, partial(_train, config, keep, end, watched), _curves, label=label
    )


def _train(
    config: Config, keep: bool, end: bool, watched: bool, resumed: Tensors, report: phases.Report
) -> dict[str, np.ndarray]:
    weights, generator = begun(config)
    training = problem(config, weights, generator, _watch(config, weights))
    evaluations = loop.evaluations(config.updates, *EVALUATIONS) if watched else []
    state = loop.train(training, config.updates, evaluations, resumed, report, keep)
    # on more than while it trained
    measures = evaluate(weights, held_out(task_of(config), EVALUATED), config.layers)
    evaluated = {
        f"evaluated/{name}": np.array(value, np.float32) for name, value in measures.items()
    }
    results = {**_curves(state), **evaluated}
    if not keep:
        return {**results, **state.now(), **frozen_of(weights)} if end else results
    snapshots = loop.spread(state.moving(*(name for name in PATH if name in state.curve)))
    return {**results, **state.snapshot_arrays(snapshots), **frozen_of(weights)}


def frozen_of(weights: Weights) -> dict[str, np.ndarray]:
    """Return the embeddings, which no training changes, as `frozen/<name>`."""
    return {f"frozen/{name}": getattr(weights, name).cpu().numpy() for name in FROZEN}


def begun(config: Config) -> tuple[Weights, torch.Generator]:
    """Return the first weights of a config's seed, or a visitor's own, and the generator of its
    batches."""
    return _first(config).to(device.current_device()), torch.Generator().manual_seed(
        10_000 + config.seed
    )


def _first(config: Config) -> Weights:
    if config.trains:
        generator = torch.Generator().manual_seed(config.seed)
        return initialise(
            config.N, config.d, config.T, generator, config.scale, config.feed_forward
        )
    tensors = {
        name: torch.tensor(array)
        for name, array in own_matrices.load(config.matrices).named.items()
    }
    tensors.setdefault("W_K1", torch.zeros_like(tensors["W_K2"]))  # one layer never reads it
    return Weights(**tensors)


def batches(config: Any, generator: torch.Generator) -> Callable[[], Batch]:
    """Return what draws the fresh batch of every step."""
    where = device.current_device()
    return cores.ahead(partial(sample, task_of(config), config.batch, device=where), generator)


def problem(
    config: Config,
    weights: Weights,
    generator: torch.Generator,
    watch: Callable[[int], loop.Measures],
) -> loop.Problem:
    """Return the training of `weights`, in place, on fresh batches; `watch` is what its evaluations
    measure."""
    draw = batches(config, generator)

    def step(index: int):
        batch = draw()
        train = trained_names(config, index)
        gradients, measures = gradient.loss_and_gradient(
            weights, batch, config.positions, train, config.layers
        )
        return gradients, {name: measures[name] for name in RECORDED}

    parameters = {
        name: getattr(weights, name) for name in sorted(trained_names(config, config.freeze_until))
    }
    return loop.Problem(parameters, step, watch, partial(optimiser, config), (generator,))


def _watch(config: Config, weights: Weights) -> Callable[[int], loop.Measures]:
    task = task_of(config)
    own_batch = held_out(task, WATCHED)
    elsewhere = _elsewhere(config)

    def watch(index: int) -> dict[str, float]:
        measures = evaluate(weights, own_batch, config.layers)
        return {
            **measures,
            **{
                f"accuracy_{law}": _in_context(config, weights, batch)
                for law, batch in elsewhere.items()
            },
            **{f"recall_{name}": value for name, value in probes.recalls(weights, task).items()},
        }

    return watch


def _elsewhere(config: Config) -> dict[str, Batch]:
    """Return held-out sequences whose outputs follow the law that is not trained on, by its name
    (Figure 4, center: where all positions are trained)."""
    other_law = "bigram" if config.outputs == "uniform" else "uniform"
    return (
        {other_law: held_out(task_of(replace(config, outputs=other_law)), WATCHED)}
        if config.positions == "all"
        else {}
    )


def _in_context(config: Config, weights: Weights, batch: Batch) -> float:
    return evaluate(weights, batch, config.layers, positions="in_context")["accuracy"]


def optimiser(config: Any, parameters: list[torch.Tensor]) -> torch.optim.Optimizer:
    """Return SGD or AdamW, at the rate of the settings."""
    if config.optimiser == "sgd":
        # Appendix E
        return torch.optim.SGD(parameters, lr=config.learning_rate, momentum=0.9, weight_decay=1e-4)
    return torch.optim.AdamW(parameters, lr=config.learning_rate, weight_decay=0.0)


def _curves(state: loop.State) -> dict[str, np.ndarray]:
    return {**state.batches(), **state.curves()}


def seed_models(
    results: Mapping[str, Tensors], seeds: int, kinds: tuple[str, ...]
) -> dict[str, np.ndarray]:
    """Return the tensors that store the models of all seeds but the first.

    results  what the phases "seed 0", "seed 1", … of a run have ended in, by name
    seeds    the number of seeds
    kinds    how the names begin of the tensors that make a model: "final/"
    """
    models: dict[int, Tensors] = {}
    for index in range(1, seeds):
        tensors = results[f"seed {index}"]
        models[index + 1] = {
            name: array for name, array in tensors.items() if name.startswith(kinds)
        }
    return other_seeds(models)
