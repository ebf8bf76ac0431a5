"""What is told of the layer on classes."""

import math
from typing import Any

from icl_core.contract.experiment import Run
from icl_core.contract.story import Beat, Question, Story, Task, Try
from icl_core.figures import number_text
from icl_core.papers.gdssm.classes.metrics import weights_off
from icl_core.papers.gdssm.classes.settings import Config
from icl_core.papers.gdssm.shared.captions import prompt
from icl_core.papers.gdssm.shared.load_run import compared, percent


def _away(run: Run) -> float:
    return float(run["evaluated/loss"].mean() / run["baseline/constructed"][0] - 1)


def _near(run: Run, view: Any) -> int:
    away = _away(run)
    return 0 if away < -0.01 else 1 if away <= 0.01 else 2


def _near_said(run: Run, view: Any) -> str:
    ours, theirs = (
        number_text(float(run[name].mean())) for name in ("evaluated/loss", "baseline/constructed")
    )
    return f"The layer ends at {ours}, one step at {theirs}."


def _same(run: Run, view: Any) -> int:
    off = max(weights_off(run).values())
    return 0 if off < 0.05 else 1 if off < 0.5 else 2


def _same_said(run: Run, view: Any) -> str:
    return f"The farthest entry differs by {number_text(max(weights_off(run).values()), 2)}."


def _close(run: Run, view: Any) -> str:
    right = percent(float(run["evaluated/accuracy"].mean()))
    return (
        f"You have seen a step on another loss. It ends {compared(_away(run))} one step of "
        f"gradient descent and names {right} of the classes; guessing names "
        f"{percent(1 / run.config.K)}."
    )


def _task(config: Config) -> str:
    return (
        f"A prompt shows {config.N} examples, each an x and its class, one of {config.K}, and asks "
        "for the class of a new x. A class is a vector with one 1 (the example has two classes)."
    )


NEAR = Question(
    "Trained on the cross-entropy, how does the layer end beside one step of gradient descent on "
    "softmax regression?",
    ("More than 1% below it", "Within 1% of it", "More than 1% above it"),
    _near,
    _near_said,
    "At zero each class has probability 1/K, so the gradient is the sum of (y − 1/K) xᵀ. The 1/K "
    "adds one number to all outputs, which the softmax does not see: y xᵀ is enough.",
    ("training", "probabilities"),
)
SAME = Question(
    "On regression the layer learned Q = y times x and q = next x. Which weights does it learn "
    "for classes?",
    ("The same ones, within 0.05", "Nearly the same", "Others"),
    _same,
    _same_said,
    "The state has to hold y xᵀ for both losses. What differs is the length of the step, and what "
    "the output means.",
    ("weights",),
)

STORY = Story(
    task=Task(
        _task,
        prompt(("0.2", "(1, 0)"), ("−0.5", "(0, 1)"), query="0.3", answer="(1, 0)"),
    ),
    beats=(
        Beat(
            "near",
            lambda run, view: (
                "The loss is the cross-entropy: minus the log of the probability that the right "
                f"class gets. Guessing costs log {run.config.K} = "
                f"{number_text(math.log(run.config.K))}."
            ),
            marks=("training",),
            ask=NEAR,
        ),
        Beat(
            "same",
            "The layer has the same parts as before. Only the loss that trains it is another.",
            marks=("weights",),
            ask=SAME,
        ),
        Beat("close", _close, marks=("training", "probabilities")),
    ),
    tries=(
        Try(
            "Look at other prompts: is the layer sure where one step is sure?",
            fields={"prompt": 7},
            marks=("probabilities",),
        ),
        Try(
            "Ten classes and ten examples: most classes are shown once or never. What is left?",
            preset="ten classes",
            marks=("training",),
        ),
    ),
)
