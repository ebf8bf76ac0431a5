"""The numbers in words.md, when a beat comes, and which answers are right."""

from typing import Any

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.contract.story import Example
from icl_core.contract.words import Reading, Words
from icl_core.papers.learners.memory.claims import ratio, total
from icl_core.papers.learners.memory.models import MEMFORMER
from icl_core.papers.learners.memory.settings import LEVELS, Config, View

ALIKE = 0.02  # two totals within this share of each other are alike
COSTS = 0.5  # a coefficient is needed if more than this share of the gain is lost without it
BETWEEN = (" ", "")
EXAMPLE = Example(
    (
        ("(0.5, 1)", "x"),
        BETWEEN,
        ("1.6", "y"),
        BETWEEN,
        ("(0.4, 1.1)", "x"),
        BETWEEN,
        ("2.3", "y"),
        BETWEEN,
        ("(0.2, −0.3)", "query"),
    ),
    "about −0.1",
)


def _half(run: Run) -> float:
    return float(run.snapshot_steps[LEVELS // 2])


def _who(run: Run, view: Any) -> int:
    quotient = float((total(run, "all") / total(run, MEMFORMER)).mean())
    return 0 if quotient > 1 + ALIKE else 1 if quotient < 1 - ALIKE else 2


def _what(run: Run, view: Any) -> int:
    """Return how many of the two coefficients with a product of labels are needed."""
    gap = total(run, "xx alone") - total(run, "all")
    lost = [(total(run, id) - total(run, "all")) / gap for id in ("without yy", "without xy")]
    return sum(float(share.mean()) > COSTS for share in lost)


def _share(id: str, level: int | None = None) -> Reading:
    """Return the reading of what a model or reference leaves at a noise, the mean over seeds."""
    return lambda run, view: float(
        np.atleast_2d(run[f"share/{id}"])[:, _level(run, view, level)].mean()
    )


def _keeps(id: str, level: int | None = None) -> Reading:
    """Return the reading of what one keeps of the weakest directions, the mean over seeds."""
    return lambda run, view: float(
        np.atleast_2d(run[f"kept/{id}"][_level(run, view, level)])[:, 0].mean()
    )


def _last_step(id: str, level: int | None = None) -> Reading:
    """Return the reading of the last step of a model's triangle, the mean over seeds."""
    return lambda run, view: float(
        run[f"triangle/{id}"][_level(run, view, level), :, -1, -1].mean()
    )


def _level(run: Run, view: View, level: int | None) -> int:
    """Return the index of a noise, by default of the one shown."""
    return run.snapshot_at(view) if level is None else level


def _total(id: str) -> Reading:
    """Return the reading of what a model leaves over all noises."""
    return lambda run, view: float(total(run, id).mean())


def _ratio(id: str, reference: str) -> Reading:
    """Return the reading of that over what a reference leaves."""
    return lambda run, view: float(ratio(run, id, reference).mean())


WORDS = Words(
    __file__,
    Config,
    View,
    readings={
        # at the noise shown
        "percent": lambda run, view: run.step(view),
        "attention": _share("all"),
        "memformer": _share(MEMFORMER),
        "attention_keeps": _keeps("all"),
        "ridge_keeps": _keeps("knowing"),
        "last_step": _last_step("all"),
        "explained": lambda run, view: float(run["explained/all"][run.snapshot_at(view)].min()),
        # without noise, and at the most
        "attention_without_noise": _share("all", 0),
        "memformer_without_noise": _share(MEMFORMER, 0),
        "attention_keeps_without_noise": _keeps("all", 0),
        "attention_keeps_at_most_noise": _keeps("all", -1),
        "memformer_keeps_without_noise": _keeps(MEMFORMER, 0),
        "memformer_keeps_at_most_noise": _keeps(MEMFORMER, -1),
        "last_step_without_noise": _last_step("all", 0),
        "last_step_at_most_noise": _last_step("all", -1),
        "xx_alone_last_step_without_noise": _last_step("xx alone", 0),
        "xx_alone_last_step_at_most_noise": _last_step("xx alone", -1),
        # over all noises
        "all_four": _total("all"),
        "without_yy": _total("without yy"),
        "without_xy": _total("without xy"),
        "xx_alone": _total("xx alone"),
        "all_over_bayes": _ratio("all", "bayes"),
        "xx_alone_over_bayes": _ratio("xx alone", "bayes"),
        "attention_over_ridge": _ratio("all", "knowing"),
        "memformer_over_ridge": _ratio(MEMFORMER, "knowing"),
    },
    at={"half": _half},
    right={"who": _who, "what": _what},
    example=EXAMPLE,
)
