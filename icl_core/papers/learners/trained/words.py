"""The numbers in words.md, and which answers are right."""

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.contract.story import Example
from icl_core.contract.words import Reading, Words
from icl_core.papers.learners.trained.load_run import (
    distances_to_target,
    learners_of,
    nearest,
    place,
    share_of,
)
from icl_core.papers.learners.trained.settings import Config, View

STRAIGHT = 0.01  # the largest bend of an answer that is called straight
BETWEEN = (" ", "")
EXAMPLE = Example(
    (("(0.5, 1)", "x"), BETWEEN, ("2", "y"), BETWEEN, ("(0.2, −0.3)", "query")), "−0.25"
)


def capitalised(name: str) -> str:
    """Return a learner's name as a title begins with it."""
    return name[0].upper() + name[1:]


def _below_one_step(run: Run, shares: np.ndarray) -> int:
    """Return how many learners leave less than one step of gradient descent."""
    return int((shares < share_of(run, "GD 1")).sum())


def _how_many(run: Run, view: View) -> int:
    below = _below_one_step(run, run["evaluated/share"])
    return 0 if below <= 3 else 1 if below <= 8 else 2


def _like(run: Run, view: View) -> int:
    name = nearest(run, "gd-ssm-1", -1).name
    return 0 if name == "GD 1" else 1 if name.startswith("GD") else 2


def _shares(run: Run, view: View) -> np.ndarray:
    """Return what every learner leaves at the step shown, [learners]."""
    return run["snapshot/share"][run.snapshot_at(view)]


def _short_name(run: Run, index: int) -> str:
    return learners_of(run)[index].short


def _final(name: str, id: str) -> Reading:
    """Return the reading of a learner's entry in a tensor of the end."""
    return lambda run, view: float(run[name][place(run, id)])


WORDS = Words(
    __file__,
    Config,
    View,
    readings={
        "learners": lambda run, view: len(learners_of(run)),
        "more_than_a_plane": lambda run, view: run.config.d > 2,
        # at the step shown
        "step": lambda run, view: run.step(view),
        "below": lambda run, view: _below_one_step(run, _shares(run, view)),
        "at_bayes": lambda run, view: int((_shares(run, view) <= share_of(run, "Bayes")).sum()),
        "Nearest": lambda run, view: capitalised(
            _short_name(run, int(distances_to_target(run, view).argmin()))
        ),
        "distance": lambda run, view: float(distances_to_target(run, view).min()),
        "straight": lambda run, view: int(
            (run["snapshot/bend"][run.snapshot_at(view)] < STRAIGHT).sum()
        ),
        "method": lambda run, view: nearest(run, "gd-ssm-1", run.snapshot_at(view)).name,
        # at the end
        "below_at_the_end": lambda run, view: _below_one_step(run, run["evaluated/share"]),
        "method_at_the_end": lambda run, view: nearest(run, "gd-ssm-1", -1).name,
        "difference_at_the_end": lambda run, view: nearest(run, "gd-ssm-1", -1).distance,
        "memformer": _final("evaluated/share", "memformer"),
        "gd_ssm": _final("evaluated/share", "gd-ssm-1"),
        "memformer_numbers": lambda run, view: int(
            run["count/parameters"][place(run, "memformer")]
        ),
        # of what can be written down
        "one_step": lambda run, view: share_of(run, "GD 1"),
        "bayes": lambda run, view: share_of(run, "Bayes"),
    },
    right={"errors": _how_many, "like": _like},
    example=EXAMPLE,
)
