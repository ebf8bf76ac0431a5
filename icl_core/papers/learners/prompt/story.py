"""The story of one prompt."""

from typing import Any

import numpy as np

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
from icl_core.papers.learners.prompt.load_run import pairs_read, place, share_left, shown
from icl_core.papers.learners.prompt.settings import Config

APART, WITHIN = (" ", ""), ("\N{NO-BREAK SPACE}", "")
EXAMPLE = Example(
    (
        ("(0.5, 1)", "x"),
        WITHIN,
        ("2", "y"),
        APART,
        ("(−0.8, 0)", "x"),
        WITHIN,
        ("−0.8", "y"),
        APART,
        ("(0.2, −0.3)", "query"),
    ),
    "−0.25",
)
WHO = ("sum", "recursive", "delta")
FIXED, FREE = ("sum", "gd", "delta"), ("unit", "recursive", "cg")
WORSE = 4.0  # the scale of x that is asked for


def _task(config: Config) -> str:
    noise = f" with noise of {config.noise:g}" if config.noise else ""
    pairs = "1 pair" if config.n == 1 else f"{config.n} pairs"
    features = "1 feature" if config.d == 1 else f"{config.d} features"
    return (
        f"A prompt shows {pairs} of x, with {features}, and y = ⟨w*, x⟩{noise}, and asks for the y "
        "of a new x. Every learner reads the same pairs, one after the other."
    )


def _as_many(run: Run) -> float | None:
    return float(run.config.d) if run.config.d < run.config.n else None


def _nearest(run: Run, view: Any) -> int:
    prompt = shown(run, view)
    read = pairs_read(run, view)
    errors = [prompt.errors[id][read] for id in WHO]
    return int(np.argmin(errors))


def _nearest_said(run: Run, view: Any) -> str:
    prompt = shown(run, view)
    read = pairs_read(run, view)
    one, squares, delta = (number_text(float(prompt.errors[id][read]), 2) for id in WHO)
    return (
        f"Of the error of predicting zero one step leaves {one}, the delta rule {delta}, recursive "
        f"least squares {squares}."
    )


def _end(run: Run, view: Any) -> str:
    one, delta, bayes = (number_text(share_left(run, id), 3) for id in ("sum", "delta", "bayes"))
    return (
        f"Over all prompts one step leaves {one} of the error, the delta rule {delta}, Bayes "
        f"{bayes}: the rate that is right on average is wrong for each prompt."
    )


def _seen(run: Run, view: Any) -> str:
    one, delta = (number_text(share_left(run, id), 2) for id in ("sum", "delta"))
    return (
        f"On the same pairs a sum of y x leaves {one} of the error, a state that corrects what it "
        f"holds {delta}."
    )


def _worse(run: Run) -> list[str]:
    at = run["broken/scale/at"]
    share = run["broken/scale/share"]
    column = int(np.abs(at - WORSE).argmin())
    return [id for id in (*FIXED, *FREE) if share[place(run, id), column] > 1]


def _breaks(run: Run, view: Any) -> int:
    worse = set(_worse(run))
    if not worse:
        return 0
    return 1 if worse == set(FIXED) else 2


def _breaks_said(run: Run, view: Any) -> str:
    at = run["broken/scale/at"]
    share = run["broken/scale/share"]
    column = int(np.abs(at - WORSE).argmin())
    one = float(share[place(run, "sum"), column])
    recursive = float(share[place(run, "recursive"), column])
    return (
        f"With x four times as large one step leaves {number_text(one, 1)} times the error of "
        f"predicting zero, recursive least squares {number_text(recursive, 3)}."
    )


NEAREST = Question(
    "As many pairs have been read as x has features. Who is nearest to w*?",
    (
        "One step of gradient descent",
        "Recursive least squares",
        "The delta rule",
    ),
    _nearest,
    _nearest_said,
    "As many equations as unknowns determine w*, and who solves them is there but for the noise. "
    "The others have a rate that is right after the last pair.",
    (HEADLINE, "errors", "plane", "states", "filter"),
    there=True,
)
BREAKS = Question(
    "Let every x be four times as large as the rules were tuned for. Who becomes worse than "
    "predicting zero?",
    (
        "Nobody",
        "All with a fixed rate",
        "Only some of these",
    ),
    _breaks,
    _breaks_said,
    "A step along y x grows with the square of x. A rate that was right is sixteen times too "
    "large. Unit keys and solvers divide by what grows.",
)

STORY = Story(
    task=Task(_task, EXAMPLE),
    beats=(
        Beat(
            "zero",
            "Before the first pair all weights are zero. Grey is where Bayes expects w*, the star: "
            "nearly anywhere.",
            at=FIRST,
            marks=("plane",),
        ),
        Beat(
            "nearest",
            "The ellipse is what the noise leaves open. Marks outside ignore what the pairs say.",
            at=_as_many,
            marks=("plane", "errors"),
            ask=NEAREST,
        ),
        Beat("end", _end, at=LAST, marks=("errors",)),
        Beat(
            "filter",
            "Fixed methods are one curve for every prompt: along weak directions they keep little "
            "of w*. Solvers keep all.",
            at=LAST,
            marks=("filter",),
        ),
        Beat(
            "breaks",
            "The right end is four times the x of home. The axis is in times of what Bayes leaves: "
            "point at a line for how often.",
            at=LAST,
            drawer="Break it",
            marks=("broken",),
            ask=BREAKS,
        ),
        Beat(
            "order",
            "Rules that correct depend on the order of the pairs; whoever reads all pairs at once, "
            "or only adds, does not.",
            at=LAST,
            drawer="Symmetries",
            marks=("symmetries",),
        ),
    ),
    tries=(
        Try(
            "Three pairs of your own on one line: who finds what, and who invents?",
            fields={"points": "1 2: 1; 2 4: 2; -1 -2: -1"},
            marks=("plane", "states"),
        ),
        Try(
            "Rotate every prompt: what is left of the lead of Σ⁻¹?",
            preset="rotated",
            fields={"group": "steps"},
            drawer="On average",
            marks=("average",),
        ),
        Try(
            "Fewer pairs than features: who guesses best?",
            preset="short",
            fields={"group": "solutions"},
            drawer="On average",
            marks=("average",),
        ),
        Try(
            "Which method does each rule act like?",
            drawer="Who is who",
            marks=("nearest",),
        ),
    ),
    seen=_seen,
    brief="Read pairs (x, y), and say the y of a new x.",
)
