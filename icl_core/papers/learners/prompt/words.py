"""The numbers in words.md, when a beat comes, and which answers are right."""

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.contract.story import Example
from icl_core.contract.words import Reading, Words
from icl_core.figures import number_text, significant
from icl_core.papers.learners.prompt.load_run import (
    best_on_average,
    error_here,
    nearest,
    pairs_read,
    place,
    share_left,
    shown,
    worst_here,
)
from icl_core.papers.learners.prompt.settings import Config, View

ROUNDING = 1e-6  # shares below this are written as 0
FIXED, FREE = ("sum", "gd", "delta"), ("unit", "recursive", "cg")
LARGE = 4.0  # the scale of x that is asked for
APART, WITHIN = (" ", ""), ("\N{NO-BREAK SPACE}", "")
EXAMPLE = Example(
    (
        ("(0.5, 1)", "x"),
        WITHIN,
        ("2", "y"),
        APART,
        ("(−0.8, 0)", "x"),
        WITHIN,
        ("−0.8", "y"),
        APART,
        ("(0.2, −0.3)", "query"),
    ),
    "−0.25",
)


def share_text(value: float) -> str:
    """Return a share left: with two digits where it is small, without places where it is large,
    and 0 where it is rounding."""
    if value < ROUNDING:
        return "0"
    if value < 0.01:
        return significant(value, 2)
    return number_text(value, 3 if value < 1 else 1 if value < 100 else 0)


def capitalised(text: str) -> str:
    """Return a text with a capital first letter; `str.capitalize` would turn Σ into σ."""
    return text[0].upper() + text[1:]


def off_home(run: Run, view: View) -> str:
    """Return what is not home's about the prompt that is shown; empty if nothing is."""
    if not shown(run, view).own and view.scale == 1:
        return ""
    return WORDS.text("off_home", run, view)


def _as_many(run: Run) -> float | None:
    """Return when as many pairs have been read as x has features; None if that is never, or at the
    last."""
    return float(run.config.d) if run.config.d < run.config.n else None


def _nearest_of_three(run: Run, view: View) -> int:
    return int(np.argmin([error_here(run, view, id) for id in ("sum", "recursive", "delta")]))


def _breaks(run: Run, view: View) -> int:
    worse = {id for id in (*FIXED, *FREE) if _share_with_large_x(run, id) > 1}
    return 0 if not worse else 1 if worse == set(FIXED) else 2


def _share_with_large_x(run: Run, id: str) -> float:
    """Return what a learner leaves where x is four times as large as at home."""
    column = int(np.abs(run["broken/scale/at"] - LARGE).argmin())
    return float(run["broken/scale/share"][place(run, id), column])


def _away(run: Run, view: View, id: str) -> np.ndarray:
    """Return w* less the weights of a learner, [d]."""
    prompt = shown(run, view)
    return prompt.w - prompt.learned[id][pairs_read(run, view)]


def _nearest_away(run: Run, view: View) -> np.ndarray:
    """Return w* less the weights of the learner that is nearest to it, [d]."""
    return _away(run, view, nearest(run, view).id)


def _distance(id: str) -> Reading:
    """Return the reading of how far a learner's weights are from w*."""
    return lambda run, view: float(np.linalg.norm(_away(run, view, id)))


def _share(id: str) -> Reading:
    """Return the reading of what a learner leaves on average."""
    return lambda run, view: share_left(run, id)


def _error(id: str) -> Reading:
    """Return the reading of what a learner leaves of the prompt that is shown."""
    return lambda run, view: error_here(run, view, id)


WORDS = Words(
    __file__,
    Config,
    View,
    readings={
        # of the prompt that is shown
        "read": pairs_read,
        "pairs": lambda run, view: len(shown(run, view).x),
        "own": lambda run, view: shown(run, view).own,
        "has_other_length": lambda run, view: len(shown(run, view).x) != run.config.n,
        "off_home": off_home,
        # of x
        "a_plane": lambda run, view: run.config.d == 2,
        "more_than_a_plane": lambda run, view: run.config.d > 2,
        # after the pairs read, of the learners that are shown
        "Worst": lambda run, view: capitalised(worst_here(run, view).short),
        "worst_left": lambda run, view: share_text(error_here(run, view, worst_here(run, view).id)),
        "Nearest": lambda run, view: capitalised(nearest(run, view).short),
        "distance": lambda run, view: float(np.linalg.norm(_nearest_away(run, view))),
        "largest_difference": lambda run, view: float(np.abs(_nearest_away(run, view)).max()),
        "bayes_away": _distance("bayes"),
        "one_step_away": _distance("sum"),
        "one_step_here": _error("sum"),
        "delta_here": _error("delta"),
        "recursive_here": _error("recursive"),
        # on average over prompts of home, after all pairs
        "one_step": _share("sum"),
        "delta": _share("delta"),
        "bayes": _share("bayes"),
        "bayes_left": lambda run, view: share_text(share_left(run, "bayes")),
        "best_on_average": lambda run, view: best_on_average(run).short,
        "least_on_average": lambda run, view: share_text(share_left(run, best_on_average(run).id)),
        # off home
        "one_step_with_large_x": lambda run, view: _share_with_large_x(run, "sum"),
        "recursive_with_large_x": lambda run, view: _share_with_large_x(run, "recursive"),
    },
    at={"as_many": _as_many},
    right={"nearest": _nearest_of_three, "breaks": _breaks},
    example=EXAMPLE,
)
