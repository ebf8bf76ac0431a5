"""Construct the induction head over a range of widths, evaluate it, and train one beside it."""

from dataclasses import replace
from functools import partial

import numpy as np
import torch

from icl_core.contract.experiment import Progress, Tensors, names
from icl_core.papers.birth.constructed import evaluation
from icl_core.papers.birth.constructed.evaluation import ERRORS, MEASURES, MEMORIES, READ, measured
from icl_core.papers.birth.constructed.settings import SEQUENCES, WIDTHS, Config
from icl_core.papers.birth.shared import accuracy
from icl_core.papers.birth.shared.construction import CROSS_TALK, construct
from icl_core.papers.birth.shared.model import TRAINED, Weights, initialise
from icl_core.papers.birth.shared.settings import Config as Training
from icl_core.papers.birth.shared.task import Batch, Task
from icl_core.papers.birth.shared.train import held_out, task_of, training_phase
from icl_core.training import phases
from icl_core.training.loop import State
from icl_core.training.phases import Phase

KEPT = ("final/", "frozen/")  # of the first trained model


def widths(config: Config) -> list[int]:
    """Return the widths tried: powers of two and d; orthonormal embeddings need 2 N + T
    dimensions."""
    return sorted({width for width in (*WIDTHS, config.d) if width >= config.least_width})


def constructed(
    config: Config, d: int, cross_talk: str, cleaned: tuple[str, ...] = TRAINED
) -> Weights:
    """Return the constructed model of width d on the first embeddings, `cleaned` of its
    cross-talk."""
    generator = torch.Generator().manual_seed(config.seed)
    random = initialise(
        config.N, d, config.T, generator, "paper", config.feed_forward, config.embeddings
    )
    return construct(random, task_of(config), config.logit, config.output, cross_talk, cleaned)


