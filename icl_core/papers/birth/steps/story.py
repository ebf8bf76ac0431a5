"""What is told of the three steps: their task, the beats, what to try."""

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.contract.story import FIRST, HEADLINE, LAST, MARKS, Beat, Question, Story, Task, Try
from icl_core.papers.birth.shared.captions import EXAMPLE, MATRICES
from icl_core.papers.birth.shared.draw import NAMES
from icl_core.papers.birth.steps.metrics import after, complete
from icl_core.papers.birth.steps.settings import THEOREM, Config, View

# the drawers
ORDER = "Order and width"
ALSO = "What else is stored"
FORMULAS = "The formulas"
FILTER = "Filtering noise"


def _task(config: Config) -> str:
    if config.setup == "whole":
        return (
            "Some characters are triggers, and what follows a trigger must be read from its "
            "earlier occurrence. The whole model of Section 4.2 gets three gradient steps to "
            "learn this, on Shakespeare."
        )
    return (
        "One character of the sequence, the trigger, comes a second time at the end, and the "
        "model must say what followed it before. Three gradient steps, one for each matrix, "
        "should be enough to build an induction head."
    )


def _share(run: Run, measure: str, steps: int, way: str = "batch") -> float:
    return float(after(run, measure, steps, way).mean())


def _moved(run: Run) -> dict[str, bool]:
    """Return whether each matrix has a gradient that is not zero where all three are zero: an order
    may begin with it."""
    orders = run.names("orders")
    sizes = run["orders/size"].max(0)  # (orders, matrices)
    moved = {}
    for column, name in enumerate(run.names("matrices")):
        rows = [row for row, order in enumerate(orders) if order.startswith(name)]
        moved[name] = bool(sizes[rows, column].max() > 0)
    return moved


def _first(run: Run, view: View) -> int:
    """Return the index of the first matrix that the question names whose gradient is not zero at
    the start."""
    moved = _moved(run)
    return int(np.argmax([moved[name] for name in MATRICES]))


def _zeros(run: Run, view: View) -> str:
    moved = _moved(run)
    moving = [NAMES[name] for name in MATRICES if moved[name]]
    still = [NAMES[name] for name in MATRICES if not moved[name]]
    return (
        f"Not zero: the gradient of {' and '.join(moving) or 'none'}. Exactly zero: "
        f"{' and '.join(still) or 'none'}."
    )


def _output(run: Run, view: View) -> str:
    return (
        f"One step on W_O² stores {_share(run, 'recall_W_O2', 1):.0%} of its pairs. Still only "
        f"{_share(run, 'accuracy', 1):.0%} of the answers are right: attention is even, so the "
        "output names every character of the sequence alike."
    )


def _match(run: Run, view: View) -> str:
    return (
        f"One step on W_K² stores {_share(run, 'recall_W_K2', 2):.0%} of its pairs. But layer 1 "
        "still mixes all that came before, so every position from the trigger on holds a bit of "
        f"it: {_share(run, 'from_trigger', 2):.0%} of layer 2's attention falls there."
    )


def _how_many(run: Run, view: View) -> int:
    """Return the index of the choice that says how many answers are right after two steps: nearly
    all, about half, hardly any."""
    accuracy = _share(run, "accuracy", 2)
    return 0 if accuracy > 0.8 else 1 if accuracy > 0.25 else 2


def _trigger(run: Run, view: View) -> str:
    accuracy, trigger = (_share(run, name, 2) for name in ("accuracy", "trigger"))
    return f"{accuracy:.0%} are right. {trigger:.0%} of the answers are the trigger itself."


def _back(run: Run, view: View) -> str:
    return (
        f"The third step puts {_share(run, 'previous', 3):.0%} of layer 1's attention on the "
        "previous character. Now only the output is marked with its trigger, layer 2 puts "
        f"{_share(run, 'on_output', 3):.0%} of its attention there, and "
        f"{_share(run, 'accuracy', 3):.0%} of the answers are right."
    )


