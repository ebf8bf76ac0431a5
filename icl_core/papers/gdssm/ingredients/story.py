"""What is told of the layer without its parts."""

from typing import Any

from icl_core.contract.experiment import Run
from icl_core.contract.story import Beat, Question, Story, Task, Try
from icl_core.papers.gdssm.ingredients.metrics import gain_left, left
from icl_core.papers.gdssm.ingredients.settings import Config
from icl_core.papers.gdssm.shared.captions import EXAMPLE


def _left(run: Run, id: str) -> float:
    """Return the share of the gain that a layer keeps, as the mean over seeds."""
    return float(gain_left(run, id).mean())


def _choice(share: float) -> int:
    return 0 if share > 0.9 else 2 if share < 0.05 else 1


def _two(run: Run, view: Any) -> int:
    return _choice(_left(run, "two"))


def _two_said(run: Run, view: Any) -> str:
    return (
        f"A window of 2 keeps {left(run, 'two')} of the gain, a window of 1 keeps "
        f"{left(run, 'one')}."
    )


def _fixed(run: Run, view: Any) -> int:
    return _choice(_left(run, "fixed"))


def _fixed_said(run: Run, view: Any) -> str:
    return f"It keeps {left(run, 'fixed')} of the gain."


def _decay(run: Run, view: Any) -> str:
    return (
        f"With A = 0 only the last pair counts: {left(run, 'forgets')} of the gain is left. With "
        f"A = 1 from the start it is {left(run, 'keeps')}: the layer need not "
        "learn to keep its state."
    )


def _task(config: Config) -> str:
    return (
        f"A prompt shows {config.N} examples (x, y) of one linear map and asks for the y of a new "
        "x. The layer multiplies the tokens in a window, adds the products up in its state, and "
        "multiplies the state with the query: take one of these away."
    )


WINDOW = Question(
    "The window holds x, y and the next x. Let it hold two tokens only. How much of the gain of "
    "one gradient step is left?",
    ("Nearly all of it", "A part of it", "Nothing"),
    _two,
    _two_said,
    "A window of 2 still holds an x with its own y, but as it moves on by tokens every second one "
    "holds a y with the x of another pair: noise. A window of 1 never holds the two of a pair.",
    ("ends", "training"),
)
READ = Question(
    "The state holds the gradient. It is read by a product with the query; read it by a trained "
    "vector instead. How much of the gain is left?",
    ("Nearly all of it", "A part of it", "Nothing"),
    _fixed,
    _fixed_said,
    "The answer depends on where the question is asked. A gradient that is never multiplied with "
    "the query's x cannot say what its y is.",
    ("ends", "training"),
)

STORY = Story(
    task=Task(_task, EXAMPLE),
    beats=(
        Beat(
            "window",
            "The first bar is the layer with all of its parts. It ends at one step of gradient "
            "descent.",
            marks=("ends",),
            ask=WINDOW,
        ),
        Beat(
            "read",
            "The paper calls local self-attention and multiplicative interactions the key "
            "ingredients.",
            marks=("ends",),
            ask=READ,
        ),
        Beat("decay", _decay, marks=("ends", "training")),
        Beat(
            "close",
            "You have seen what the layer cannot do without: a window that holds x with its y, "
            "and a product with the query. The table says which products each layer is left with.",
            marks=("table",),
            drawer="What is left",
        ),
    ),
    tries=(
        Try(
            "Show the losses as shares of predicting zero: which bar is exactly 1?",
            fields={"relative": True},
            marks=("ends",),
        ),
        Try(
            "Smaller tasks, f = 3 and N = 5: does a window of 2 keep more of the gain?",
            preset="classroom",
            marks=("ends",),
        ),
        Try(
            "Train for 50 steps only: which layers are on their way, and which are not?",
            fields={"steps": 50},
            marks=("training",),
        ),
    ),
)
