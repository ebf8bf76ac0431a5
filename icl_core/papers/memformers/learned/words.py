"""The numbers in words.md, and which answers are right."""

from collections.abc import Callable

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.contract.words import Reading, Words
from icl_core.papers.memformers.learned.claims import excess, power
from icl_core.papers.memformers.learned.settings import Config, View
from icl_core.papers.memformers.shared.load_run import log_from_least
from icl_core.papers.memformers.shared.test_set import PROMPTS
from icl_core.papers.memformers.shared.words import EXAMPLE, compared, times

ROOT = -0.5  # the power of N in the usual bound of uniform convergence
NEAR = 0.25  # of that power: about as fast
MOST = 4  # steps of the method
FEWEST, LARGEST = 0, -1  # of the numbers of prompts


def _log_loss(run: Run, name: str, size: int) -> float:
    """Return the log-loss with most steps of the method from the `size`-th number of prompts, the
    mean over seeds; `name` is "train", on its own prompts, or "loss", on fresh ones."""
    return float(log_from_least(run[f"evaluated/{name}"])[:, size, -1].mean())


def _gap(run: Run, size: int) -> float:
    return _log_loss(run, "loss", size) - _log_loss(run, "train", size)


def _own_over_cg(run: Run) -> float:
    """Return how far the method from the fewest is above conjugate gradient on these prompts."""
    cg = log_from_least(run["baseline/cg_train"])[:, FEWEST, -1].mean()
    return _log_loss(run, "train", FEWEST) - float(cg)


def _fresh_over_cg(run: Run) -> float:
    """Return the same on fresh prompts."""
    return _log_loss(run, "loss", FEWEST) - float(log_from_least(run["baseline/cg"])[-1])


def _fresh_over_zero(run: Run) -> float:
    """Return how far the method from the fewest is above predicting zero, on fresh prompts."""
    return _log_loss(run, "loss", FEWEST) - float(np.log(run.config.d))


def _factor(run: Run, view: View) -> float:
    """Return by which factor the excess falls from the fewest prompts to the most."""
    mean = excess(run, view.steps_shown, "loss").mean(0)  # [N]
    return float(mean[FEWEST] / mean[LARGEST])


def _few(run: Run, view: View) -> int:
    behind = int(np.digitize(_fresh_over_cg(run), (0.0,)))
    return behind + int(_fresh_over_zero(run) >= 0)


def _theorem(run: Run, view: View) -> int:
    return int(np.digitize(-power(run, view.steps_shown), (-ROOT - NEAR, -ROOT + NEAR)))


def _compared(over: Callable[[Run], float]) -> Reading:
    """Return the reading of two errors compared in words, of the logarithm of their ratio."""
    return lambda run, view: compared(over(run))


WORDS = Words(
    __file__,
    Config,
    View,
    readings={
        # numbers of prompts
        "fewest": lambda run, view: int(run["size/prompts"][FEWEST]),
        "most": lambda run, view: int(run["size/prompts"][LARGEST]),
        "prompts_tested": lambda run, view: PROMPTS,
        # log-losses: on own prompts, on fresh ones, and fresh less own
        "own_of_fewest": lambda run, view: _log_loss(run, "train", FEWEST),
        "own_of_most": lambda run, view: _log_loss(run, "train", LARGEST),
        "fresh_of_fewest": lambda run, view: _log_loss(run, "loss", FEWEST),
        "fresh_of_endless": lambda run, view: float(
            log_from_least(run["endless/loss"])[:, -1].mean()
        ),
        "gap_of_fewest": lambda run, view: _gap(run, FEWEST),
        "gap_of_most": lambda run, view: _gap(run, LARGEST),
        # how errors compare, in words: of the method from the fewest prompts
        "own_beside_CGD": _compared(_own_over_cg),
        "fresh_beside_CGD": _compared(_fresh_over_cg),
        "fresh_beside_zero": _compared(_fresh_over_zero),
        # and of that from the most
        "fresh_beside_own": _compared(lambda run: _gap(run, LARGEST)),
        # how the excess falls
        "power": lambda run, view: power(run, view.steps_shown),
        "times_smaller": lambda run, view: times(_factor(run, view)),
        "fall": lambda run, view: WORDS.text("fall", run, view),
        "rings": lambda run, view: WORDS.text("rings"),
    },
    right={"few": _few, "theorem": _theorem},
    done={"deeper": lambda view: view.steps_shown >= MOST},
    example=EXAMPLE,
)
