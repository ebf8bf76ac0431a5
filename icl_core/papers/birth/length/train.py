"""Trains a transformer at every length with both optimisers, and watches when its head stands."""

from functools import partial

import numpy as np
import torch

from icl_core.contract.experiment import Progress, Tensors, names
from icl_core.papers.birth.length.settings import OPTIMISERS, Config, lengths_of, training
from icl_core.papers.birth.shared import probes
from icl_core.papers.birth.shared import settings as one
from icl_core.papers.birth.shared.full import head_scores
from icl_core.papers.birth.shared.full import probes as full_probes
from icl_core.papers.birth.shared.full import settings as whole
from icl_core.papers.birth.shared.full import train as full
from icl_core.papers.birth.shared.gradient import evaluate
from icl_core.papers.birth.shared.task import Batch
from icl_core.papers.birth.shared.train import begun, held_out, problem, task_of
from icl_core.training import loop, phases
from icl_core.training.several_seeds import padded

EVERY, DENSE = 4, 100  # steps between evaluations at first, and how many of these
WATCHED = 128  # held-out sequences at each evaluation
MEASURES = ("accuracy", "W_K2", "W_K1")  # by id: in-context accuracy, and what the matrices recall


def compute(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """`curve/<measure>_<optimiser>` [seeds, lengths, evaluations] beside `curve/step`;
    `task/lengths` and, of each length, `task/even` (see `even_share`); `names/measures`,
    `names/optimisers`."""
    plan = [
        phases.Phase(
            _name(*which),
            config.steps,
            partial(_train, training(config, *which)),
            loop.State.curves,
            label=f"{OPTIMISERS[which[0]]}, T = {which[1]}, seed {which[2] + 1}",
        )
        for which in _trainings(config)
    ]
    made = phases.run(plan, progress, partial(_curves, config), "in_context_loss")
    even = [
        even_share(held_out(task_of(training(config, "sgd", T, 0)), WATCHED, "cpu"))
        for T in lengths_of(config)
    ]
    return {**_curves(config, made), "task/even": np.array(even)}


def _trainings(config: Config) -> list[tuple[str, int, int]]:
    """Optimiser, length and seed of each, the first seed of all first."""
    lengths = lengths_of(config)
    return [
        (optimiser, T, seed)
        for seed in range(config.seeds)
        for T in lengths
        for optimiser in OPTIMISERS
    ]


def _name(optimiser: str, T: int, seed: int) -> str:
    return f"{optimiser} {T} {seed}"


def _train(
    config: one.Config | whole.Config, resumed: Tensors, report: phases.Report
) -> dict[str, np.ndarray]:
    trained = _full(config) if isinstance(config, whole.Config) else _simplified(config)
    steps = loop.evaluations(config.steps, EVERY, DENSE)
    return loop.train(trained, config.steps, steps, resumed, report, keep=False).curves()


def _simplified(config: one.Config) -> loop.Problem:
    weights, generator = begun(config)
    task, batch = task_of(config), held_out(task_of(config), WATCHED)

    def watch(step: int) -> dict[str, float]:
        right = evaluate(weights, batch, positions="in_context")["accuracy"]
        return _measures(right, probes.recalls(weights, task))

    return problem(config, weights, generator, watch)


def _full(config: whole.Config) -> loop.Problem:
    weights, generator = full.begun(config)
    task, batch = task_of(config), held_out(task_of(config), WATCHED)

    def watch(step: int) -> dict[str, float]:
        right = head_scores.evaluate(weights, batch, config.heads)["accuracy"]
        return _measures(right, full_probes.recalls(weights, task, config.heads))

    return full.problem(config, weights, generator, watch)


def _measures(accuracy: float, recalls: dict[str, float]) -> dict[str, float]:
    return {"accuracy": accuracy, "W_K2": recalls["W_K2"], "W_K1": recalls["W_K1_early"]}


def _curves(config: Config, made: phases.Made) -> dict[str, np.ndarray]:
    """All curves so far; what has not been reached is NaN."""
    at, lengths = loop.evaluations(config.steps, EVERY, DENSE), lengths_of(config)

    def row(measure: str, optimiser: str, T: int, seed: int) -> np.ndarray:
        return padded(
            made.get(_name(optimiser, T, seed), {}).get(
                f"curve/{measure}", np.zeros(0, np.float32)
            ),
            len(at),
        )

    found = {
        f"curve/{measure}_{optimiser}": np.array(
            [[row(measure, optimiser, T, seed) for T in lengths] for seed in range(config.seeds)],
            np.float32,
        )
        for measure in MEASURES
        for optimiser in OPTIMISERS
    }
    known = {"task/lengths": np.array(lengths), "curve/step": np.array(at)}
    return {
        **found,
        **known,
        "names/measures": names(MEASURES),
        "names/optimisers": names(OPTIMISERS),
    }


def even_share(batch: Batch) -> float:
    """The share of attention, spread evenly over all positions so far, that falls on what followed
    the trigger before: the mean over in-context positions."""
    inputs = batch.inputs
    before = torch.nn.functional.pad(inputs[:, :-1], (1, 0), value=-1)  # the token before each key
    followed = (
        (inputs[:, :, None] == before[:, None, :]).tril().sum(-1)
    )  # (batch, T): keys that follow the query's token
    share = followed / torch.arange(1, inputs.shape[1] + 1)
    return float(share[batch.in_context].mean())
