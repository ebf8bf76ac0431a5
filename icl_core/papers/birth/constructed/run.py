"""Constructs the induction head over a range of widths, evaluates it, and trains one beside it."""

from functools import partial

import numpy as np
import torch

from icl_core.experiment import Progress, Tensors, names
from icl_core.papers.birth.constructed.settings import Config
from icl_core.papers.birth.shared import baselines
from icl_core.papers.birth.shared.construction import CROSS_TALK, construct
from icl_core.papers.birth.shared.cross_talk import interference
from icl_core.papers.birth.shared.gradient import evaluate
from icl_core.papers.birth.shared.model import Weights, forward, initialise
from icl_core.papers.birth.shared.probes import recalls
from icl_core.papers.birth.shared.settings import Config as Training
from icl_core.papers.birth.shared.task import Batch, Task, make_task
from icl_core.papers.birth.shared.train import held_out, training_phase
from icl_core.training import phases
from icl_core.training.loop import State
from icl_core.training.phases import Phase

BESIDE = "beside"  # the phase that trains a model
WIDTHS = (16, 32, 64, 128, 256, 512)
SEQUENCES = 256  # held out, on which a construction is evaluated
MEMORIES = ("W_O2", "W_K2", "W_K1")
MEASURES = ("accuracy", "error", *(f"recall_{name}" for name in MEMORIES), *(f"talk_{name}" for name in MEMORIES))


def task_of(config: Config) -> Task:
    """The bigram task on which the construction is evaluated."""
    return make_task(65, config.K, config.T, config.triggers)


def widths(config: Config) -> list[int]:
    """The widths tried: powers of two and d; orthonormal embeddings need 2 N + T dimensions."""
    least = 2 * 65 + config.T if config.embeddings == "orthonormal" else 0
    return sorted({width for width in (*WIDTHS, config.d) if width >= least})


def constructed(config: Config, d: int, cross_talk: str) -> Weights:
    """The constructed model of width d."""
    generator = torch.Generator().manual_seed(config.seed)
    random = initialise(65, d, config.T, generator, "paper", config.feed_forward, config.embeddings)
    return construct(random, task_of(config), config.logit, config.output, cross_talk)


def run(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Evaluate the construction at every width, with its cross-talk and without, and train a model of width d.

    `sweep/width` [D]; `sweep/accuracy_*`, `sweep/error_*`, `sweep/recall_*`, `sweep/talk_*` [D]; `errors/*` [1] at d;
    `beside/*` of the trained model if there is one; `baseline/*` [1]; `frozen/*` and `final/*` of the trained one;
    `names/cross_talk`, `names/memories` and `names/errors` of what the sweeps and errors are.
    """
    task = task_of(config)
    batch = held_out(task, SEQUENCES, "cpu")
    tries = [(d, cross_talk) for d in widths(config) for cross_talk in CROSS_TALK]
    plan = [
        Phase(f"{d} {talk}", 1, partial(_tried, config, d, talk, task, batch), label=f"the construction at d = {d}")
        for d, talk in tries
    ]
    if config.beside:
        plan.append(training_phase(BESIDE, _beside(config), True, "the trained model"))
    made = phases.run(plan, progress, partial(_table, config), "in_context_loss")
    beside = _compared(made[BESIDE], task, batch) if config.beside else {}
    known = baselines.accuracies(task, held_out(task, 4 * SEQUENCES, "cpu"))
    baseline = {f"baseline/{name}": np.array([value], np.float32) for name, value in known.items()}
    return {**_table(config, made), **_errors(config, batch), **beside, **baseline}


def _tried(
    config: Config, d: int, cross_talk: str, task: Task, batch: Batch, resumed: Tensors, report: phases.Report
) -> dict[str, np.ndarray]:
    """One construction evaluated: a phase of a single step, of which there is nothing to save."""
    report(State(), dict)
    return {"row": _evaluated(constructed(config, d, cross_talk), task, batch)}


def _evaluated(weights: Weights, task: Task, batch: Batch) -> np.ndarray:
    measures, recalled = evaluate(weights, batch, positions="in_context"), recalls(weights, task)
    talk = [interference(name, weights, task) for name in MEMORIES]
    row = [measures["accuracy"], measures["accuracy_error"], *(recalled[name] for name in MEMORIES), *talk]
    return np.array(row, np.float32)


def _table(config: Config, made: phases.Made) -> dict[str, np.ndarray]:
    blank = {"row": np.full(len(MEASURES), np.nan, np.float32)}
    table: dict[str, np.ndarray] = {"sweep/width": np.array(widths(config))}
    table |= {"names/cross_talk": names(CROSS_TALK), "names/memories": names(MEMORIES)}
    for cross_talk in CROSS_TALK:
        rows = np.stack([made.get(f"{d} {cross_talk}", blank)["row"] for d in widths(config)])
        table |= {f"sweep/{measure}_{cross_talk}": rows[:, column] for column, measure in enumerate(MEASURES)}
    return table


@torch.no_grad()
def _errors(config: Config, batch: Batch) -> dict[str, np.ndarray]:
    """Where the construction of width d errs: queries equal to the first token, whose position attends to itself for
    lack of a previous one and so passes for its own successor; outputs that another reading outweighs; the rest."""
    weights = constructed(config, config.d, "kept")
    logits, _, attention = forward(weights, batch.inputs)
    wrong = batch.in_context & (logits.argmax(-1) != batch.targets)
    first = wrong & (batch.inputs == batch.inputs[:, :1])
    key = attention.argmax(-1)
    looked = (key > 0) & (batch.inputs.gather(1, (key - 1).clamp(min=0)) == batch.inputs)
    counted = float(batch.in_context.sum())
    kinds = {"first": first, "attention": wrong & ~first & ~looked, "output": wrong & ~first & looked}
    shares = {f"errors/{name}": np.array([float(where.sum()) / counted], np.float32) for name, where in kinds.items()}
    return {**shares, "names/errors": names(kinds)}


def _beside(config: Config) -> Training:
    """An ordinary training at width d, as in the induction-head experiment's fastest preset."""
    same = {name: getattr(config, name) for name in ("K", "T", "d", "triggers", "seed")}
    return Training(steps=config.beside, **same)


def _compared(trained: Tensors, task: Task, batch: Batch) -> dict[str, np.ndarray]:
    """The trained model's matrices, and what it achieves beside the constructions."""
    kept = {name: array for name, array in trained.items() if name.startswith(("final/", "frozen/"))}
    weights = Weights(**{name.partition("/")[2]: torch.tensor(array) for name, array in kept.items()})
    evaluated = dict(zip(MEASURES, _evaluated(weights, task, batch), strict=True))
    return {**kept, **{f"beside/{name}": np.array([value]) for name, value in evaluated.items()}}
