"""The story of one layer with ever more training tasks."""

from typing import Any

from icl_core.contract.experiment import Run
from icl_core.contract.story import (
    FIRST,
    HEADLINE,
    LAST,
    Beat,
    Example,
    Question,
    Story,
    Task,
    Try,
)
from icl_core.figures import number_text
from icl_core.papers.learners.diversity.metrics import ENOUGH, gap, place
from icl_core.papers.learners.diversity.settings import Config

BETWEEN = (" ", "")
EXAMPLE = Example(
    (
        ("task 3:", ""),
        BETWEEN,
        ("(0.5, 1)", "x"),
        BETWEEN,
        ("2", "y"),
        BETWEEN,
        ("(0.2, −0.3)", "query"),
    ),
    "−0.2",
)


def _task(config: Config) -> str:
    return (
        f"Each prompt shows {config.n} pairs of one of k linear tasks with {config.d} features, "
        "and one layer of linear attention learns to answer a query. Will it answer for a task "
        "that is none of the k?"
    )


def _features(run: Run) -> float:
    return float(run.config.d)


def _half(run: Run) -> float:
    return float(max(1, run.config.d // 2))


def _outside(run: Run, view: Any) -> int:
    at = place(run, int(_half(run)))
    inside, outside = (
        float(run[f"snapshot/{where}"][at].mean()) for where in ("inside", "outside")
    )
    if outside > 1 - 1e-6:
        return 2
    return 0 if outside < 1.05 * inside else 1


def _outside_said(run: Run, view: Any) -> str:
    at = place(run, int(_half(run)))
    inside, outside = (
        number_text(float(run[f"snapshot/{where}"][at].mean()), 2)
        for where in ("inside", "outside")
    )
    return f"Along those {outside} is left, within the span of the training tasks {inside}."


def _enough(run: Run) -> float | None:
    count = ENOUGH * run.config.d
    return float(count) if count in run.snapshot_steps else None


def _when(run: Run, view: Any) -> int:
    d = run.config.d
    for index, count in enumerate((max(1, d // 2), d)):
        if float(gap(run, count).mean()) < 1.1:
            return index
    return 2


def _when_said(run: Run, view: Any) -> str:
    d = run.config.d
    ratios = [number_text(float(gap(run, count).mean()), 2) for count in (d // 2 or 1, d)]
    later = ": they meet later" if _when(run, view) == 2 else ""
    return (
        f"With d / 2 tasks fresh ones have {ratios[0]} times the error of trained ones, with d "
        f"{ratios[1]} times{later}."
    )


def _one(run: Run, view: Any) -> str:
    trained, fresh = (
        number_text(float(run[f"curve/optimum_{where}"][:, 0].mean()), 2)
        for where in ("trained", "fresh")
    )
    return (
        f"One task: Γ is w wᵀ, and only its size is read from the pairs. {trained} is left of this "
        f"task, {fresh} of others."
    )


def _end(run: Run, view: Any) -> str:
    at = place(run, run.snapshot_steps[-1])
    fresh = number_text(float(run["curve/optimum_fresh"][:, at].mean()), 2)
    memory = number_text(float(run["curve/memory_fresh"][:, at].mean()), 2)
    return (
        f"Γ is now nearly a multiple of the identity, one step of gradient descent: {fresh} is "
        f"left of any task. Who knows 1,024 tasks by heart leaves {memory} of a fresh one."
    )


WHEN = Question(
    "From how many training tasks on are fresh tasks as easy as trained ones, to a tenth?",
    ("From half as many as features", "From as many as features", "From several times as many"),
    _when,
    _when_said,
    "From k = d on the tasks span every direction. But the layer has seen some directions more "
    "often than others, and is better there, until their mean is even.",
    (HEADLINE, "errors", "span"),
)

OUTSIDE = Question(
    "With half as many tasks as features: what is left of a fresh task along directions that no "
    "training task has?",
    ("As much as along the others", "Somewhat more", "All of it"),
    _outside,
    _outside_said,
    "Γ is a sum of the training tasks' directions. What b holds along others, it drops.",
    (HEADLINE, "span", "singular values"),
)

STORY = Story(
    task=Task(_task, EXAMPLE),
    beats=(
        Beat("one", _one, at=FIRST, marks=("matrix", "errors")),
        Beat(
            "outside",
            "Half of the directions are not in any training task, and Γ has nothing there.",
            at=_half,
            marks=("span", "singular values"),
            ask=OUTSIDE,
        ),
        Beat(
            "span",
            "With as many tasks as features there is no direction left of which the layer knows "
            "nothing.",
            at=_features,
            marks=("span", "singular values"),
        ),
        Beat(
            "when",
            "The two lines meet where Γ has become even in all directions.",
            at=_enough,
            marks=("errors",),
            ask=WHEN,
        ),
        Beat("end", _end, at=LAST, marks=("matrix", "errors")),
    ),
    tries=(
        Try(
            "Fit the layer to 512 prompts only: what becomes of Γ?",
            preset="few prompts",
            marks=("matrix",),
        ),
        Try(
            "What does it help to know the tasks by heart?",
            drawer="By heart",
            marks=("memory",),
        ),
        Try("Twenty features, sixty pairs: where do the lines meet?", preset="long"),
    ),
    brief="Learn from prompts of k tasks; answer for another.",
)
