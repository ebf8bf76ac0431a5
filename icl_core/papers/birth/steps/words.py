"""The numbers in words.md, and which answers are right."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.contract.words import Reading, Words
from icl_core.papers.birth.shared.captions import EXAMPLE
from icl_core.papers.birth.steps.load_run import STORED, after, complete, learned, way_of
from icl_core.papers.birth.steps.settings import SIGNS, THEN, THEOREM, Config, View

CHOICES = ("W_K1", "W_K2", "W_O2")  # matrices, as the first question names them


def _after(measure: str, steps: int, way: str = "batch") -> Reading:
    """Return the reading of a measure after so many steps, mean over seeds."""
    return lambda run, view: float(after(run, measure, steps, way).mean())


def _now(run: Run, view: View, measure: str) -> float:
    """Return a measure after the steps taken in the way shown, mean over seeds."""
    return float(after(run, measure, run.snapshot_at(view), way_of(run, view)).mean())


def _last_matrix(run: Run, view: View) -> str:
    """Return the name of the matrix that has had its step last."""
    return learned(run, run.snapshot_at(view))[-1]


def _direction(run: Run, view: View) -> int:
    """Return which way the steps go: from the output back, from the input up, neither."""
    upwards = THEN.join(reversed(THEOREM.split(THEN)))
    return [THEOREM, upwards, run.config.order].index(run.config.order)


def _moves(run: Run) -> dict[str, bool]:
    """Return whether each matrix has a gradient that is not zero where all three are zero: an order
    may begin with it."""
    orders = run.names("orders")
    sizes = run["orders/size"].max(0)  # (orders, matrices)
    moves = {}
    for column, name in enumerate(run.names("matrices")):
        rows = [row for row, order in enumerate(orders) if order.startswith(name)]
        moves[name] = bool(sizes[rows, column].max() > 0)
    return moves


def _listed(names: Iterable[str]) -> str:
    return " and ".join(SIGNS[name] for name in names) or "none"


def _moving(run: Run, view: Any) -> str:
    moves = _moves(run)
    return _listed(name for name in CHOICES if moves[name])


def _still(run: Run, view: Any) -> str:
    moves = _moves(run)
    return _listed(name for name in CHOICES if not moves[name])


def _other_orders(run: Run, view: Any) -> float:
    """Return how many of the other orders store all three, mean over seeds."""
    is_other = [order != THEOREM for order in run.names("orders")]
    return float(complete(run)[:, is_other].sum(1).mean())


def _first(run: Run, view: Any) -> int:
    """Return the index of the first matrix that the question names whose gradient is not zero at
    the start."""
    moves = _moves(run)
    return int(np.argmax([moves[name] for name in CHOICES]))


def _how_many(run: Run, view: Any) -> int:
    """Return the index of the choice that says how many answers are right after two steps: nearly
    all, about half, hardly any."""
    accuracy = _after("accuracy", 2)(run, view)
    return 0 if accuracy > 0.8 else 1 if accuracy > 0.25 else 2


def _how_many_orders(run: Run, view: Any) -> int:
    count = _other_orders(run, view)
    return 0 if count < 0.5 else 1 if count <= 2 else 2


WORDS = Words(
    __file__,
    Config,
    View,
    readings={
        # after the steps taken
        "steps_taken": lambda run, view: run.snapshot_at(view),
        "right": lambda run, view: _now(run, view, "accuracy"),
        "all_taken": lambda run, view: run.snapshot_at(view) == len(SIGNS),
        "is_built": lambda run, view: _now(run, view, "accuracy") > STORED,
        "direction": _direction,
        "last_matrix": lambda run, view: SIGNS[_last_matrix(run, view)],
        "last_stored": lambda run, view: _now(run, view, f"recall_{_last_matrix(run, view)}"),
        # where all three are zero
        "moving": _moving,
        "still": _still,
        # after one, two and three steps on batches
        "stored_by_W_O2": _after("recall_W_O2", 1),
        "stored_by_W_K2": _after("recall_W_K2", 2),
        "right_after_1": _after("accuracy", 1),
        "right_after_2": _after("accuracy", 2),
        "right_after_3": _after("accuracy", 3),
        "triggers_after_2": _after("trigger", 2),
        "on_previous": _after("previous", 3),
        "right_exactly": _after("accuracy", 3, "exact"),
        "other_orders": _other_orders,
    },
    of_config={"is_whole": lambda config: config.setup == "whole"},
    at={"one_step": lambda run: 1, "two_steps": lambda run: 2},
    right={"start": _first, "match": _how_many, "order": _how_many_orders},
    done={"close": lambda view: view.way == "exact"},
    example=EXAMPLE,
)
