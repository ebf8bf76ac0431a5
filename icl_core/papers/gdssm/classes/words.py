"""The numbers in words.md, and which answers are right."""

import math
from typing import Any

from icl_core.contract.experiment import Run
from icl_core.contract.words import Words
from icl_core.papers.gdssm.classes.claims import weights_off
from icl_core.papers.gdssm.classes.settings import Config, View
from icl_core.papers.gdssm.shared.captions import prompt
from icl_core.papers.gdssm.shared.load_run import COUNTS


def _away(run: Run) -> float:
    """Return the share by which the layer ends above one step."""
    return float(run["evaluated/loss"].mean() / run["baseline/constructed"][0] - 1)


def _farthest(run: Run, view: Any) -> float:
    """Return the difference of the weight that is farthest from the construction."""
    return max(weights_off(run).values())


def _near(run: Run, view: Any) -> int:
    away = _away(run)
    return 0 if away < -0.01 else 1 if away <= 0.01 else 2


def _same(run: Run, view: Any) -> int:
    off = _farthest(run, view)
    return 0 if off < 0.05 else 1 if off < 0.5 else 2


WORDS = Words(
    __file__,
    Config,
    View,
    readings={
        "finished": lambda run, view: run.finished,
        # cross-entropies
        "trained": lambda run, view: float(run["evaluated/loss"].mean()),
        "one_step": lambda run, view: float(run["baseline/constructed"].mean()),
        "guessing": lambda run, view: math.log(run.config.K),
        # the layer beside one step: a difference by less than `counts` is none
        "as_one_step": lambda run, view: abs(_away(run)) < COUNTS,
        "counts": lambda run, view: COUNTS,
        "away": lambda run, view: abs(_away(run)),
        "above": lambda run, view: _away(run) >= 0,
        # shares of classes that are named
        "right": lambda run, view: float(run["evaluated/accuracy"].mean()),
        "right_by_guessing": lambda run, view: 1 / run.config.K,
        "farthest": _farthest,
    },
    right={"near": _near, "same": _same},
    example=prompt(("0.2", "(1, 0)"), ("−0.5", "(0, 1)"), query="0.3", answer="(1, 0)"),
)
