"""The story of layers of every size."""

from typing import Any

from icl_core.contract.experiment import Run
from icl_core.contract.story import Beat, Question, Story, Task, Try
from icl_core.figures import number_text
from icl_core.papers.gdssm.shared.captions import EXAMPLE
from icl_core.papers.gdssm.shared.load_run import percent
from icl_core.papers.gdssm.sizes.metrics import worst
from icl_core.papers.gdssm.sizes.settings import BASE, Config


def _loss(run: Run, f: int, N: int) -> float:
    """Return the loss of the layer of that size, as the mean over seeds."""
    return float(run["evaluated/scaled"][:, (run["size/f"] == f) & (run["size/N"] == N)].mean())


def _share(run: Run, f: int) -> float:
    """Return the loss of the layer for so many features as a share of predicting zero."""
    zero = float(run["baseline/zero"][(run["size/f"] == f) & (run["size/N"] == BASE)][0])
    return _loss(run, f, BASE) / zero


def _ends(run: Run) -> tuple[int, int]:
    """Return the most pairs, and the most features, of any layer."""
    return int(run["size/N"].max()), int(run["size/f"].max())


def _fourfold(run: Run, view: Any) -> int:
    ratio = _loss(run, BASE, _ends(run)[0]) / _loss(run, BASE, BASE)
    return 0 if ratio < 0.3 else 1 if ratio < 0.5 else 2


def _fourfold_said(run: Run, view: Any) -> str:
    most = _ends(run)[0]
    few, many = (number_text(_loss(run, BASE, N), 2) for N in (BASE, most))
    return f"The loss is {few} with {BASE} examples and {many} with {most}."


def _wider(run: Run, view: Any) -> int:
    grown = _share(run, _ends(run)[1]) / _share(run, BASE)
    return 0 if grown < 0.9 else 1 if grown < 1.1 else 2


def _wider_said(run: Run, view: Any) -> str:
    most = _ends(run)[1]
    few, many = (percent(_share(run, f)) for f in (BASE, most))
    return (
        f"Of the loss of predicting zero {few} is left with {BASE} features, and {many} with "
        f"{most}."
    )


def _close(run: Run, view: Any) -> str:
    return (
        f"You have seen {len(run['size/N'])} layers, each trained for another size from random "
        f"weights. None is farther than {percent(worst(run))} from one step of gradient descent, "
        "on a curve that was known beforehand."
    )


def _task(config: Config) -> str:
    holds = "each x and each y" if config.model == "N-D" else "each x"
    return (
        "A prompt shows N examples (x, y) of one linear map and asks for the y of a new x, with "
        f"f numbers in {holds}. A separate layer is trained for each N and f (the example: f = "
        "1, N = 2)."
    )


MORE = Question(
    "One layer learns from ten examples in a prompt, another from forty. What becomes of the loss?",
    (
        "About a quarter: four times as many examples",
        "Less than half, but more than a quarter",
        "More than half",
    ),
    _fourfold,
    _fourfold_said,
    "A step adds up all examples, so that what the other weights add averages out as N grows. It "
    "is still one step: its best loss falls like f / (N + f), slower than 1 / N.",
    ("pairs", "gaps", "training"),
)
WIDER = Question(
    "Now ten examples, but x of twenty numbers in place of ten. Which share of the loss of "
    "predicting zero is left?",
    ("A smaller one than with ten numbers", "The same", "A larger one"),
    _wider,
    _wider_said,
    "A step has ten examples to tell twice as many weights from. What the other weights add to "
    "the labels hides each of them.",
    ("features", "gaps"),
)

STORY = Story(
    task=Task(_task, EXAMPLE),
    beats=(
        Beat(
            "more",
            "Every blue dot is a layer of its own, trained for that many examples. The dotted "
            "curve is the loss of the best step of gradient descent, a formula with nothing "
            "fitted.",
            marks=("pairs",),
            ask=MORE,
        ),
        Beat(
            "wider",
            "Here the loss is a share of that of predicting zero. Where there are more dimensions "
            "than examples, one step gains little.",
            marks=("features",),
            view={"relative": True},
            ask=WIDER,
        ),
        Beat("close", _close, marks=("gaps",), drawer="All curves"),
    ),
    tries=(
        Try(
            "Show the loss as a share of predicting zero: at how many examples is half of it left?",
            fields={"relative": True},
            marks=("pairs",),
        ),
        Try(
            "Train for 1, 2 and 3 pairs: does a layer find the step from so few?",
            fields={"pairs": "1, 2, 3"},
            marks=("pairs",),
        ),
        Try(
            "Train for 50 steps only: which sizes are late?",
            fields={"steps": 50},
            drawer="All curves",
            marks=("gaps",),
        ),
        Try(
            "One number y per pair: do the dots still lie on the curve?",
            preset="1-D",
            marks=("features",),
        ),
    ),
)
