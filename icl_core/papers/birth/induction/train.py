"""Trains the induction head, seed after seed, and then what stands beside it."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import torch

from icl_core.contract.experiment import Progress, Tensors, compact, names
from icl_core.papers.birth.shared import baselines
from icl_core.papers.birth.shared.model import Weights
from icl_core.papers.birth.shared.sequence import example, read, typed
from icl_core.papers.birth.shared.settings import Config
from icl_core.papers.birth.shared.train import (
    EVALUATED,
    EVALUATIONS,
    FROZEN,
    held_out,
    task_of,
    training_phase,
)
from icl_core.training import loop, phases
from icl_core.training.several_seeds import padded

ONE_LAYER, FIRST = "one_layer", "seed 0"
BASELINES = ("repeat", ONE_LAYER, "best_in_context")
# by layers: one layer has no W_K1
PROBES = {
    1: ("W_O2", "W_K2"),
    2: ("W_O2", "W_K2", "W_K1_early", "W_K1", "W_K1_early_rows", "W_K1_late_rows"),
}
# A single layer learns slowly with SGD (in 2,000 steps no more than half of it): so it is trained
# the same way for all.
TRAINED_OUT = {"optimiser": "adamw", "learning_rate": 0.1, "scale": "paper", "steps": 400}


def compute(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Train every seed, what its freezing is compared with, and a one-layer model; all curves, the
    snapshots of the first seed. Of a visitor's own matrices, which are not trained, the same with a
    single evaluation at step 0.

    `curve/*` [seeds, evaluations] and `batch/*` [seeds, steps] beside `curve/step` [evaluations];
    `snapshot/*` [snapshots, d, d] with `scale/*` beside `snapshot/step`; `final/*` and `frozen/*`
    in float32; `evaluated/*` [seeds]; `opposite/*` [seeds, evaluations] beside `opposite/step`, if
    there is an `opposite`; `baseline/*` [1] and `one_layer/in_context_loss` [steps]; `names/probes`
    and `names/baselines`. Raises `Diverged` and `Cancelled`.
    """
    plan = [
        training_phase(name, part, name == FIRST, _label(config, index))
        for index, (name, part) in enumerate(_trainings(config).items())
    ]
    made = phases.run(plan, progress, partial(_curves, config), "in_context_loss")
    first = {
        n: a for n, a in made["seed 0"].items() if n.startswith(("snapshot/", "final/", "frozen/"))
    }
    shown = {**compacted(first), **_readings(config, first)}
    beside = {**_evaluated(config, made), **_opposites(config, made), **_baselines(config, made)}
    return {**_curves(config, made), **shown, **beside}


def _label(config: Config, index: int) -> str:
    """What people are told is in training."""
    if index >= config.seeds and index == len(_trainings(config)) - 1:
        return "the one-layer baseline"
    what = "the model" if index < config.seeds else "the opposite freezing"
    return (
        f"{what}, seed {index % config.seeds + 1} of {config.seeds}" if config.seeds > 1 else what
    )


def _trainings(config: Config) -> dict[str, Config]:
    """One config a training, by its name: each seed, its opposite, and a single layer to compare
    two with."""
    found = {
        f"seed {i}": replace(config, seed=(config.seed + i) % 100, seeds=1)
        for i in range(config.seeds)
    }
    if (other := opposite(config)) is not None:
        found |= {
            f"opposite {i}": replace(other, seed=(config.seed + i) % 100, seeds=1)
            for i in range(config.seeds)
        }
    if config.layers == 2 and config.trains:
        found[ONE_LAYER] = one_layer(config)
    return found


def opposite(config: Config) -> Config | None:
    """Where one of W_K1 and W_K2 is frozen, the training up to the thaw in which it is the other:
    "W_K2 is easier to learn when W_K1 is frozen compared to the reverse" (Section 5). None
    elsewhere."""
    first, second = config.freeze_W_K1, config.freeze_W_K2
    if config.layers == 1 or first == second or config.freeze_W_O2 or config.freeze_until < 10:
        return None
    return replace(config, freeze_W_K1=second, freeze_W_K2=first, steps=config.freeze_until)


def one_layer(config: Config) -> Config:
    """A single layer on the same task, trained until its loss hardly falls; at most twice as long
    as the model."""
    least = {"steps": min(2 * config.steps, TRAINED_OUT["steps"]), "batch": min(config.batch, 128)}
    thawed = dict.fromkeys(("freeze_W_K1", "freeze_W_K2", "freeze_W_O2", "freeze_W_F"), False)
    return replace(config, layers=1, seeds=1, freeze_until=0, **{**TRAINED_OUT, **thawed, **least})


