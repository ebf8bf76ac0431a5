"""The story of taking Σ away."""

from typing import Any

from icl_core.contract.experiment import Run
from icl_core.contract.story import HEADLINE, Beat, Example, Question, Story, Task, Try
from icl_core.figures import number_text
from icl_core.papers.learners.rotation.metrics import LAYERS, share
from icl_core.papers.learners.rotation.settings import Config

BETWEEN = (" ", "")
EXAMPLE = Example(
    (("(0.5, 1)", "x"), BETWEEN, ("2", "y"), BETWEEN, ("(0.2, −0.3)", "query")), "−0.25"
)


def _task(config: Config) -> str:
    return (
        f"A prompt shows {config.n} pairs with {config.d} features whose covariance is Σ. A "
        "trained linear transformer steps along Σ⁻¹, since Σ is the same in every prompt; what if "
        "it is not?"
    )


def _layer(run: Run) -> int:
    return min(LAYERS, run.config.layers)


def _ahead(run: Run, view: Any) -> int:
    ratio = share(run, "floor/fixed", _layer(run)) / share(run, "conjugate/rotated", _layer(run))
    return 0 if ratio < 0.8 else 1 if ratio < 1.25 else 2


def _ahead_said(run: Run, view: Any) -> str:
    floor = number_text(share(run, "floor/fixed", _layer(run)), 3)
    conjugate = number_text(share(run, "conjugate/rotated", _layer(run)), 3)
    return (
        f"After {_layer(run)} layers fixed steps along Σ⁻¹ leave {floor} of the error, conjugate "
        f"gradient that does not know Σ {conjugate}."
    )


def _after(run: Run, view: Any) -> int:
    ratio = share(run, "floor/rotated", _layer(run)) / share(run, "floor/fixed", _layer(run))
    return 0 if ratio < 2 else 1 if ratio < 8 else 2


def _after_said(run: Run, view: Any) -> str:
    fixed, rotated, conjugate = (
        number_text(share(run, name, _layer(run)), 3)
        for name in ("floor/fixed", "floor/rotated", "conjugate/rotated")
    )
    return (
        f"They leave {rotated} and not {fixed}; conjugate gradient without Σ leaves {conjugate} in "
        "both. It was knowledge of Σ that led."
    )


def _why(run: Run, view: Any) -> str:
    return (
        "Divided by Σ, eigenvalues of S lie around 1. Without Σ they reach from 0 to beyond 1, and "
        "no polynomial of few steps is near 1 at all of them."
    )


AHEAD = Question(
    "Σ is the same in every prompt. The best four fixed steps know it, conjugate gradient does "
    "not. Who leaves less?",
    ("The fixed steps", "They are equal", "Conjugate gradient"),
    _ahead,
    _ahead_said,
    "Conjugate gradient adapts to every prompt, but begins without knowing which directions are "
    "flat. Who knows Σ begins where it would come to.",
    (HEADLINE, "fixed", "lead", "rotated"),
)
AFTER = Question(
    "Now every prompt has eigenvectors of its own. How much more do the best fixed steps leave?",
    ("Up to twice as much", "Two to eight times", "More than eight times"),
    _after,
    _after_said,
    "What is known of Σ on average is a multiple of I. One rate has to do for all directions.",
    ("rotated", "lead", "kept"),
)

STORY = Story(
    task=Task(_task, EXAMPLE),
    beats=(
        Beat(
            "ahead",
            "At the left all methods know Σ and step along Σ⁻¹.",
            marks=("fixed", "lead"),
            ask=AHEAD,
        ),
        Beat(
            "after",
            "Now every prompt is rotated: nothing is known but the eigenvalues.",
            marks=("rotated", "lead"),
            ask=AFTER,
        ),
        Beat("why", _why, marks=("kept",)),
    ),
    tries=(
        Try("Directions that differ by a factor of 64", preset="narrow", marks=("lead",)),
        Try("All directions equal: what is there to lose?", preset="isotropic", marks=("lead",)),
        Try(
            "Against the condition number of Σ",
            drawer="Other covariances",
            marks=("conditions",),
        ),
    ),
    brief="Take away what a trained model knows of the prompts.",
)
