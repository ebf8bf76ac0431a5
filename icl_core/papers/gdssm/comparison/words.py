"""The numbers in words.md, and which answers are right."""

from typing import Any

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.contract.story import first_at
from icl_core.contract.words import Reading, Words
from icl_core.papers.gdssm.comparison.load_run import (
    PAPERS_TASKS,
    Entry,
    entries,
    own_level,
    seeds_there,
    tasks_seen,
)
from icl_core.papers.gdssm.comparison.settings import Config, View
from icl_core.papers.gdssm.shared.captions import EXAMPLE
from icl_core.papers.gdssm.shared.sequence_models import train
from icl_core.papers.gdssm.shared.sequence_models.all_models import learners
from icl_core.papers.gdssm.shared.sequence_models.training_end import NEAR, levels, watched

ROOM = 20  # characters of a headline for names
THREE = ("s5", "mamba", "griffin")
OWN = "gd-ssm-1"


def _entry(run: Run, id: str) -> Entry:
    """Return the model of that id. Raises StopIteration if the run has none."""
    return next(entry for entry in entries(run) if entry.model.id == id)


def _ratio(run: Run, id: str) -> float:
    """Return a model's loss over that of one step."""
    return _entry(run, id).loss / levels(run)[1]


def _loss(id: str) -> Reading:
    """Return the reading of a model's loss over that of one step."""
    return lambda run, view: _ratio(run, id)


def _best(run: Run) -> float:
    """Return the least loss of a model."""
    return min(entry.loss for entry in entries(run))


def _reaching(run: Run) -> list[Entry]:
    """Return the models of which every seed matches as many steps of gradient descent as it has
    layers."""
    return [entry for entry in entries(run) if seeds_there(run, entry) == len(entry.losses)]


def _in_some_seeds(run: Run, view: Any) -> str:
    """Return the models of which some seeds do so and others do not, each with how many."""
    there = ((entry, seeds_there(run, entry)) for entry in entries(run))
    return "; ".join(
        f"{entry.model.short}, {count} of {len(entry.losses)}"
        for entry, count in there
        if 0 < count < len(entry.losses)
    )


def _farthest(run: Run) -> tuple[Entry, float]:
    """Return the model that ends farthest above its own steps, of those that did not diverge, and
    its loss over theirs."""
    finite = [entry for entry in entries(run) if not entry.diverged]
    return max(
        ((entry, entry.loss / own_level(run, entry)) for entry in finite), key=lambda pair: pair[1]
    )


def _others(run: Run) -> list[Entry]:
    """Return the baselines that do so."""
    return [entry for entry in _reaching(run) if entry.baseline]


def _reached_by(run: Run, view: Any) -> str:
    """Return who matches a step per layer: by name where there is room."""
    models = _reaching(run)
    names = " and ".join(entry.model.short for entry in models)
    return names if len(names) <= ROOM else f"{len(models)} of {len(entries(run))}"


def _counts(run: Run, *, of_baselines: bool) -> list[int]:
    """Return how many parameters the GD-SSM's models have, or all others."""
    return [entry.parameters for entry in entries(run) if entry.baseline == of_baselines]


def _arrival(run: Run, id: str) -> float | None:
    """Return the step at which the mean of a model's curve first is as good as one step, None if it
    never is."""
    curve = _entry(run, id).curve
    assert curve is not None
    return first_at(run["curve/step"], curve.mean(0) <= NEAR * watched(run)[1])


def _griffin_times(run: Run, view: Any) -> float:
    """Return how many times as many parameters Griffin has, to two digits."""
    return _two_digits(_entry(run, "griffin").parameters / _entry(run, OWN).parameters)


def _others_times(run: Run, view: Any) -> float:
    """Return how many times as many parameters the smallest of these has, to two digits."""
    counts = [entry.parameters for entry in _others(run)]
    return _two_digits(min(counts) / _entry(run, OWN).parameters if counts else 1)


def _two_digits(number: float) -> float:
    return float(f"{number:.2g}")


def _others_later(run: Run, view: Any) -> bool:
    """Return whether all of them come there after the GD-SSM."""
    own, *others = (
        _arrival(run, id) or np.inf for id in (OWN, *(entry.model.id for entry in _others(run)))
    )
    return min(others, default=0) > own


def _fewer(run: Run, view: Any) -> int:
    own, other = (_entry(run, id).parameters for id in (OWN, "griffin"))
    return 0 if own > 0.5 * other else 1 if own > 0.01 * other else 2


WORDS = Words(
    __file__,
    Config,
    View,
    of_config={
        "models": lambda config: len(learners(config)),
        "vector_labels": lambda config: config.model == "N-D",
    },
    readings={
        "scalar_labels": lambda run, view: run.config.model == "1-D",
        "finished": lambda run, view: run.finished,
        # models
        "models_of_run": lambda run, view: len(entries(run)),
        "models_in_training": lambda run, view: len(run.names("models")),
        "all_diverged": lambda run, view: not np.isfinite(_best(run)),
        "diverged": lambda run, view: ", ".join(
            entry.model.short for entry in entries(run) if entry.diverged
        ),
        "reached": lambda run, view: len(_reaching(run)),
        "reached_all": lambda run, view: len(_reaching(run)) == len(entries(run)),
        "reached_by": _reached_by,
        "in_some_seeds": _in_some_seeds,
        "others": lambda run, view: len(_others(run)),
        "others_later": _others_later,
        # losses, over that of one step
        "near": lambda run, view: NEAR,
        "near_margin": lambda run, view: NEAR - 1,
        "farthest": lambda run, view: _farthest(run)[0].model.short,
        "farthest_times": lambda run, view: _farthest(run)[1],
        "s5": _loss("s5"),
        "mamba": _loss("mamba"),
        "griffin": _loss("griffin"),
        "linear_1": _loss("linear-1"),
        "linear_2": _loss("linear-2"),
        # the loss of one step, on the test set and on the tasks of the curves
        "one_step": lambda run, view: levels(run)[1],
        "one_step_here": lambda run, view: watched(run)[1],
        # steps at which a model is as good as one step
        "own_arrival": lambda run, view: _arrival(run, OWN),
        # parameters
        "own_parameters": lambda run, view: _entry(run, OWN).parameters,
        "griffin_parameters": lambda run, view: _entry(run, "griffin").parameters,
        "griffin_times": _griffin_times,
        "others_times": _others_times,
        "counts_of_ours": lambda run, view: " and ".join(
            f"{count:,}" for count in _counts(run, of_baselines=False)
        ),
        "fewest_of_others": lambda run, view: min(_counts(run, of_baselines=True)),
        "most_of_others": lambda run, view: max(_counts(run, of_baselines=True)),
        # tasks; a million each where the name says so
        "million_tasks": lambda run, view: tasks_seen(run) / 1e6,
        "papers_million_tasks": lambda run, view: PAPERS_TASKS / 1e6,
        "test_tasks": lambda run, view: train.TEST_SET[1],
        "curve_tasks": lambda run, view: train.WATCHED[1],
    },
    right={
        "who": lambda run, view: min(2, sum(_ratio(run, id) <= NEAR for id in THREE)),
        "fewer": _fewer,
    },
    example=EXAMPLE,
)
