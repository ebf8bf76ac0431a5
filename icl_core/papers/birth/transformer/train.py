"""Train the full transformer, seed by seed, and a single layer to compare it with."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from icl_core.contract.experiment import Progress, Tensors, names
from icl_core.contract.seeds import model_of_seed
from icl_core.machine import device
from icl_core.papers.birth.shared import accuracy
from icl_core.papers.birth.shared.full.head_scores import PROBED, head_names, look, one_back_of
from icl_core.papers.birth.shared.full.probes import recalls
from icl_core.papers.birth.shared.full.settings import EVALUATIONS, Config
from icl_core.papers.birth.shared.full.train import begun, problem
from icl_core.papers.birth.shared.train import EVALUATED, WATCHED, held_out, seed_models, task_of
from icl_core.papers.birth.transformer.measurements import attending, example_readings, head_effects
from icl_core.training import loop, phases
from icl_core.training.run_grid import RunGrid

# names of trainings
ONE_LAYER = "one_layer"
FIRST = "seed 0"
# measured of every head at every evaluation; `_even` is what uniform attention would give
BEHAVIOUR = ("previous", "triggers", "others", "uniformity", "triggers_even", "others_even")

# A single layer learns slowly with SGD, so it is trained in this way whatever the model's
# optimiser: twice as long as the model, but for at most ONE_STEPS.
ONE = {"optimiser": "adamw", "learning_rate": 0.005, "heads": 1, "layers": 1, "seeds": 1}
ONE_STEPS = 800
ONE_BATCH = 64


def compute(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Train every seed and a one-layer model. Return

    curve/*      [seeds, evaluations] beside `curve/step` [evaluations]
    batch/*      [seeds, steps], among them the norms `gradient_*`
    evaluated/*  [seeds], of heads [seeds, heads]
    baseline/*   [1]
    one_layer/*  of the one-layer model
    names/*

    and of the first seed `final/*` in half precision, `heads/*` [evaluations, heads], `effect/*`,
    and `reading/*` [snapshots, …] beside `snapshot/step`; of the others `final/*` and `heads/*` as
    `seed/<number>/…`. Raises `Diverged` and `Cancelled`.
    """
    plan = [
        phases.Phase(
            name,
            part.steps,
            partial(_train, part, name == FIRST, name != ONE_LAYER),
            _curves,
            label=_label(config, name),
            model=partial(_model, part),
        )
        for name, part in _trainings(config).items()
    ]
    curves = partial(_all_curves, config)
    results = phases.run(plan, progress, curves, "in_context_loss", partial(_preview, config))
    of_first_seed = {
        name: array
        for name, array in results[FIRST].items()
        if not name.startswith(("curve/", "batch/", "evaluated/"))
    }
    return {
        **_all_curves(config, results),
        **of_first_seed,
        **seed_models(results, config.seeds, ("final/", "heads/")),
        **_seeds(config).stack_all(results, "evaluated"),
        **_baselines(config, results),
    }


def _model(config: Config, state: loop.State) -> dict[str, np.ndarray]:
    """Return what the stage shows of a model in training: its example now, and its heads as far as
    they are measured."""
    heads = _heads(config, state) if state.curve else {}
    weights = {**begun(config)[0], **state.parameters}
    step = {"snapshot/step": np.array([state.step], np.int64)}
    return {**step, **heads, **example_readings(config, [weights])} if heads else {}


def _preview(config: Config, results: phases.Made) -> Tensors:
    """Return the model of the seed in training; of the first one while something else is."""
    seeds = [name for name in results if name != ONE_LAYER]
    name = seeds[-1] if seeds else ""
    if "reading/attention" not in results.get(name, {}):  # its training has ended, or not begun
        name = FIRST
    tensors = results.get(name, {})
    if "reading/attention" not in tensors:
        return {}
    shown = {
        key: array
        for key, array in tensors.items()
        if key.startswith(("heads/", "names/", "example/"))
    }
    last = {
        key: array[-1:]
        for key, array in tensors.items()
        if key.startswith(("reading/", "snapshot/"))
    }
    steps = {"curve/step": np.array(loop.evaluations(config.steps, *EVALUATIONS))}
    return {**steps, **shown, **last, **model_of_seed(int(name.split()[1]) + 1)}


def _seeds(config: Config) -> RunGrid:
    """Return the trainings of the full model: one a seed."""
    return RunGrid(lambda seed: f"seed {seed}", {"seed": range(config.seeds)})


def _trainings(config: Config) -> dict[str, Config]:
    """Return the config of every training by its name: each seed, and the one-layer model where
    there are more layers."""
    trainings = {
        f"seed {index}": replace(config, seed=(config.seed + index) % 100, seeds=1)
        for index in range(config.seeds)
    }
    if config.layers > 1:
        trainings[ONE_LAYER] = one_layer(config)
    return trainings


def one_layer(config: Config) -> Config:
    """Return the config of a single layer of one head on the same task."""
    return replace(
        config, **ONE, steps=min(2 * config.steps, ONE_STEPS), batch=min(config.batch, ONE_BATCH)
    )


def _label(config: Config, name: str) -> str:
    """Return a training's name for people."""
    if name == ONE_LAYER:
        return "the one-layer baseline"
    if config.seeds == 1:
        return "the model"
    return f"the model, seed {int(name.split()[1]) + 1} of {config.seeds}"


