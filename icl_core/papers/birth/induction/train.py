"""Train the induction head, seed by seed, and then the models it is compared with."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import torch

from icl_core.contract.experiment import Progress, Tensors, compact, names
from icl_core.contract.seeds import SHOWN, model_of_seed
from icl_core.papers.birth.shared import accuracy
from icl_core.papers.birth.shared.model import Weights
from icl_core.papers.birth.shared.sequence import example, read, typed
from icl_core.papers.birth.shared.settings import Config
from icl_core.papers.birth.shared.train import (
    EVALUATED,
    EVALUATIONS,
    FROZEN,
    begun,
    frozen_of,
    held_out,
    seed_models,
    task_of,
    training_phase,
)
from icl_core.training import loop, phases
from icl_core.training.run_grid import RunGrid

ONE_LAYER = "one_layer"
FIRST = "seed 0"
BASELINES = ("repeat", ONE_LAYER, "best_in_context")
# by the number of layers: one layer has no W_K1
PROBES = {
    1: ("W_O2", "W_K2"),
    2: ("W_O2", "W_K2", "W_K1_early", "W_K1", "W_K1_early_rows", "W_K1_late_rows"),
}
# A single layer learns slowly with SGD (in 2,000 steps no more than half of it), so it is trained
# in this way whatever the model's optimiser.
TRAINED_OUT = {"optimiser": "adamw", "learning_rate": 0.1, "scale": "paper", "steps": 400}


def compute(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Train every seed, the opposite freezing where there is one, and a one-layer model. Return

    curve/*      [seeds, evaluations] beside `curve/step` [evaluations]
    batch/*      [seeds, steps]
    snapshot/*   [snapshots, d, d] of the first seed, a byte an entry, with their `scale/*`, beside
                 `snapshot/step`
    final/*, frozen/*  of the first seed, float32; of the others as `seed/<number>/…`
    evaluated/*  [seeds]
    opposite/*   [seeds, evaluations] beside `opposite/step`, if there is an `opposite`
    baseline/*   [1]
    one_layer/in_context_loss  [steps]
    names/probes, names/baselines

    and the readings of an example, see `_readings`. A visitor's own matrices are not trained and
    have a single evaluation, at step 0. Raises `Diverged` and `Cancelled`.
    """
    plan = [
        training_phase(
            name,
            part,
            keep=name == FIRST,
            label=_label(config, index),
            end=index < config.seeds,
            watched=name != ONE_LAYER,
        )
        for index, (name, part) in enumerate(_trainings(config).items())
    ]
    curves = partial(_curves, config)
    results = phases.run(plan, progress, curves, "in_context_loss", _preview)
    of_first_seed = {
        name: array
        for name, array in results[FIRST].items()
        if name.startswith(("snapshot/", "final/", "frozen/"))
    }
    return {
        **_curves(config, results),
        **compacted(of_first_seed),
        **_readings(config, of_first_seed),
        **seed_models(results, config.seeds, ("final/", "frozen/")),
        **_seeds(config).stack_all(results, "evaluated"),
        **_opposites(config, results),
        **_baselines(config, results),
    }


def _seeds(config: Config, name: str = "seed") -> RunGrid:
    """Return the trainings of the model, one a seed; or those that bear another `name`."""
    return RunGrid(lambda seed: f"{name} {seed}", {"seed": range(config.seeds)})


def _label(config: Config, index: int) -> str:
    """Return the name for people of the training at a place in the plan."""
    if index >= config.seeds and index == len(_trainings(config)) - 1:
        return "the one-layer baseline"
    model = "the model" if index < config.seeds else "the opposite freezing"
    if config.seeds == 1:
        return model
    return f"{model}, seed {index % config.seeds + 1} of {config.seeds}"


def _trainings(config: Config) -> dict[str, Config]:
    """Return the config of every training by its name: each seed, its opposite freezing, and a
    single layer to compare two layers with."""
    trainings = {f"seed {index}": _one_seed(config, index) for index in range(config.seeds)}
    if (other := opposite(config)) is not None:
        trainings |= {f"opposite {index}": _one_seed(other, index) for index in range(config.seeds)}
    if config.layers == 2 and config.trains:
        trainings[ONE_LAYER] = one_layer(config)
    return trainings


def _one_seed(config: Config, index: int) -> Config:
    """Return the config of one of the seeds, counted from 0."""
    return replace(config, seed=(config.seed + index) % 100, seeds=1)


def opposite(config: Config) -> Config | None:
    """Return the training in which W_K1 and W_K2 are frozen the other way round, up to the step at
    which the frozen one is released.

    "W_K2 is easier to learn when W_K1 is frozen compared to the reverse" (Section 5). None unless
    there are two layers and exactly one of the two is frozen, for ten steps or more, and W_O2 not.
    """
    one_is_frozen = config.freeze_W_K1 != config.freeze_W_K2
    if config.layers == 1 or not one_is_frozen or config.freeze_W_O2 or config.freeze_until < 10:
        return None
    return replace(
        config,
        freeze_W_K1=config.freeze_W_K2,
        freeze_W_K2=config.freeze_W_K1,
        steps=config.freeze_until,
    )


def one_layer(config: Config) -> Config:
    """Return the config of a single layer on the same task, trained until its loss hardly falls,
    but at most twice as long as the model."""
    not_frozen = dict.fromkeys(("freeze_W_K1", "freeze_W_K2", "freeze_W_O2", "freeze_W_F"), False)
    size = {"steps": min(2 * config.steps, TRAINED_OUT["steps"]), "batch": min(config.batch, 128)}
    changes = {**TRAINED_OUT, **not_frozen, **size}
    return replace(config, layers=1, seeds=1, freeze_until=0, **changes)


