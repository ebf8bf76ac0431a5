"""Trains the full transformer, seed after seed, and a single layer beside it."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from icl_core.contract.experiment import Progress, Tensors, names
from icl_core.machine import device
from icl_core.papers.birth.shared import baselines
from icl_core.papers.birth.shared.full.head_scores import head_names, look
from icl_core.papers.birth.shared.full.probes import recalls
from icl_core.papers.birth.shared.full.settings import EVALUATIONS, Config
from icl_core.papers.birth.shared.full.train import begun, problem
from icl_core.papers.birth.shared.train import EVALUATED, WATCHED, held_out, task_of
from icl_core.papers.birth.transformer.measurements import attending, example_readings, head_effects
from icl_core.training import loop, phases
from icl_core.training.several_seeds import padded

ONE_LAYER, FIRST = "one_layer", "seed 0"
# of every head at every evaluation; `_even` is what a uniform attention would have there
BEHAVIOUR = ("previous", "triggers", "others", "uniformity", "triggers_even", "others_even")

# A single layer learns slowly with SGD; so it is trained the same way beside all, twice as long but
# at most so long.
ONE = {"optimiser": "adamw", "learning_rate": 0.005, "heads": 1, "layers": 1, "seeds": 1}
ONE_STEPS, ONE_BATCH = 800, 64


def compute(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Train every seed and a one-layer model; all curves, of the first seed what it looks at and
    what its heads do.

    `curve/*` [seeds, evaluations] beside `curve/step`, and `batch/*` [seeds, steps], of them
    `gradient_*` norms; `evaluated/*` [seeds], of heads [seeds, heads]; of the first seed `final/*`
    in half precision, `heads/*` [evaluations, heads], `effect/*`, `reading/*` [snapshots, …] beside
    `snapshot/step`; `baseline/*` [1]; `one_layer/*`; `names/*`.
    """
    plan = [
        phases.Phase(
            name,
            part.steps,
            partial(_train, part, name == FIRST),
            _curves,
            label=_label(config, name),
        )
        for name, part in _trainings(config).items()
    ]
    made = phases.run(plan, progress, partial(_together, config), "in_context_loss")
    first, seeds = made[FIRST], [made[f"seed {index}"] for index in range(config.seeds)]
    shown = {
        name: array
        for name, array in first.items()
        if not name.startswith(("curve/", "batch/", "evaluated/"))
    }
    evaluated = {
        name: np.stack([each[name] for each in seeds])
        for name in first
        if name.startswith("evaluated/")
    }
    return {**_together(config, made), **shown, **evaluated, **_beside(config, made)}


def _trainings(config: Config) -> dict[str, Config]:
    """One config a training, by its name: each seed, and a single layer to compare more with."""
    found = {
        f"seed {i}": replace(config, seed=(config.seed + i) % 100, seeds=1)
        for i in range(config.seeds)
    }
    if config.layers > 1:
        found[ONE_LAYER] = one_layer(config)
    return found


def one_layer(config: Config) -> Config:
    """A single layer of one head on the same task."""
    return replace(
        config, **ONE, steps=min(2 * config.steps, ONE_STEPS), batch=min(config.batch, ONE_BATCH)
    )


def _label(config: Config, name: str) -> str:
    """What people are told is in training."""
    if name == ONE_LAYER:
        return "the one-layer baseline"
    return (
        f"the model, seed {int(name.split()[1]) + 1} of {config.seeds}"
        if config.seeds > 1
        else "the model"
    )


def _train(
    config: Config, keep: bool, resumed: Tensors, report: phases.Report
) -> dict[str, np.ndarray]:
    """One training; its final weights are rounded to half precision before anything is measured on
    them."""
    weights, generator = begun(config)
    trained = problem(config, weights, generator, _watch(config, weights))
    at = loop.evaluations(config.steps, *EVALUATIONS)
    state = loop.train(trained, config.steps, at, resumed, report, keep)
    final = {name: tensor.half().float() for name, tensor in weights.items()}
    found = {**_curves(state), **_evaluated(config, final)}
    if not keep:
        return (
            {**found, **attending(config, final)} if config.layers == 1 else found
        )  # the single layer beside more
    path = [name for name in state.curve if name.startswith(("accuracy", "previous_", "triggers_"))]
    chosen = loop.spread(state.moving(*path))
    every = [{**weights, **_tensors(state.snapshots[index])} for index in chosen]
    return {
        **found,
        **_heads(config, state),
        **example_readings(config, every),
        **head_effects(config, final),
        **attending(config, final),
        "snapshot/step": np.array([state.curve["step"][index] for index in chosen], np.int64),
        **{f"final/{name}": tensor.cpu().half().numpy() for name, tensor in final.items()},
    }


