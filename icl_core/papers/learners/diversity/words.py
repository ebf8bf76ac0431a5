"""The numbers in words.md, when a beat comes, and which answers are right."""

from typing import Any

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.contract.story import Example
from icl_core.contract.words import Reading, Words
from icl_core.papers.learners.diversity.claims import ENOUGH, gap, place
from icl_core.papers.learners.diversity.settings import Config, View

EASY = 1.1  # fresh tasks are as easy as trained ones if they have less than this times the error
BETWEEN = (" ", "")
EXAMPLE = Example(
    (
        ("task 3:", ""),
        BETWEEN,
        ("(0.5, 1)", "x"),
        BETWEEN,
        ("2", "y"),
        BETWEEN,
        ("(0.2, −0.3)", "query"),
    ),
    "−0.2",
)


def _half(run: Run) -> int:
    """Return half as many tasks as features."""
    return max(1, run.config.d // 2)


def _enough(run: Run) -> float | None:
    count = ENOUGH * run.config.d
    return float(count) if count in run.snapshot_steps else None


def _at_half(run: Run, where: str) -> float:
    """Return what is left "inside" or "outside" of the span of half as many tasks as features."""
    return float(run[f"snapshot/{where}"][place(run, _half(run))].mean())


def _outside(run: Run, view: Any) -> int:
    outside = _at_half(run, "outside")
    return 2 if outside > 1 - 1e-6 else int(outside >= 1.05 * _at_half(run, "inside"))


def _gap(run: Run, count: int) -> float:
    """Return the error of fresh tasks over that of trained ones, the mean over seeds."""
    return float(gap(run, count).mean())


def _when(run: Run, view: Any) -> int:
    easy = [_gap(run, count) < EASY for count in (_half(run), run.config.d)]
    return [*easy, True].index(True)


def _left(name: str, index: int | None = None) -> Reading:
    """Return the reading of what is left, by default with as many tasks as are shown."""
    return lambda run, view: float(
        run[f"curve/{name}"][:, run.snapshot_at(view) if index is None else index].mean()
    )


WORDS = Words(
    __file__,
    Config,
    View,
    readings={
        # with as many tasks as are shown
        "tasks": lambda run, view: run.step(view),
        "trained": _left("optimum_trained"),
        "fresh": _left("optimum_fresh"),
        "as_easy": lambda run, view: _gap(run, run.step(view)) < EASY,
        "rank": lambda run, view: min(run.config.d, run.step(view)),
        "inside": lambda run, view: float(run["snapshot/inside"][run.snapshot_at(view)].mean()),
        "has_outside": lambda run, view: bool(
            np.isfinite(run["snapshot/outside"][run.snapshot_at(view)]).any()
        ),
        "bayes": lambda run, view: float(run["baseline/ridge"][0]),  # that knows w* ~ N(0, I)
        # with one task, and with the most
        "trained_on_one": _left("optimum_trained", 0),
        "fresh_after_one": _left("optimum_fresh", 0),
        "fresh_at_the_end": _left("optimum_fresh", -1),
        "by_heart": _left("memory_fresh", -1),
        # with half as many tasks as features, and with as many
        "inside_at_half": lambda run, view: _at_half(run, "inside"),
        "outside_at_half": lambda run, view: _at_half(run, "outside"),
        "gap_at_half": lambda run, view: _gap(run, _half(run)),
        "gap_at_features": lambda run, view: _gap(run, run.config.d),
        "meet_later": lambda run, view: _when(run, view) == 2,
    },
    at={
        "half": lambda run: float(_half(run)),
        "features": lambda run: float(run.config.d),
        "enough": _enough,
    },
    right={"outside": _outside, "when": _when},
    example=EXAMPLE,
)