def _curves(config: Config, results: phases.Made) -> dict[str, np.ndarray]:
    """Return the curves so far of the full models, [seeds, …]; what is not reached is NaN."""
    evaluations = loop.evaluations(config.updates, *EVALUATIONS)
    points = {"curve": len(evaluations), "batch": config.steps}
    return {
        "names/probes": names(PROBES[config.layers]),
        **_seeds(config).curves(results, points),
        "curve/step": np.array(evaluations),
    }


def _preview(results: phases.Made) -> dict[str, np.ndarray]:
    """Return the matrices of the seed in training, and those of the last one while something else
    is."""
    seeds = [name for name in results if name.startswith("seed ")]
    if not seeds:  # other processes train them
        return {}
    name = seeds[-1]
    tensors = results[name]
    return {
        "snapshot/step": tensors["snapshot/step"][-1:],
        **model_of_seed(int(name.split()[1]) + 1),
        **{f"final/{matrix}": array for matrix, array in phases.final(tensors).items()},
    }


def completed(config: Config, tensors: Tensors) -> dict[str, np.ndarray]:
    """Return the frozen embeddings of the seed whose matrices a preview holds."""
    number = int(tensors[SHOWN][0])
    weights, _ = begun(_one_seed(config, number - 1))
    return frozen_of(weights)


def _readings(config: Config, first: Tensors) -> dict[str, np.ndarray]:
    """Return what the model reads in the short example at every snapshot, so that it can be drawn
    without the model.

    reading/attention1, reading/attention2  [snapshots, T, T]; the former of two layers only
    reading/predicted    [snapshots, T], indices into `names/characters`
    reading/probability  [snapshots, T], of the predicted character
    example/in_context   [T], whether the context determines what follows
    example/truth        [T], what follows; -1 where the context does not determine it
    names/sequence, names/characters
    """
    task = task_of(config)
    sequence, triggers = example(task)
    shown = typed(task, sequence, triggers)
    readings = [
        read(weights, shown, config.layers) for weights in _weights_at_snapshots(first, config)
    ]
    maps = {
        "attention1": [reading.attention1 for reading in readings],
        "attention2": [reading.attention2 for reading in readings],
    }
    probabilities = np.stack([reading.probabilities for reading in readings])  # (snapshots, T, N)
    in_context = shown.in_context.numpy()
    truth = [
        shown.truth[token] if determined else -1
        for token, determined in zip(shown.inputs.tolist(), in_context, strict=True)
    ]
    return {
        **{
            f"reading/{name}": np.array(attention, np.float16)
            for name, attention in maps.items()
            if attention[0] is not None
        },
        "reading/predicted": probabilities.argmax(-1).astype(np.int16),
        "reading/probability": probabilities.max(-1).astype(np.float16),
        "example/in_context": in_context,
        "example/truth": np.array(truth, np.int16),
        "names/sequence": names(shown.characters),
        "names/characters": names(task.characters),
    }


def _weights_at_snapshots(first: Tensors, config: Config) -> Iterator[Weights]:
    """Yield the weights at every snapshot of the first seed."""
    frozen = {name: torch.tensor(first[f"frozen/{name}"]) for name in FROZEN}
    snapshots = {
        name.removeprefix("snapshot/"): array
        for name, array in first.items()
        if name.startswith("snapshot/") and name != "snapshot/step"
    }
    for index in range(len(first["snapshot/step"])):
        learned = {name: torch.tensor(array[index]) for name, array in snapshots.items()}
        learned.setdefault("W_K1", torch.zeros_like(learned["W_K2"]))  # one layer never reads it
        yield Weights(**frozen, **learned)


def _opposites(config: Config, results: phases.Made) -> dict[str, np.ndarray]:
    """Return the curves of the opposite freezing as `opposite/*` [seeds, evaluations] beside
    `opposite/step`; nothing where there is none."""
    if "opposite 0" not in results:
        return {}
    stacked = _seeds(config, "opposite").stack_all(results, "curve")
    curves = {f"opposite/{name.removeprefix('curve/')}": rows for name, rows in stacked.items()}
    return {**curves, "opposite/step": curves["opposite/step"][0]}  # the same of every seed


def _baselines(config: Config, results: phases.Made) -> dict[str, np.ndarray]:
    """Return the accuracies of the baselines on the test set as `baseline/*` [1], their
    `names/baselines`, and the loss of the one-layer model on fresh batches, if there is one."""
    task = task_of(config)
    accuracies = accuracy.accuracies(task, held_out(task, EVALUATED))
    curve: dict[str, np.ndarray] = {}
    if single := results.get(ONE_LAYER):
        accuracies[ONE_LAYER] = float(single["evaluated/accuracy"])
        accuracies["one_layer_new"] = float(single["evaluated/accuracy_new"])
        curve["one_layer/in_context_loss"] = single["batch/in_context_loss"]
    return {
        **{f"baseline/{name}": np.array([value], np.float32) for name, value in accuracies.items()},
        **curve,
        "names/baselines": names(name for name in BASELINES if name in accuracies),
    }


def compacted(tensors: Tensors) -> dict[str, np.ndarray]:
    """Return the same tensors with the snapshots, which no metric reads, in a byte an entry."""
    result = dict(tensors)
    for name, array in tensors.items():
        if name.startswith("snapshot/") and np.issubdtype(array.dtype, np.floating):
            result |= compact(name.removeprefix("snapshot/"), array.astype(np.float32))
    return result
