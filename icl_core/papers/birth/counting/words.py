"""The numbers in words.md, and which answers are right."""

from typing import Any

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.contract.story import Example
from icl_core.contract.words import Reading, Words
from icl_core.papers.birth.counting.load_run import (
    at_step,
    becomes,
    likeliest,
    looks_back,
    nearest,
    next_state,
    read,
    share_of_gain,
)
from icl_core.papers.birth.counting.model import LETTERS, STRATEGIES
from icl_core.papers.birth.counting.settings import Config, View

SOON = 0.1  # of the training: so close together is at the same time
EARLY = 8  # a position at which little has been counted
EXAMPLE = Example(
    (
        ("A", "trigger"),
        ("B", "output"),
        ("C", ""),
        ("A", "trigger"),
        ("B", "output"),
        ("B", ""),
        ("A", "query"),
    ),
    "B",
)


def _nearest_now(run: Run, view: Any) -> str:
    """Return the id of the strategy that the predictions are nearest to at the step shown."""
    step = run.step(view)
    return min(run.names("strategies"), key=lambda name: at_step(run, f"kl_{name}", step))


def _last_nearest(run: Run, view: Any) -> int:
    """Return 1 and more by the strategy that is nearest at the last evaluation; 0 before any."""
    names = nearest(run)
    return 1 + STRATEGIES.index(names[-1]) if names else 0


def _reached(run: Run, view: Any) -> int:
    """Return 0 if the model comes to neither unigrams nor bigrams, 1 if to unigrams alone, 2 if to
    bigrams alone, 3 if to both."""
    single, pairs = _steps(run)
    return (single is not None) + 2 * (pairs is not None)


def _steps(run: Run) -> tuple[float | None, float | None]:
    """Return the steps from which unigrams and bigrams are the nearest."""
    return becomes(run, "unigram"), becomes(run, "bigram")


def _first_counted(run: Run, view: Any) -> int:
    """Return the index of the strategy to which the model comes first, of unigrams and bigrams; 2
    for both at once."""
    single, pairs = (step or np.inf for step in _steps(run))
    return 2 if single == pairs else int(pairs < single)


def _plateau(run: Run) -> float | None:
    """Return the step in the middle of the time in which unigrams are the nearest; None if they do
    not come first."""
    single, pairs = _steps(run)
    if single is None or pairs is None or single >= pairs:
        return None
    return (single + pairs) / 2


def _jump(run: Run) -> float | None:
    """Return the step by which layer 1 looks back and bigrams are nearest; None if one never
    happens."""
    back = looks_back(run)
    pairs = becomes(run, "bigram")
    return max(back, pairs) if back is not None and pairs is not None else None


def _together(run: Run, view: Any) -> int:
    """Return 0, 1 or 2 if layer 1 looks back before, about when, or after the predictions become
    those of bigrams."""
    back = looks_back(run) or np.inf
    pairs = becomes(run, "bigram") or np.inf
    if back == pairs or abs(back - pairs) <= SOON * run.config.steps:
        return 1
    return 0 if back < pairs else 2


def _state(run: Run, view: Any) -> str:
    """Return the state at the position shown."""
    reading = read(run, view)
    return reading.letters[reading.at(view)]


def _gives(name: str) -> Reading:
    """Return the reading of the probability of the likeliest next state, by the model or a
    strategy."""
    return lambda run, view: float(next_state(run, view)[name][likeliest(run, view)])


WORDS = Words(
    __file__,
    Config,
    View,
    readings={
        "finished": lambda run, view: run.finished,
        "step": lambda run, view: run.step(view),
        # distances from the strategies
        "nearest": lambda run, view: STRATEGIES.index(_nearest_now(run, view)),
        "distance": lambda run, view: at_step(run, f"kl_{_nearest_now(run, view)}", run.step(view)),
        "first_distance": lambda run, view: at_step(run, "kl_uniform", 0),
        "last_nearest": _last_nearest,
        "reached": _reached,
        "unigram_step": lambda run, view: becomes(run, "unigram"),
        "bigram_step": lambda run, view: becomes(run, "bigram"),
        "looks_back_step": lambda run, view: looks_back(run),
        # the sequence on stage, up to the position shown
        "states_read": lambda run, view: read(run, view).at(view) + 1,
        "state": _state,
        # what comes next
        "likeliest": lambda run, view: LETTERS[likeliest(run, view)],
        "model_gives": _gives("model"),
        "bigrams_give": _gives("bigram"),
        "unigrams_give": _gives("unigram"),
        # losses after training
        "loss": lambda run, view: float(run["evaluated/loss"].mean()),
        "bigram_loss": lambda run, view: float(run["baseline/loss_bigram_at"].mean()),
        "share_of_gain": lambda run, view: float(share_of_gain(run).mean()),
    },
    at={"plateau": _plateau, "jump": _jump},
    right={"unigrams": _first_counted, "jump": _together},
    done={"close": lambda view: view.position <= EARLY},
    example=EXAMPLE,
)
