"""The numbers in words.md, and which answers are right."""

from typing import Any

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.contract.words import Reading, Words
from icl_core.figures import mean_of
from icl_core.papers.birth.data.arrivals import (
    BIGRAM,
    LEVEL,
    UNIFORM,
    arrival,
    by_case,
    compared,
    of,
    ordered,
)
from icl_core.papers.birth.data.settings import DATA, Config, View
from icl_core.papers.birth.data.style import short, signed
from icl_core.papers.birth.shared.captions import EXAMPLE

CHOICES = ("frequent", "random_5", "rare")  # kinds of data, in the order of the first question's
SHARES = (0.15, 0.75)  # of what stays right on other outputs


def _arrives(run: Run, measure: str, name: str) -> str:
    """Return when a measure reaches LEVEL on one kind of data, in words."""
    step = arrival(run, measure, name)
    return WORDS.text("arrives", run, is_reached=np.isfinite(step), step=step)


def _when(measure: str, name: str) -> Reading:
    """Return the reading of when a measure reaches LEVEL on one kind of data."""
    return lambda run, view: _arrives(run, measure, name)


def _label(place: int) -> Reading:
    """Return the reading of the label of the data that come first (0) or last (-1)."""

    def label(run: Run, view: Any) -> str:
        name = ordered(run)[place]
        return DATA[name].label if name in DATA else name

    return label


def _triggers(place: int) -> Reading:
    """Return the reading of how many triggers the data have that come first or last."""

    def triggers(run: Run, view: Any) -> float:
        name = ordered(run)[place]
        return DATA[name].K if name in DATA else np.nan

    return triggers


def _ends(run: Run, loss: str) -> list[float]:
    """Return a loss at the end of each training, the mean over seeds."""
    return [float(mean_of(of(run, f"curve/{loss}", name))[-1]) for name in compared(run)]


def _accuracy(trained_on: str, outputs: str) -> Reading:
    """Return the reading of the mean accuracy over seeds on `outputs`, "uniform" or "bigram", after
    the training on the data called `trained_on`."""
    return lambda run, view: float(of(run, f"evaluated/accuracy_{outputs}", trained_on).mean())


def _gained(probe: str) -> Reading:
    """Return the reading of what uniform outputs gain in recall at the end, in points, signed."""

    def gained(run: Run, view: Any) -> str:
        uniform, bigram = (of(run, f"curve/{probe}", name) for name in (UNIFORM, BIGRAM))
        return signed(100 * float((uniform - bigram)[:, -1].mean()), 0)

    return gained


def _order(run: Run, view: Any) -> str:
    """Return when the head forms on each kind of data, the soonest first."""
    return ", ".join(f"{short(name)} {_arrives(run, 'accuracy', name)}" for name in ordered(run))


def _capital_share(run: Run, view: Any) -> float:
    """Return how strongly W_K² stores capital letters, as a share of lowercase ones."""
    capital, lower = by_case(of(run, "diagonal/W_K2", UNIFORM), run.names("characters"))
    return float((capital / lower).mean())


def _first(run: Run, view: Any) -> int:
    """Return which of CHOICES forms its head first."""
    return int(np.argmin([arrival(run, "accuracy", name) for name in CHOICES]))


def _stays(run: Run, view: Any) -> int:
    """Return which choice holds of the training on bigram outputs, tested on uniform ones."""
    other, own = (_accuracy(BIGRAM, outputs)(run, view) for outputs in ("uniform", "bigram"))
    return 2 - int(np.digitize(other / own, SHARES))


WORDS = Words(
    __file__,
    Config,
    View,
    readings={
        "finished": lambda run, view: run.finished,
        "level": lambda run, view: LEVEL,
        "last_step": lambda run, view: int(run["curve/step"][-1]),
        # the data on which the head forms first and last
        "first": lambda run, view: short(ordered(run)[0]),
        "first_label": _label(0),
        "first_K": _triggers(0),
        "first_arrives": lambda run, view: _arrives(run, "accuracy", ordered(run)[0]),
        "last": lambda run, view: short(ordered(run)[-1]),
        "last_label": _label(-1),
        "last_K": _triggers(-1),
        "last_arrives": lambda run, view: _arrives(run, "accuracy", ordered(run)[-1]),
        "order": _order,
        # when the head and the matrices reach the level, by the triggers
        "head_1_random": _when("accuracy", "random_1"),
        "head_5_random": _when("accuracy", "random_5"),
        "W_O2_1_random": _when("recall_W_O2", "random_1"),
        "W_O2_5_random": _when("recall_W_O2", "random_5"),
        "W_K2_5_random": _when("recall_W_K2", "random_5"),
        "W_K2_5_rare": _when("recall_W_K2", "rare"),
        # losses at the end of the training
        "least_in_context": lambda run, view: min(_ends(run, "in_context_loss")),
        "most_in_context": lambda run, view: max(_ends(run, "in_context_loss")),
        "least_global": lambda run, view: min(_ends(run, "global_loss")),
        "most_global": lambda run, view: max(_ends(run, "global_loss")),
        # accuracies by the outputs, trained on which and tested on which
        "bigram_on_bigram": _accuracy(BIGRAM, "bigram"),
        "bigram_on_uniform": _accuracy(BIGRAM, "uniform"),
        "uniform_on_uniform": _accuracy(UNIFORM, "uniform"),
        "uniform_on_bigram": _accuracy(UNIFORM, "bigram"),
        # what uniform outputs gain over bigram ones, in points of recall
        "W_O2_gained": _gained("recall_W_O2"),
        "W_K2_gained": _gained("recall_W_K2"),
        "W_K1_gained": _gained("recall_W_K1_early"),
        "capital_share": _capital_share,
    },
    right={"order": _first, "elsewhere": _stays},
    done={"stored": lambda view: view.data_shown == "rare"},
    example=EXAMPLE,
)
