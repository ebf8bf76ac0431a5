"""The lesson on one prompt and many learners. Imports no torch."""

from icl_core.contract.experiment import Run
from icl_core.contract.lesson import EXPERIMENTS, PRESETS, Exercise, Lesson, Note
from icl_core.contract.story import Try

AVERAGE = "On average"
WHO = "Who is who"
SYMMETRIES = "Symmetries"
BREAK = "Break it"
LARGER = 2.0  # the scale of x that is asked for
WORKING = 15  # minutes


def _left(run: Run, id: str) -> float:
    return float(run["lengths/share"][run.names("learners").index(id), -1])


def _why_one_step(run: Run) -> str:
    return (
        f"One step leaves {_left(run, 'sum'):.3f} and the delta rule {_left(run, 'delta'):.3f}: "
        "one rate has to do for all prompts and for both directions, and a sum counts twice what "
        "two pairs say alike."
    )


def _times_bayes(run: Run) -> float:
    at = list(run["broken/scale/at"]).index(LARGER)
    shares = run["broken/scale/share"][:, at]
    ids = run.names("learners")
    return float(shares[ids.index("sum")] / shares[ids.index("bayes")])


def _why_times(run: Run) -> str:
    return (
        f"It leaves {_times_bayes(run):.0f} times as much. A sum of y x grows with the square of "
        "x, and the rate stays what it was."
    )


def _nearest_to_delta(run: Run) -> tuple[str, float]:
    """Return the reference that the delta rule acts most like, and how far it is from it."""
    distances = run["who/reference"][run.names("learners").index("delta")]
    nearest = int(distances.argmin())
    return run.names("references")[nearest], float(distances[nearest])


def _why_like(run: Run) -> str:
    name, distance = _nearest_to_delta(run)
    return (
        f"It is {distance:.3f} away from {name}. It corrects after every pair, so that it can use "
        "each in full; but it is not that method, since it depends on the order of the pairs."
    )


EXERCISES = (
    Exercise(
        "one-step",
        "What share of the error of predicting zero does one step of gradient descent leave after "
        "ten pairs, on average? Within 0.01.",
        "as a share",
        lambda run: _left(run, "sum"),
        0.01,
        _why_one_step,
        "Open “On average”: the title has it.",
    ),
    Exercise(
        "larger",
        "Let every x be twice as large as the rules were tuned for. How many times what Bayes "
        "leaves does one step leave? Within 100.",
        "times",
        _times_bayes,
        100.0,
        _why_times,
        "Open “Break it”, with the scale of x, and point at the line of one step at α = 2.",
    ),
    Exercise(
        "delta",
        "How far is the delta rule from the method that it acts most like? Mean squared "
        "difference, as a share of the error of predicting zero, within 0.002.",
        "as a share",
        lambda run: _nearest_to_delta(run)[1],
        0.002,
        _why_like,
        "Open “Who is who”, and read its row.",
    ),
)

NOTES = (
    Note(
        6,
        "Two pairs of a line through zero in the plane, no noise. What do you know about it?",
        ("“Its direction.”", "“Everything.”", "“It depends on the pairs.”"),
        "Push the second: two equations, two unknowns, unless both x lie on one line. Whoever "
        "solves them is there. Then ask what a rule does that may only add.",
        Try("After two pairs", step=2, marks=("plane", "errors")),
    ),
    Note(
        8,
        "One rate for all prompts. For which prompts is it too small, and for which too large?",
        ("“Small for flat directions.”", "“Large where x is large.”"),
        "Show the filter: the line of one step is straight, λ times a number. It is 1 at one λ "
        "alone. Conjugate gradient has another curve for every prompt. Let them drag a pair and "
        "see which curve moves.",
        Try("What each keeps along each direction", marks=("filter",)),
    ),
    Note(
        9,
        "Which of these rules cares for the order of the pairs?",
        ("“None: they are the same pairs.”", "“Those that correct.”"),
        "The newest pair has the last word where a state corrects what it holds. Sums and solvers "
        "do not see the order. This is how one can tell them apart without looking inside.",
        Try("What changes nothing", drawer=SYMMETRIES, marks=("symmetries",)),
    ),
    Note(
        7,
        "A rule was tuned for one distribution. What could change without harm, and what not?",
        ("“The noise.”", "“The number of pairs.”", "“The scale of x.”"),
        "Take their guesses, then go through the list in the drawer. Rates break first; who "
        "divides by what grows does not. Then leave them "
        f"{WORKING} minutes for the exercises.",
        Try("Away from home", drawer=BREAK, marks=("broken",)),
    ),
)

LESSON = Lesson(
    name="one-prompt-many-rules",
    title="One prompt, many rules",
    able=(
        "say what one step, several steps, a delta rule and a solver do with the same pairs",
        "read a filter, and tell from it what a method cannot learn",
        "tell rules apart by what they answer to changed prompts",
    ),
    experiment="prompt",
    preset="two",
    exercises=EXERCISES,
    notes=NOTES,
    working=WORKING,
    fixed={
        "d": 2,
        "n": 10,
        "noise": 0.2,
        "covariance": "narrow",
        "condition": 4.0,
        "rotated": False,
        "target": "white",
        "steps": 2,
        "seed": 0,
    },
    hidden=(PRESETS, EXPERIMENTS, "Evidence"),
    predict=("nearest", "breaks"),
)
