"""The numbers in words.md, and which answers are right."""

from typing import Any

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.contract.words import Reading, Words
from icl_core.papers.gdssm.corrections.run import best_gain, gain
from icl_core.papers.gdssm.corrections.settings import Config, View
from icl_core.papers.gdssm.shared.captions import EXAMPLE


def share_left(run: Run, name: str) -> float:
    """Return what a formula leaves of the gain of a right step."""
    return best_gain(run, name) / best_gain(run, "right")


def _tensor(name: str, index: int | None = None) -> Reading:
    """Return the reading of one number of a run."""
    return lambda run, view: float(run[name] if index is None else run[name][index])


def _transposed(run: Run, view: Any) -> int:
    left = share_left(run, "Q")
    return 0 if left > 0.9 else 1 if left > 0.1 else 2


def _behind(run: Run, view: Any) -> int:
    one, other = np.abs(run["contexts/gradient"])
    return 0 if abs(one - other) < 0.01 * max(one, other) else 2 if min(one, other) < 1e-6 else 1


WORDS = Words(
    __file__,
    Config,
    View,
    readings={
        # gains over predicting zero: of one step, at its best rate
        "right": lambda run, view: best_gain(run, "right"),
        "Q": lambda run, view: best_gain(run, "Q"),
        # of one step of the length shown
        "right_at_length": lambda run, view: gain(run, "right", view.times),
        "Q_at_length": lambda run, view: gain(run, "Q", view.times),
        # of two steps
        "two_steps": _tensor("gain/right"),
        "mixed": _tensor("gain/mixed"),
        "odd_lost": lambda run, view: 1 - share_left(run, "odd"),
        # differences from gradient descent
        "error_right": _tensor("error/right"),
        "error_before": _tensor("error/before"),
        "penalty_error": _tensor("error/penalty"),
        "printed_penalty_error": _tensor("error/as_printed_penalty"),
        # of the contexts (1, 1) and (2, ½)
        "state": _tensor("contexts/state", 0),
        "gradient_1": _tensor("contexts/gradient", 0),
        "gradient_2": _tensor("contexts/gradient", 1),
    },
    right={"transposed": _transposed, "behind": _behind},
    done={"sign": lambda view: view.times < 0},
    example=EXAMPLE,
)
