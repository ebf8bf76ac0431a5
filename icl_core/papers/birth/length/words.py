"""The numbers in words.md, and which answers are right."""

from typing import Any

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.contract.words import Reading, Words
from icl_core.papers.birth.length.arrival_times import (
    LEVELS,
    doubling,
    mean_times,
    slope,
    times,
    written,
)
from icl_core.papers.birth.length.settings import (
    OPTIMISERS,
    REPEATS_OF,
    Config,
    View,
    lengths_of,
)
from icl_core.papers.birth.shared.captions import EXAMPLE

# how many times as long it takes: about as long below the first, about four times above the second
BOUNDS = (1.5, 3.0)


def _longer(run: Run, measure: str, optimiser: str) -> int:
    """Return which of the choices comes true when the length is doubled."""
    factor = np.nan_to_num(doubling(run, measure, optimiser), nan=1.0)
    return int(np.digitize(factor, BOUNDS))


def _doublings(run: Run, view: View) -> str:
    """Return how many times the steps twice the length takes, with each optimiser that arrives."""
    factors = {name: doubling(run, view.until, name) for name in run.names("optimisers")}
    goal = WORDS.text("goal", run, view)
    parts: list[str] = []
    for name, factor in factors.items():
        if np.isfinite(factor):
            numbers = {"times": factor, "optimiser": OPTIMISERS.get(name, name)}
            parts.append(WORDS.text("doubling", goal="" if parts else goal, **numbers))
    return " and ".join(parts)


def _time(measure: str, optimiser: str) -> Reading:
    """Return the reading that says how long it takes until a measure reaches its level."""

    def text(run: Run, view: Any) -> str:
        steps = mean_times(times(run, measure, optimiser))  # (lengths,)
        return WORDS.text(
            "time_it_takes",
            run,
            view,
            steps=", ".join(f"{step:.0f}" if np.isfinite(step) else "never" for step in steps),
            arrives=np.isfinite(doubling(run, measure, optimiser)),
            doubling=doubling(run, measure, optimiser),
            slope=written(slope(run, measure, optimiser)),
        )

    return text


WORDS = Words(
    __file__,
    Config,
    View,
    readings={
        "finished": lambda run, view: run.finished,
        # what is waited for
        "measure_waited_for": lambda run, view: list(LEVELS).index(view.until),
        "goal": lambda run, view: WORDS.text("goal", run, view),
        # the lengths, and the share of even attention on the answer at each
        "lengths_trained": lambda run, view: ", ".join(map(str, run["task/lengths"])),
        "shortest": lambda run, view: run["task/lengths"][0],
        "longest": lambda run, view: run["task/lengths"][-1],
        "share_at_shortest": lambda run, view: float(run["task/even"][0]),
        "share_at_longest": lambda run, view: float(run["task/even"][-1]),
        "fixed_places": lambda run, view: run.config.repeats in ("1", "2", "4"),
        # how the times grow
        "doublings": _doublings,
        "time_of_accuracy": _time("accuracy", "sgd"),
        "time_of_W_K1": _time("W_K1", "adamw"),
        "W_K1_doubling": lambda run, view: doubling(run, "W_K1", "adamw"),
        "W_K1_arrives": lambda run, view: np.isfinite(doubling(run, "W_K1", "adamw")),
        "W_K2_slope_sgd": lambda run, view: written(slope(run, "W_K2", "sgd")),
        "W_K2_slope_adamw": lambda run, view: written(slope(run, "W_K2", "adamw")),
    },
    of_config={
        "lengths_compared": lambda config: ", ".join(map(str, lengths_of(config))),
        "repeated": lambda config: REPEATS_OF[config.repeats],
    },
    right={
        "wait": lambda run, view: _longer(run, "accuracy", "sgd"),
        "positions": lambda run, view: _longer(run, "W_K1", "adamw"),
    },
    done={"close": lambda view: view.until == "W_K2"},
    example=EXAMPLE,
)
