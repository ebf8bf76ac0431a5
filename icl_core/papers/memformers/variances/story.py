"""What is told of unseen variances."""

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.contract.story import HEADLINE, Beat, Question, Story, Task, Try
from icl_core.papers.memformers.shared.captions import EXAMPLE, compared
from icl_core.papers.memformers.shared.draw.losses import written
from icl_core.papers.memformers.variances.draw.gates import by_method
from icl_core.papers.memformers.variances.metrics import at_home, weighed
from icl_core.papers.memformers.variances.settings import Config, View, met_by, trained_on

MOST = 0.6  # of a step: a head that takes more does the work alone
MIDDLE = 1  # of the unseen variances: between those that heads have learned
ALL = (HEADLINE, "comparison", "shares", "starts", "losses", "gates", "test time")


def _shares(run: Run) -> np.ndarray:
    """Return what each head takes of a whole step on the middle unseen variance, the mean over
    seeds: [H]."""
    return weighed(run)[:, MIDDLE].mean(0)


def _used(run: Run, view: View) -> int:
    share = _shares(run)
    if share[at_home(run)[MIDDLE]] > MOST:
        return 1
    return 0 if share[:2].sum() > MOST else 2


def _taken(run: Run, view: View) -> str:
    *first, last = (written(float(each)) for each in _shares(run))
    return (
        f"For a variance of {met_by(run.config)[MIDDLE]:g}, between those of heads 1 and 2, the "
        f"heads take {', '.join(first)} and {last} of a step: the last one alone works."
    )


def _one_number(run: Run, view: View) -> str:
    logs = by_method(run)
    unseen = len(met_by(run.config))
    apart = float((logs["gated"] - logs["scalar"])[:, :unseen].mean())
    return (
        "So one number would have done: how far to stretch the step of the right head. With that "
        f"number alone (green) the error is {'the same to' if abs(apart) < 0.05 else 'apart by'} "
        f"{abs(np.expm1(apart)):.0%}."
    )


def _everywhere(run: Run, view: View) -> str:
    apart = float(np.ptp(np.log(run["start/loss"]).mean(0)))
    return (
        "Wherever the gates start, from zero, from one or from the last head, they end at the "
        f"same place, with errors within {max(np.expm1(apart), 0.001):.1%} of each other."
    )


def _over_zero(run: Run) -> float:
    """Return how far equal gates are above predicting zero on the middle variance, in the
    logarithm."""
    return float(by_method(run)["even"][:, MIDDLE].mean() - np.log(run.config.d))


def _explodes(run: Run, view: View) -> str:
    over = _over_zero(run)
    return (
        f"At a variance of {met_by(run.config)[MIDDLE]:g} the error with equal gates is "
        f"{compared(over)} that of predicting zero."
    )


def _task(config: Config) -> str:
    sizes = " or ".join(", ".join(f"{each:g}" for each in trained_on(config)).rsplit(", ", 1))
    along = (
        "along directions of its own"
        if config.rotations == "own"
        else "along the same directions as the others'"
    )
    return (
        f"Each model, called a head, has learned prompts of one size of x (variance {sizes}), "
        f"stretched {along}. Prompts of other sizes come; the heads stay as they are, and gates "
        "learn how much of each to use."
    )


STORY = Story(
    task=Task(_task, EXAMPLE),
    beats=(
        Beat(
            "gates",
            "Each bar is a variance; a block is what one head does of a whole step.",
            None,
            ("shares",),
            ask=Question(
                "Prompts of variance 1.5 come, which no head has seen. Their directions are those "
                "of the head of variance 3. Which heads will the gates use?",
                ("Those of variance 1 and 2", "That of variance 3", "All three alike"),
                _used,
                _taken,
                "A wrong size is corrected by one number: a larger x only asks for a smaller "
                "step. Wrong directions are not: a head multiplies with Σ⁻¹ of its own prompts.",
                ALL,
            ),
        ),
        Beat("number", _one_number, None, ("comparison",)),
        Beat("starts", _everywhere, None, ("starts",)),
        Beat(
            "equal",
            "Equal gates mix in the steps of two heads whose directions are wrong.",
            None,
            ("losses",),
            drawer="Every method",
            ask=Question(
                "Leave the gates alone: a third for each head. How good are the three together on "
                "prompts of variance 1.5?",
                (
                    "Better than predicting zero",
                    "Up to 100 times worse than that",
                    "More than 100 times worse",
                ),
                lambda run, view: int(np.digitize(_over_zero(run), (0.0, np.log(100)))),
                _explodes,
                "A step that is too long along one direction makes the error there larger, and "
                "the next layer makes it larger again. Four layers multiply what each of them "
                "does wrong.",
                ("losses",),
            ),
        ),
        Beat(
            "close",
            "You have seen a mixture of heads adapt to prompts of a new size. What it learned is "
            "one number: the right head's step, made longer or shorter.",
            None,
            ("comparison", "shares"),
        ),
    ),
    tries=(
        Try(
            "Learn the gates as the authors do, in 500 steps of 0.01: how far do they come?",
            "figure 8, their gates",
            marks=("comparison", "shares"),
        ),
        Try(
            "Give all heads the same directions: do the gates still name a head?",
            "one covariance",
            marks=("shares", "starts"),
        ),
        Try(
            "Learn the gates from ten prompts: what is lost?", "ten prompts", marks=("comparison",)
        ),
        Try("Train the heads to their end", "own covariances", marks=("comparison", "shares")),
        Try(
            "See where another seed's gates end",
            fields={"seed_shown": 2},
            marks=("shares", "starts"),
        ),
    ),
)
