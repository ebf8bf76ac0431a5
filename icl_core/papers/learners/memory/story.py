"""The story of prompts whose noise nobody knows."""

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
from icl_core.papers.learners.memory.metrics import ratio, share, total
from icl_core.papers.learners.memory.models import MEMFORMER
from icl_core.papers.learners.memory.settings import LEVELS, Config

BETWEEN = (" ", "")
EXAMPLE = Example(
    (
        ("(0.5, 1)", "x"),
        BETWEEN,
        ("1.6", "y"),
        BETWEEN,
        ("(0.4, 1.1)", "x"),
        BETWEEN,
        ("2.3", "y"),
        BETWEEN,
        ("(0.2, −0.3)", "query"),
    ),
    "about −0.1",
)
ALIKE = 0.02  # two totals within this share of each other are alike


def _task(config: Config) -> str:
    return (
        f"A prompt shows {config.n} pairs with {config.d} features; how noisy the labels are "
        "differs from prompt to prompt, and is not said. How far should a model trust the pairs?"
    )


def _half(run: Run) -> float:
    return float(run.snapshot_steps[LEVELS // 2])


def _first(run: Run, view: Any) -> str:
    attention, memformer = (number_text(share(run, id, 0), 3) for id in ("all", MEMFORMER))
    return (
        f"Without noise least squares is exact. Attention on all of a token leaves {attention}, "
        f"the Memformer, which is trained on all noises too, {memformer}."
    )


def _who(run: Run, view: Any) -> int:
    quotient = float((total(run, "all") / total(run, MEMFORMER)).mean())
    return 0 if quotient > 1 + ALIKE else 1 if quotient < 1 - ALIKE else 2


def _who_said(run: Run, view: Any) -> str:
    attention, memformer = (
        number_text(float(ratio(run, id, "knowing").mean()), 2) for id in ("all", MEMFORMER)
    )
    return (
        f"Over all noises attention leaves {attention} times what ridge leaves that knows the "
        f"noise, the Memformer {memformer} times."
    )


def _what(run: Run, view: Any) -> int:
    def costs(id: str) -> bool:
        """Return whether attention without a coefficient leaves much more."""
        gap = total(run, "xx alone") - total(run, "all")
        return float(((total(run, id) - total(run, "all")) / gap).mean()) > 0.5

    return int(costs("without yy")) + int(costs("without xy"))


def _what_said(run: Run, view: Any) -> str:
    every, without_yy, without_xy, alone = (
        number_text(float(total(run, id).mean()), 3)
        for id in ("all", "without yy", "without xy", "xx alone")
    )
    return (
        f"All four leave {every}; without w_yy {without_yy}, without w_xy {without_xy}, without "
        f"both {alone}."
    )


def _bends(run: Run, view: Any) -> str:
    first, last = (float(run["kept/all"][level, :, 0].mean()) for level in (0, -1))
    fixed = [float(run[f"kept/{MEMFORMER}"][level, :, 0].mean()) for level in (0, -1)]
    return (
        f"Of the weakest directions attention keeps {number_text(first, 2)} without noise and "
        f"{number_text(last, 2)} with the most; the Memformer {number_text(fixed[0], 2)} and "
        f"{number_text(fixed[1], 2)}."
    )


def _end(run: Run, view: Any) -> str:
    lengths = [float(run["triangle/all"][level, :, -1, -1].mean()) for level in (0, -1)]
    alone = [float(run["triangle/xx alone"][level, :, -1, -1].mean()) for level in (0, -1)]
    return (
        f"Read as steps along gradients, attention's last is {number_text(lengths[0], 2)} without "
        f"noise and {number_text(lengths[1], 2)} with the most; without products of labels "
        f"{number_text(alone[0], 2)} and {number_text(alone[1], 2)}."
    )


WHO = Question(
    "Which model comes nearer to ridge that knows the noise, over all noises?",
    ("The Memformer, with its memory", "Attention without a memory", "They are alike"),
    _who,
    _who_said,
    "A memory of gradients is still one polynomial in S for every prompt. Only products of labels "
    "can tell how large the noise is.",
    (HEADLINE, "errors", "kept"),
)
WHAT = Question(
    "The terms of two coefficients have a product of labels, w_yy and w_xy. Which is needed?",
    ("Either one will do", "One of them, and not the other", "Both together"),
    _what,
    _what_said,
    "Both bring the size of the labels, or what is left of them, into the step; w_xy is the "
    "better one.",
    (HEADLINE, "products"),
)

STORY = Story(
    task=Task(_task, EXAMPLE),
    beats=(
        Beat("clean", _first, at=FIRST, marks=("errors",)),
        Beat(
            "who",
            "Ridge with one r suits one noise; who follows ridge that knows it?",
            at=_half,
            marks=("errors", "kept"),
            ask=WHO,
        ),
        Beat("bends", _bends, at=LAST, marks=("kept",)),
        Beat(
            "what",
            "With w_xx and steps alone the method is faster, but the same for every prompt.",
            marks=("products",),
            ask=WHAT,
        ),
        Beat("end", _end, at=LAST, marks=("triangles",)),
    ),
    tries=(
        Try("What has each layer learned?", drawer="Coefficients", marks=("coefficients",)),
        Try("One more layer: how near does it come?", preset="four layers", marks=("errors",)),
        Try("Ten features from as many pairs", preset="ten", marks=("kept",)),
    ),
    brief="Answer from pairs whose noise nobody knows.",
)