def _others(run: Run) -> float:
    """Return how many of the other orders store all three, the mean over seeds."""
    is_other = [order != THEOREM for order in run.names("orders")]
    return float(complete(run)[:, is_other].sum(1).mean())


def _orders(run: Run, view: View) -> str:
    count = _others(run)
    if count == 0:
        return "No other order stores all three."
    return f"Of the five other orders {count:.0f} stored all three."


def _exact(run: Run, view: View) -> str:
    return (
        f"With infinitely many sequences {_share(run, 'accuracy', 3, 'exact'):.0%} of the answers "
        f"are right, with {run.config.batch:,} of them {_share(run, 'accuracy', 3):.0%}: the "
        "proof's formulas describe the real steps well."
    )


TASK = Task(_task, EXAMPLE)

BEATS = (
    Beat(
        "start",
        "All three matrices are zero, and attention is even. Each gets one gradient step, and no "
        "more.",
        FIRST,
        ("w_o2", "w_k2", "w_k1"),
        ask=Question(
            "All three matrices are zero. Which of them has a gradient that is not zero?",
            tuple(MATRICES.values()),
            _first,
            _zeros,
            "Where layer 2 looks makes no difference while W_O² says nothing of it. And what "
            "layer 1 copies makes none while W_K² does not ask for it. So the first step has to "
            "be at the output.",
            ("recalls", "orders", MARKS),
        ),
    ),
    Beat("output", _output, 1, ("w_o2", "recalls")),
    Beat(
        "match",
        _match,
        2,
        ("w_k2", "second"),
        ask=Question(
            "After the second step two of three memories are complete. How many answers are right "
            "then?",
            ("Nearly all", "About half", "Hardly any"),
            _how_many,
            _trigger,
            "The position of the trigger itself holds most of the trigger, so layer 2 finds the "
            "trigger, not what followed it. Layer 1 has to find the previous character.",
            ("recalls", "second", HEADLINE),
        ),
    ),
    Beat("back", _back, LAST, ("w_k1", "first", "second")),
    Beat(
        "order",
        "Only from the output down does each step find a gradient: each memory teaches the one "
        "before it.",
        LAST,
        ("orders",),
        drawer=ORDER,
        ask=Question(
            "Take the same three steps in another order. How many of the five other orders store "
            "all three memories?",
            ("None", "One or two", "More"),
            lambda run, view: 0 if _others(run) < 0.5 else 1 if _others(run) <= 2 else 2,
            _orders,
            "W_K² needs W_O², and W_K¹ needs both. A matrix whose turn comes too early gets a "
            "gradient of exactly zero.",
            ("orders",),
        ),
    ),
    Beat(
        "close",
        "You have seen three gradient steps build an induction head: the first learns to say "
        "the output, the second to find the trigger, the third to find the previous character.",
        LAST,
        ("recalls",),
        {"way": View().way},
        "View",
        do="Take the gradients exactly: below, under “View”, choose “exact, by the proof's "
           "formulas”.",
        done=lambda view: view.way == "exact",
        then=_exact,
    ),
)  # fmt: skip

TRIES = (
    Try(
        "Take the first step 50 times as large: which memory is spoilt?",
        fields={"eta_O2": 1e5},
        marks=("recalls",),
    ),
    Try("Go from the input up: what is left to learn from?", "wrong order", marks=("recalls",)),
    Try("Give it a quarter of the width: which memory breaks first?", "narrow", marks=("recalls",)),
    Try(
        "Three steps in the whole model on Shakespeare: how far do they get?",
        "whole model",
        marks=("recalls",),
    ),
    Try("See Lemma 5 beside autograd", fields={"lemma": "5"}, drawer=FORMULAS, marks=("formula",)),
    Try("See which other pairs W_O² has stored", drawer=ALSO, marks=("spurious",)),
    Try("Watch one step filter out the position", drawer=FILTER, marks=("example",)),
)

STORY = Story(TASK, BEATS, TRIES)