def _tensors(arrays: Tensors) -> dict[str, Tensor]:
    return {
        name: torch.from_numpy(array).to(device.current_device()) for name, array in arrays.items()
    }


def _watch(config: Config, weights: dict[str, Tensor]) -> Callable[[int], loop.Measures]:
    task = task_of(config)
    own, ids = held_out(task, WATCHED), head_names(config.layers, config.heads)

    def watch(index: int) -> dict[str, float]:
        achieved, behaviour = look(weights, own, config.heads)
        each = {f"{what}_{name}": float(value) for what in BEHAVIOUR
                for name, value in zip(ids, getattr(behaviour, what), strict=True)}  # fmt: skip
        recalled = {
            f"recall_{name}": value for name, value in recalls(weights, task, config.heads).items()
        }
        return {**achieved, **recalled, **each}

    return watch


def _evaluated(config: Config, final: dict[str, Tensor]) -> dict[str, np.ndarray]:
    """What a trained model achieves on the test set, and what its heads do there, [heads]."""
    measures, behaviour = look(final, held_out(task_of(config), EVALUATED), config.heads)
    found = {**measures, **{name: value.cpu() for name, value in behaviour._asdict().items()}}
    return {f"evaluated/{name}": np.asarray(value, np.float32) for name, value in found.items()}


def _curves(state: loop.State) -> dict[str, np.ndarray]:
    """The curves of a training, but for those of its heads, which are not the same ones in another
    seed."""
    curves = state.curves()
    return {**state.batches(), **{name: curves[name] for name in curves if "." not in name}}


def _heads(config: Config, state: loop.State) -> dict[str, np.ndarray]:
    """`heads/*` [evaluations, heads] of one training."""
    ids = head_names(config.layers, config.heads)
    found = {
        what: np.array([state.curve[f"{what}_{name}"] for name in ids], np.float32).T
        for what in BEHAVIOUR
    }
    return {**{f"heads/{what}": array for what, array in found.items()}, "names/heads": names(ids)}


def _together(config: Config, made: phases.Made) -> dict[str, np.ndarray]:
    """Curves of the full models, seeds first; what has not been reached is NaN."""
    at, found = loop.evaluations(config.steps, *EVALUATIONS), {}
    for name in made[FIRST]:
        if name.startswith(("curve/", "batch/")) and name != "curve/step":
            length = config.steps if name.startswith("batch/") else len(at)
            rows = [
                made.get(f"seed {i}", {}).get(name, np.zeros(0, np.float32))
                for i in range(config.seeds)
            ]
            found[name] = np.stack([padded(row, length) for row in rows])
    return {**found, "curve/step": np.array(at)}


def _beside(config: Config, made: phases.Made) -> dict[str, np.ndarray]:
    """What is no induction head, on the sequences that the model is evaluated on; and what a single
    layer does."""
    task = task_of(config)
    found = baselines.accuracies(task, held_out(task, EVALUATED))
    single = made.get(ONE_LAYER)
    if single is not None:
        found |= {"one_layer": float(single["evaluated/accuracy"])}
    values = {f"baseline/{name}": np.array([value], np.float32) for name, value in found.items()}
    if single is None:
        return values
    kept = {name: single[f"evaluated/{name}"][0] for name in BEHAVIOUR}  # of its only head
    kept |= {
        "in_context_loss": single["batch/in_context_loss"],
        "attends": single["attends/values"],
    }
    return {**values, **{f"one_layer/{name}": np.atleast_1d(array) for name, array in kept.items()}}
