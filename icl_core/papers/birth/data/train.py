"""Trains the simplified transformer on every kind of data, and reads what its matrices have stored
in the end."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from icl_core.contract.experiment import Progress, Tensors, compact, names
from icl_core.papers.birth.data.settings import DATA, OUTPUTS, Config, training
from icl_core.papers.birth.shared import probes
from icl_core.papers.birth.shared import settings as one
from icl_core.papers.birth.shared.gradient import evaluate
from icl_core.papers.birth.shared.model import Weights
from icl_core.papers.birth.shared.task import Batch
from icl_core.papers.birth.shared.train import begun, held_out, problem, task_of
from icl_core.training import loop, phases
from icl_core.training.several_seeds import padded

EVERY, DENSE = 8, 25  # steps between evaluations at first, and how many of these
WATCHED, EVALUATED = 128, 1024  # held-out sequences at each evaluation, and at the end
LAWS = ("uniform", "bigram")  # of outputs: the trainings of OUTPUTS are evaluated on both
PROBES = ("W_O2", "W_K2", "W_K1_early")  # by id
ENDS = ("accuracy", "in_context_loss", "global_loss", *(f"accuracy_{law}" for law in LAWS))
MEASURES = (*ENDS, *(f"recall_{name}" for name in PROBES))
MATRICES = ("W_K1", "W_K2", "W_O2")


def compute(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Train all of them. Of every kind of data, in the order of `names/data`:

    `curve/<measure>` [seeds, data, evaluations] beside `curve/step`; `evaluated/<measure>` [seeds,
    data] on more sequences; `diagonal/<matrix>` [seeds, data, pairs], the readings of the pairs
    that a matrix is to store, and `aside/<matrix>` [seeds, data], the standard deviation of all
    other readings; `map/<matrix>` [data, rows, columns] with `scale/<matrix>`, all readings of the
    first seed, a byte each. `task/often` [characters] goes with `names/characters`. What was not
    measured is NaN.
    """
    plan = [
        phases.Phase(
            _name(*which),
            config.steps,
            partial(_train, config, *which),
            loop.State.curves,
            label=f"{DATA[which[0]].label}, seed {which[1] + 1}",
        )
        for which in _trainings(config)
    ]
    made = phases.run(plan, progress, partial(_curves, config), "in_context_loss")
    task = task_of(training(config, "random_3", 0))
    known = {"task/often": task.unigram.numpy(), "names/characters": names(task.characters)}
    return {**_curves(config, made), **_ends(config, made), **known}


def _trainings(config: Config) -> list[tuple[str, int]]:
    """Data and seed of each, the first seed of all first."""
    return [(name, seed) for seed in range(config.seeds) for name in DATA]


def _name(name: str, seed: int) -> str:
    return f"{name} {seed}"


def _train(
    whole: Config, name: str, seed: int, resumed: Tensors, report: phases.Report
) -> dict[str, np.ndarray]:
    config = training(whole, name, seed)
    weights, generator = begun(config)
    watched = _sequences(config, name, WATCHED)
    trained = problem(config, weights, generator, lambda step: _watch(config, weights, watched))
    state = loop.train(
        trained,
        config.steps,
        loop.evaluations(config.steps, EVERY, DENSE),
        resumed,
        report,
        keep=False,
    )
    ends = _evaluated(config, weights, _sequences(config, name, EVALUATED))
    found = {f"evaluated/{measure}": np.array(value) for measure, value in ends.items()}
    return {**state.curves(), **found, **stored(config, weights)}


def _sequences(config: one.Config, name: str, count: int) -> dict[str, Batch]:
    """Held-out sequences by the law of their outputs: of the training's own, and where they are
    compared of both."""
    laws = LAWS if name in OUTPUTS else (config.outputs,)
    return {law: held_out(task_of(replace(config, outputs=law)), count) for law in laws}


def _watch(
    config: one.Config, weights: Weights, sequences: Mapping[str, Batch]
) -> dict[str, float]:
    recalls = probes.recalls(weights, task_of(config))
    return {
        **_evaluated(config, weights, sequences),
        **{f"recall_{name}": recalls[name] for name in PROBES},
    }


def _evaluated(
    config: one.Config, weights: Weights, sequences: Mapping[str, Batch]
) -> dict[str, float]:
    """ENDS of the weights; the accuracies by law are NaN where outputs are not compared."""
    found = {
        law: evaluate(weights, batch, positions="all" if law == config.outputs else "in_context")
        for law, batch in sequences.items()
    }
    own, nothing = found[config.outputs], {"accuracy": np.nan}
    compared = {f"accuracy_{law}": found.get(law, nothing)["accuracy"] for law in LAWS}
    return {measure: own[measure] for measure in ENDS[:3]} | compared


def stored(config: one.Config, weights: Weights) -> dict[str, np.ndarray]:
    """All readings of each matrix, `map/<matrix>`; those that it is to store, `diagonal/…`, and the
    standard deviation of all others, `aside/…`. W_K2 is asked for every character, also where few
    of them can be triggers."""
    task = task_of(replace(config, triggers="random"))
    found = {}
    for name in MATRICES:
        matrix = probes.memory_scores(name, weights, task).matrix.cpu().numpy()
        found[f"map/{name}"], found[f"diagonal/{name}"] = matrix, matrix.diagonal().copy()
        found[f"aside/{name}"] = matrix[~np.eye(len(matrix), dtype=bool)].std()
    return found


def _curves(config: Config, made: phases.Made) -> dict[str, np.ndarray]:
    """All curves so far; what has not been reached is NaN."""
    at, ids = loop.evaluations(config.steps, EVERY, DENSE), list(DATA)
    nothing = np.zeros(0, np.float32)

    def row(measure: str, name: str, seed: int) -> np.ndarray:
        return padded(made.get(_name(name, seed), {}).get(f"curve/{measure}", nothing), len(at))

    found = {
        f"curve/{measure}": np.array(
            [[row(measure, name, seed) for name in ids] for seed in range(config.seeds)], np.float32
        )
        for measure in MEASURES
    }
    return {
        **found,
        "curve/step": np.array(at),
        "names/data": names(ids),
        "names/probes": names(PROBES),
    }


def _ends(config: Config, made: phases.Made) -> dict[str, np.ndarray]:
    """What is measured of the trained weights."""
    first = made[_name(next(iter(DATA)), 0)]
    kinds = [name for name in first if name.startswith(("evaluated/", "diagonal/", "aside/"))]
    seeds = range(config.seeds)
    found = {
        kind: np.array(
            [[made[_name(name, seed)][kind] for name in DATA] for seed in seeds], np.float32
        )
        for kind in kinds
    }
    for matrix in MATRICES:
        maps = compact(matrix, np.stack([made[_name(name, 0)][f"map/{matrix}"] for name in DATA]))
        found |= {
            f"map/{matrix}": maps[f"snapshot/{matrix}"],
            f"scale/{matrix}": maps[f"scale/{matrix}"],
        }
    return found