def _train(
    config: Config, keep: bool, end: bool, resumed: Tensors, report: phases.Report
) -> dict[str, np.ndarray]:
    """Train one model and measure it, with `keep` also at its snapshots, with `end` its heads.

    The final weights are rounded to half precision before anything is measured on them.
    """
    weights, generator = begun(config)
    trained = problem(config, weights, generator, _watch(config, weights))
    # the one-layer model is measured at its end alone
    evaluations = loop.evaluations(config.steps, *EVALUATIONS) if end else []
    state = loop.train(trained, config.steps, evaluations, resumed, report, keep)
    final = {name: tensor.half().float() for name, tensor in weights.items()}
    results = {**_curves(state), **_evaluated(config, final)}
    if not keep:
        # the one-layer model: also where it attends, which is shown beside the full model
        attends = attending(config, final) if config.layers == 1 else {}
        return {**results, **attends, **(_end(config, state, final) if end else {})}
    path = [name for name in state.curve if name.startswith(("accuracy", "previous_", "triggers_"))]
    shown = loop.spread(state.moving(*path))
    snapshots = [{**weights, **_tensors(state.snapshots[index])} for index in shown]
    return {
        **results,
        **_end(config, state, final),
        **example_readings(config, snapshots),
        **head_effects(config, final),
        **attending(config, final),
        "snapshot/step": np.array([state.curve["step"][index] for index in shown], np.int64),
    }


def _end(config: Config, state: loop.State, final: dict[str, Tensor]) -> dict[str, np.ndarray]:
    """Return the heads over a training, and its last weights."""
    weights = {f"final/{name}": tensor.cpu().half().numpy() for name, tensor in final.items()}
    return {**_heads(config, state), **weights}


def _tensors(arrays: Tensors) -> dict[str, Tensor]:
    """Return a snapshot's arrays as tensors on the device."""
    return {
        name: torch.from_numpy(array).to(device.current_device()) for name, array in arrays.items()
    }


def _watch(config: Config, weights: dict[str, Tensor]) -> Callable[[int], loop.Measures]:
    """Return what measures the weights at an evaluation: accuracies and losses, the recall of the
    matrices, and BEHAVIOUR of every head as `<measure>_<head>`."""
    task = task_of(config)
    batch = held_out(task, WATCHED)
    heads = head_names(config.layers, config.heads)

    def watch(index: int) -> dict[str, float]:
        performance, behaviour = look(weights, batch, config.heads)
        measures = dict(performance)
        for name, value in recalls(weights, task, config.heads).items():
            measures[f"recall_{name}"] = value
        for measure in BEHAVIOUR:
            for head, value in zip(heads, getattr(behaviour, measure), strict=True):
                measures[f"{measure}_{head}"] = float(value)
        return measures

    return watch


def _evaluated(config: Config, final: dict[str, Tensor]) -> dict[str, np.ndarray]:
    """Return what a model achieves on the test set, and what its heads do there, [heads]."""
    measures, behaviour = look(final, held_out(task_of(config), EVALUATED), config.heads)
    by_head = {name: value.cpu() for name, value in behaviour._asdict().items()}
    if config.layers > 1:
        batch = held_out(task_of(config), PROBED // config.T)
        back = one_back_of(final, batch, config.heads)
        by_head |= {"where_read": back.attention, "strongest": back.strongest}
    return {
        f"evaluated/{name}": np.asarray(value, np.float32)
        for name, value in {**measures, **by_head}.items()
    }


def _curves(state: loop.State) -> dict[str, np.ndarray]:
    """Return the curves of a training without those of its heads (whose names hold a dot): a head
    of one seed does not correspond to that of another."""
    curves = state.curves()
    return {**state.batches(), **{name: curves[name] for name in curves if "." not in name}}


def _heads(config: Config, state: loop.State) -> dict[str, np.ndarray]:
    """Return BEHAVIOUR of one training as `heads/*` [evaluations, heads], and `names/heads`."""
    heads = head_names(config.layers, config.heads)
    arrays: dict[str, np.ndarray] = {}
    for measure in BEHAVIOUR:
        rows = [state.curve[f"{measure}_{head}"] for head in heads]
        arrays[f"heads/{measure}"] = np.array(rows, np.float32).T
    return {**arrays, "names/heads": names(heads)}


def _all_curves(config: Config, results: phases.Made) -> dict[str, np.ndarray]:
    """Return the curves so far of the full models, [seeds, …]; what is not reached is NaN."""
    evaluations = loop.evaluations(config.steps, *EVALUATIONS)
    points = {"curve": len(evaluations), "batch": config.steps}
    return {**_seeds(config).curves(results, points), "curve/step": np.array(evaluations)}


def _baselines(config: Config, results: phases.Made) -> dict[str, np.ndarray]:
    """Return the accuracies of the baselines on the test set as `baseline/*` [1], and what the
    one-layer model does as `one_layer/*`, if there is one."""
    task = task_of(config)
    accuracies = accuracy.accuracies(task, held_out(task, EVALUATED))
    single = results.get(ONE_LAYER)
    if single is not None:
        accuracies |= {"one_layer": float(single["evaluated/accuracy"])}
    arrays = {
        f"baseline/{name}": np.array([value], np.float32) for name, value in accuracies.items()
    }
    if single is None:
        return arrays
    measures = {name: single[f"evaluated/{name}"][0] for name in BEHAVIOUR}  # of its only head
    measures["in_context_loss"] = single["batch/in_context_loss"]
    measures["attends"] = single["attends/values"]
    return {
        **arrays,
        **{f"one_layer/{name}": np.atleast_1d(array) for name, array in measures.items()},
    }