def _curves(config: Config, made: phases.Made) -> dict[str, np.ndarray]:
    """Curves of the full models, seeds first; what has not been reached is NaN."""
    at = loop.evaluations(config.updates, *EVALUATIONS)
    found: dict[str, np.ndarray] = {"names/probes": names(PROBES[config.layers])}
    for name in made["seed 0"]:
        if name.startswith(("curve/", "batch/")) and name != "curve/step":
            length = config.steps if name.startswith("batch/") else len(at)
            rows = [
                made.get(f"seed {i}", {}).get(name, np.zeros(0, np.float32))
                for i in range(config.seeds)
            ]
            found[name] = np.stack([padded(row, length) for row in rows])
    return {**found, "curve/step": np.array(at)}


def _readings(config: Config, first: Tensors) -> dict[str, np.ndarray]:
    """What the model makes of the short example at every snapshot, so that it can be drawn without
    the model: `reading/attention1` (of two layers), `/attention2` [snapshots, T, T]; `/predicted`,
    an index into `names/characters`, and its `/probability` [snapshots, T]; and of the example
    `example/in_context` and what follows there, `example/truth` [T] (-1 where the context does not
    tell)."""
    task = task_of(config)
    sequence, triggers = example(task)
    shown = typed(task, sequence, triggers)
    found = [read(weights, shown, config.layers) for weights in _every(first, config)]
    maps = {
        "attention1": [each.attention1 for each in found],
        "attention2": [each.attention2 for each in found],
    }
    chances = np.stack([each.probabilities for each in found])  # [snapshots, T, N]
    inside = shown.in_context.numpy()
    truth = [
        shown.truth[token] if known else -1
        for token, known in zip(shown.inputs.tolist(), inside, strict=True)
    ]
    return {
        **{
            f"reading/{name}": np.array(each, np.float16)
            for name, each in maps.items()
            if each[0] is not None
        },
        "reading/predicted": chances.argmax(-1).astype(np.int16),
        "reading/probability": chances.max(-1).astype(np.float16),
        "example/in_context": inside,
        "example/truth": np.array(truth, np.int16),
        "names/sequence": names(shown.characters),
        "names/characters": names(task.characters),
    }


def _every(first: Tensors, config: Config) -> Iterator[Weights]:
    """The weights at every snapshot of the first seed."""
    fixed = {name: torch.tensor(first[f"frozen/{name}"]) for name in FROZEN}
    named = {
        name[9:]: array
        for name, array in first.items()
        if name.startswith("snapshot/") and name[9:] != "step"
    }
    for index in range(len(first["snapshot/step"])):
        learned = {name: torch.tensor(array[index]) for name, array in named.items()}
        learned.setdefault("W_K1", torch.zeros_like(learned["W_K2"]))  # one layer never reads it
        yield Weights(**fixed, **learned)


def _evaluated(config: Config, made: phases.Made) -> dict[str, np.ndarray]:
    seeds = [made[f"seed {i}"] for i in range(config.seeds)]
    return {
        name: np.stack([each[name] for each in seeds])
        for name in seeds[0]
        if name.startswith("evaluated/")
    }


def _opposites(config: Config, made: phases.Made) -> dict[str, np.ndarray]:
    """The curves of the opposite freezing, seeds first."""
    rows = [made[f"opposite {i}"] for i in range(config.seeds) if f"opposite {i}" in made]
    curves = (
        [name.partition("/")[2] for name in rows[0] if name.startswith("curve/")] if rows else []
    )
    found = {
        f"opposite/{name}": np.stack([row[f"curve/{name}"] for row in rows]) for name in curves
    }
    return {**found, "opposite/step": found["opposite/step"][0]} if found else {}


def _baselines(config: Config, made: phases.Made) -> dict[str, np.ndarray]:
    """The accuracies of what is no induction head on the sequences that the model is evaluated on,
    and their names."""
    task = task_of(config)
    found, curve = baselines.accuracies(task, held_out(task, EVALUATED)), {}
    if alone := made.get(ONE_LAYER):
        found |= {
            ONE_LAYER: float(alone["evaluated/accuracy"]),
            "one_layer_new": float(alone["evaluated/accuracy_new"]),
        }
        curve = {"one_layer/in_context_loss": alone["batch/in_context_loss"]}
    values = {f"baseline/{name}": np.array([value], np.float32) for name, value in found.items()}
    return {
        **values,
        **curve,
        "names/baselines": names(name for name in BASELINES if name in found),
    }


def compacted(tensors: Tensors) -> dict[str, np.ndarray]:
    """The same with its snapshots, which no metric reads, in a byte an entry."""
    found = dict(tensors)
    for name, array in tensors.items():
        if name.startswith("snapshot/") and np.issubdtype(array.dtype, np.floating):
            found |= compact(name.removeprefix("snapshot/"), array.astype(np.float32))
    return found
