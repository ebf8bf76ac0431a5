"""Train the simplified transformer on every kind of data, and read what its matrices have stored at
the end."""

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
from icl_core.training.run_grid import RunGrid

# steps between evaluations at first, and how many of these
EVERY = 8
DENSE = 25
# held-out sequences at each evaluation, and at the end
WATCHED = 128
EVALUATED = 1024
LAWS = ("uniform", "bigram")  # of outputs: the trainings of OUTPUTS are evaluated on both
PROBES = ("W_O2", "W_K2", "W_K1_early")  # the memories whose recall is measured, by id
# what is evaluated at the end of a training, and at every evaluation
ENDS = ("accuracy", "in_context_loss", "global_loss", *(f"accuracy_{law}" for law in LAWS))
MEASURES = (*ENDS, *(f"recall_{name}" for name in PROBES))
MATRICES = ("W_K1", "W_K2", "W_O2")


def compute(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Train on every kind of data with every seed. Return, in the order of `names/data`:

    curve/<measure>      [seeds, data, evaluations] beside `curve/step` [evaluations]
    evaluated/<measure>  [seeds, data], on more sequences
    diagonal/<matrix>    [seeds, data, pairs], the readings of the pairs that a matrix should store
    aside/<matrix>       [seeds, data], the standard deviation of all its other readings
    map/<matrix>         [data, rows, columns], all readings of the first seed, one byte each, with
                         their `scale/<matrix>`
    task/often           [characters], how often each occurs, in the order of `names/characters`

    What was not measured is NaN. Raises `Diverged` and `Cancelled`.
    """
    plan = _grid(config).phases(
        config.steps,
        partial(_train, config),
        label=lambda seed, data: f"{DATA[data].label}, seed {seed + 1}",
    )
    results = phases.run(plan, progress, partial(_curves, config), "in_context_loss")
    task = task_of(training(config, "random_3", 0))
    return {
        **_curves(config, results),
        **_ends(config, results),
        "task/often": task.unigram.numpy(),
        "names/characters": names(task.characters),
    }


def _grid(config: Config) -> RunGrid:
    """Return the trainings: every kind of data with the first seed, then with the next."""
    return RunGrid(
        lambda seed, data: f"{data} {seed}", {"seed": range(config.seeds), "data": list(DATA)}
    )


def _train(
    whole: Config, resumed: Tensors, report: phases.Report, *, seed: int, data: str
) -> dict[str, np.ndarray]:
    """Train on one kind of data with one seed, then evaluate on more sequences."""
    config = training(whole, data, seed)
    weights, generator = begun(config)
    watched = _sequences(config, data, WATCHED)
    trained = problem(config, weights, generator, lambda step: _watch(config, weights, watched))
    evaluations = loop.evaluations(config.steps, EVERY, DENSE)
    state = loop.train(trained, config.steps, evaluations, resumed, report, keep=False)
    measures = _evaluated(config, weights, _sequences(config, data, EVALUATED))
    evaluated = {f"evaluated/{name}": np.array(value) for name, value in measures.items()}
    return {**state.curves(), **evaluated, **stored(config, weights)}


def _sequences(config: one.Config, name: str, count: int) -> dict[str, Batch]:
    """Return `count` held-out sequences by the law of their outputs: the law of the training on the
    data called `name`, and both laws where the trainings on the two are compared."""
    laws = LAWS if name in OUTPUTS else (config.outputs,)
    return {law: held_out(task_of(replace(config, outputs=law)), count) for law in laws}


def _watch(
    config: one.Config, weights: Weights, sequences: Mapping[str, Batch]
) -> dict[str, float]:
    """Return MEASURES of the weights at an evaluation."""
    recalls = probes.recalls(weights, task_of(config))
    return {
        **_evaluated(config, weights, sequences),
        **{f"recall_{name}": recalls[name] for name in PROBES},
    }


def _evaluated(
    config: one.Config, weights: Weights, sequences: Mapping[str, Batch]
) -> dict[str, float]:
    """Return ENDS of the weights; accuracies by law are NaN where outputs are not compared."""
    by_law = {}
    for law, batch in sequences.items():
        positions = "all" if law == config.outputs else "in_context"
        by_law[law] = evaluate(weights, batch, positions=positions)
    own = by_law[config.outputs]
    ends = {measure: own[measure] for measure in ENDS[:3]}
    for law in LAWS:
        ends[f"accuracy_{law}"] = by_law[law]["accuracy"] if law in by_law else np.nan
    return ends


def stored(config: one.Config, weights: Weights) -> dict[str, np.ndarray]:
    """Return all readings of each matrix as `map/<matrix>` [rows, columns], those that it should
    store as `diagonal/<matrix>` [pairs], and the standard deviation of all others as
    `aside/<matrix>`.

    W_K2 is asked for every character, even where only few can be triggers.
    """
    task = task_of(replace(config, triggers="random"))
    readings: dict[str, np.ndarray] = {}
    for name in MATRICES:
        matrix = probes.memory_scores(name, weights, task).matrix.cpu().numpy()  # (rows, columns)
        readings[f"map/{name}"] = matrix
        readings[f"diagonal/{name}"] = matrix.diagonal().copy()  # (pairs,)
        others = ~np.eye(len(matrix), dtype=bool)  # (rows, columns)
        readings[f"aside/{name}"] = matrix[others].std()
    return readings


def _curves(config: Config, results: phases.Made) -> dict[str, np.ndarray]:
    """Return all curves so far, [seeds, data, evaluations]; evaluations not reached are NaN."""
    evaluations = loop.evaluations(config.steps, EVERY, DENSE)
    return {
        **_grid(config).curves(results, {"curve": len(evaluations)}),
        "curve/step": np.array(evaluations),
        "names/data": names(DATA),
        "names/probes": names(PROBES),
    }


def _ends(config: Config, results: phases.Made) -> dict[str, np.ndarray]:
    """Return what is measured of the trained weights, float32; see `compute`."""
    grid = _grid(config)
    measured = grid.stack_all(results, "evaluated", "diagonal", "aside")
    ends = {name: array.astype(np.float32) for name, array in measured.items()}
    for matrix in MATRICES:
        readings = grid.stack(results, f"map/{matrix}", seed=0)  # (data, rows, columns)
        compacted = compact(matrix, readings)
        ends[f"map/{matrix}"] = compacted[f"snapshot/{matrix}"]
        ends[f"scale/{matrix}"] = compacted[f"scale/{matrix}"]
    return ends
