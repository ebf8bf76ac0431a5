"""The numbers in words.md, and which answers are right."""

from typing import Any

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.contract.number_text import number_text
from icl_core.contract.words import Words
from icl_core.papers.memformers.shared.words import EXAMPLE, above, compared
from icl_core.papers.memformers.variances.claims import at_home, by_method, weighed
from icl_core.papers.memformers.variances.settings import Config, View, met_by, trained_on

MOST = 0.6  # of a step: a head that takes more does the work alone
MIDDLE = 1  # of the unseen variances: between those that heads have learned
COUNTS = 0.02  # of a log-loss: less than that is between seeds too
SAME = 0.05  # of a log-loss: two errors are the same to so many per cent


def _apart(run: Run) -> float:
    """Return how far gates for all heads are above one number for one, in log-loss on unseen
    variances."""
    logs = by_method(run)
    return float((logs["gated"] - logs["scalar"])[:, : len(met_by(run.config))].mean())


def _shares(run: Run) -> np.ndarray:
    """Return what each head takes of a whole step on the middle unseen variance, the mean over
    seeds: [H]."""
    return weighed(run)[:, MIDDLE].mean(0)


def _middle_shares(run: Run, view: Any) -> str:
    *first, last = (number_text(float(share), 2) for share in _shares(run))
    return f"{', '.join(first)} and {last}"


def _starts_apart(run: Run, view: Any) -> float:
    """Return how far apart the errors of all starts are, as a share; a thousandth if they are
    equal."""
    apart = float(np.ptp(np.log(run["start/loss"]).mean(0)))
    return max(float(np.expm1(apart)), 0.001)


def _over_zero(run: Run) -> float:
    """Return how far equal gates are above predicting zero on the middle variance, in the
    logarithm."""
    return float(by_method(run)["even"][:, MIDDLE].mean() - np.log(run.config.d))


def _sizes(config: Config) -> str:
    return " or ".join(", ".join(f"{size:g}" for size in trained_on(config)).rsplit(", ", 1))


def _gates(run: Run, view: Any) -> int:
    share = _shares(run)
    if share[at_home(run)[MIDDLE]] > MOST:
        return 1
    return 0 if share[:2].sum() > MOST else 2


def _equal(run: Run, view: Any) -> int:
    return int(np.digitize(_over_zero(run), (0.0, np.log(100))))


WORDS = Words(
    __file__,
    Config,
    View,
    readings={
        "heads": lambda run, view: len(trained_on(run.config)),
        "common_directions": lambda run, view: run.config.rotations == "common",
        "authors_gates": lambda run, view: run.config.learner == "authors",
        "several_seeds": lambda run, view: run.config.seeds > 1,
        "predicting_zero": lambda run, view: float(np.log(run.config.d)),  # a log-loss
        # gates for all heads beside one number for one, on unseen variances
        "gates_are_better": lambda run, view: _apart(run) < 0,
        "gates_against_number": lambda run, view: (
            compared(_apart(run)).removesuffix(" than").removesuffix(" to")
        ),
        "gates_match": lambda run, view: abs(_apart(run)) < COUNTS,
        "gates_above_number": lambda run, view: above(_apart(run)).removesuffix(" that of"),
        "number_suffices": lambda run, view: abs(_apart(run)) < SAME,
        "gates_and_number_apart": lambda run, view: abs(float(np.expm1(_apart(run)))),
        # on the middle one of the unseen variances
        "middle_variance": lambda run, view: met_by(run.config)[MIDDLE],
        "middle_shares": _middle_shares,
        "equal_against_zero": lambda run, view: compared(_over_zero(run)),
        "starts_apart": _starts_apart,
    },
    of_config={"sizes": _sizes, "own_directions": lambda config: config.rotations == "own"},
    right={"gates": _gates, "equal": _equal},
    example=EXAMPLE,
)