def compute(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Evaluate the construction at every width, with its cross-talk and without, and train a model
    of width d, each on several embeddings.

    `sweep/width` [D] and of every measure and way with cross-talk `sweep/*` [seeds, D]; at d
    `alone/*` [seeds], one matrix cleaned of its cross-talk, `errors/*` and with W_F `reads/*`
    [seeds]; `beside/*` [seeds] of the trained models, if there are any; `baseline/*` [1];
    `frozen/*` and `final/*` of the first trained one; `names/cross_talk`, `names/memories`,
    `names/errors` and `names/reads` of what these are.
    """
    task = task_of(config)
    batch = held_out(task, SEQUENCES, "cpu")
    plan = [
        phase
        for seed_config in _seeds(config)
        for phase in _phases(config, seed_config, task, batch)
    ]
    tensors = phases.run(plan, progress, partial(_table, config), "in_context_loss")
    accuracies = accuracy.accuracies(task, held_out(task, 4 * SEQUENCES, "cpu"))
    accuracies["bigrams_loss"] = evaluation.bigrams_loss(task, batch)
    baseline = {
        f"baseline/{name}": np.array([value], np.float32) for name, value in accuracies.items()
    }
    return {
        **_table(config, tensors),
        **_at_d(config, tensors),
        **_beside(config, tensors),
        **baseline,
    }


def _seeds(config: Config) -> list[Config]:
    """Return one config an embedding."""
    return [
        replace(config, seed=(config.seed + index) % 100, seeds=1) for index in range(config.seeds)
    ]


def _phases(config: Config, seed_config: Config, task: Task, batch: Batch) -> list[Phase]:
    """Return what is done with one embedding: a construction at every width, and a training."""
    which = (
        f", embedding {(seed_config.seed - config.seed) % 100 + 1} of {config.seeds}"
        if config.seeds > 1
        else ""
    )
    constructions = [
        Phase(
            f"{d} {seed_config.seed}",
            1,
            partial(_tried, seed_config, d, task, batch),
            label=f"construction at d = {d}{which}",
        )
        for d in widths(config)
    ]
    if not config.beside:
        return constructions
    phase = training_phase(
        f"beside {seed_config.seed}", _training(seed_config), True, f"the trained model{which}"
    )
    whole = seed_config.seed == config.seed
    return [*constructions, replace(phase, train=partial(_trained, phase, whole, task, batch))]


def _tried(
    config: Config, d: int, task: Task, batch: Batch, resumed: Tensors, report: phases.Report
) -> dict[str, np.ndarray]:
    """Return the constructions of one width evaluated: a phase of a single step, of which there is
    nothing to save."""
    report(State(), dict)
    built = {talk: constructed(config, d, talk) for talk in CROSS_TALK}
    tensors = {"rows": np.stack([measured(weights, task, batch) for weights in built.values()])}
    if d != config.d:
        return tensors
    alone = [measured(constructed(config, d, "stream", (name,)), task, batch) for name in MEMORIES]
    tensors |= {"alone": np.stack(alone), "errors": evaluation.errors(built["kept"], batch)}
    return (
        {**tensors, "reads": evaluation.readings(built["kept"], batch)}
        if config.feed_forward
        else tensors
    )


def _training(config: Config) -> Training:
    """Return an ordinary training at width d, as in the induction-head experiment's fastest
    preset."""
    same = {
        name: getattr(config, name) for name in ("text", "N", "K", "T", "d", "triggers", "seed")
    }
    return Training(steps=config.beside, **same)


def _trained(
    phase: Phase, whole: bool, task: Task, batch: Batch, resumed: Tensors, report: phases.Report
) -> dict[str, np.ndarray]:
    """Return what a trained model achieves where the constructions are evaluated; with its
    matrices, if `whole`."""
    trained = phase.train(resumed, report)
    matrices = {name: array for name, array in trained.items() if name.startswith(KEPT)}
    weights = Weights(
        **{name.partition("/")[2]: torch.tensor(array) for name, array in matrices.items()}
    )
    return {"row": measured(weights, task, batch), **(matrices if whole else {})}


def _table(config: Config, tensors: phases.Made) -> dict[str, np.ndarray]:
    """Return the sweeps; what has not been reached is NaN."""
    blank = {"rows": np.full((len(CROSS_TALK), len(MEASURES)), np.nan, np.float32)}
    table: dict[str, np.ndarray] = {"sweep/width": np.array(widths(config))}
    table |= {"names/cross_talk": names(CROSS_TALK), "names/memories": names(MEMORIES)}
    rows = [
        [tensors.get(f"{d} {seed_config.seed}", blank)["rows"] for d in widths(config)]
        for seed_config in _seeds(config)
    ]
    stacked = np.array(rows)  # (seeds, widths, ways, measures)
    for way, talk in enumerate(CROSS_TALK):
        table |= {
            f"sweep/{measure}_{talk}": stacked[:, :, way, i] for i, measure in enumerate(MEASURES)
        }
    return table


def _at_d(config: Config, tensors: phases.Made) -> dict[str, np.ndarray]:
    """Return what is measured at width d alone, seeds first."""
    rows = [tensors[f"{config.d} {seed_config.seed}"] for seed_config in _seeds(config)]
    alone, errors = (np.stack([row[name] for row in rows]) for name in ("alone", "errors"))
    measured_at_d = {f"alone/accuracy_{name}": alone[:, i, 0] for i, name in enumerate(MEMORIES)}
    measured_at_d |= {f"errors/{name}": errors[:, i] for i, name in enumerate(ERRORS)}
    measured_at_d["names/errors"] = names(ERRORS)
    if not config.feed_forward:
        return measured_at_d
    reads = np.stack([row["reads"] for row in rows])  # (seeds, read, 2)
    for column, measure in enumerate(("accuracy", "global_loss")):
        measured_at_d |= {
            f"reads/{measure}_{name}": reads[:, i, column] for i, name in enumerate(READ)
        }
    return {**measured_at_d, "names/reads": names(READ)}


def _beside(config: Config, tensors: phases.Made) -> dict[str, np.ndarray]:
    """Return what the trained models achieve, seeds first, and the first one's matrices."""
    rows = (
        [tensors[f"beside {seed_config.seed}"] for seed_config in _seeds(config)]
        if config.beside
        else []
    )
    if not rows:
        return {}
    measures = np.stack([row["row"] for row in rows])
    matrices = {name: array for name, array in rows[0].items() if name.startswith(KEPT)}
    return {**matrices, **{f"beside/{name}": measures[:, i] for i, name in enumerate(MEASURES)}}
