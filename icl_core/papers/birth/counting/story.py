"""What is told of counting: its task, the beats of the classroom's training, what to try."""

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.contract.sentence import sentence
from icl_core.contract.story import (
    FIRST,
    HEADLINE,
    LAST,
    MARKS,
    Beat,
    Example,
    Question,
    Story,
    Task,
    Try,
)
from icl_core.papers.birth.counting.load_run import read
from icl_core.papers.birth.counting.markov_chains import LETTERS
from icl_core.papers.birth.counting.settings import View
from icl_core.papers.birth.counting.strategy import (
    NAMES,
    at_step,
    becomes,
    looks_back,
    share_of_gain,
)

CURVES = "All curves"
SOON = 0.1  # of the training: so close together is at the same time
EARLY = 8  # a position at which little has been counted


def _start(run: Run, view: View) -> str:
    distance = at_step(run, "kl_uniform", 0)
    return (
        f"Before training the model takes all {run.config.k} states to be equally likely: it is "
        f"{distance:.3f} nats from a uniform guess, and far from a predictor that counts."
    )


def _first_counted(run: Run) -> int:
    """Return the index of the strategy to which the model comes first, of unigrams and bigrams; 2
    for both at once."""
    single, pairs = (becomes(run, name) or np.inf for name in ("unigram", "bigram"))
    return 2 if single == pairs else int(pairs < single)


def _plateau(run: Run) -> float | None:
    """Return the step in the middle of the time in which unigrams are the nearest; None if they do
    not come first."""
    single, pairs = (becomes(run, name) for name in ("unigram", "bigram"))
    if single is None or pairs is None or single >= pairs:
        return None
    return (single + pairs) / 2


def _order(run: Run, view: View) -> str:
    stages = []
    for name in ("unigram", "bigram"):
        step = becomes(run, name)
        if step is not None:
            stages.append((step, NAMES[name]))
    parts = [f"{name} are the nearest from step {step:.0f}" for step, name in sorted(stages)]
    return sentence("; ".join(parts)) if parts else "It comes to neither."


def _together(run: Run, view: View) -> int:
    """Return 0, 1 or 2 if layer 1 looks back before, about when, or after the predictions become
    those of bigrams."""
    back = looks_back(run) or np.inf
    pairs = becomes(run, "bigram") or np.inf
    if back == pairs or abs(back - pairs) <= SOON * run.config.steps:
        return 1
    return 0 if back < pairs else 2


def _when(run: Run, view: View) -> str:
    back = looks_back(run)
    pairs = becomes(run, "bigram")
    if back is None or pairs is None:
        return "One of the two never happens in this run."
    return (
        f"Layer 1 puts half of its attention on the previous state at step {back:.0f}; "
        f"bigrams are nearest from step {pairs:.0f}."
    )


def _jump(run: Run) -> float | None:
    """Return the step by which layer 1 looks back and bigrams are nearest; None if one never
    happens."""
    back = looks_back(run)
    pairs = becomes(run, "bigram")
    return max(back, pairs) if back is not None and pairs is not None else None


def _counts(run: Run, view: View) -> str:
    reading = read(run, view)
    at = reading.at(view)
    return (
        "Layer 2 asks every copy: are you the state I am? It looks at all that followed "
        f"{reading.letters[at]} so far, so that what it collects is a count of pairs: a "
        "statistical induction head."
    )


def _left(run: Run, view: View) -> str:
    share = float(share_of_gain(run).mean())
    return (
        f"The best possible predictor counts pairs exactly. The model has gone {share:.0%} of the "
        "way to it from unigrams, measured by the loss."
    )


def _early(run: Run, view: View) -> str:
    reading = read(run, view)
    at = reading.at(view)
    best = int(reading.strategies["bigram"][at].argmax())
    model = float(reading.model[at, best])
    pairs = float(reading.strategies["bigram"][at, best])
    single = float(reading.strategies["unigram"][at, best])
    return (
        f"After {at + 1} state{'s' * (at > 0)} the model gives {model:.0%} to {LETTERS[best]}, "
        f"bigrams {pairs:.0%}, unigrams {single:.0%}. With little to count, all stay close to "
        "uniform."
    )


TASK = Task(
    "Every sequence comes from a Markov chain of its own: what comes next depends on the state "
    "here alone, with probabilities that are new in every sequence. The model must find them by "
    "counting what followed what.",
    Example(
        (
            ("A", "trigger"),
            ("B", "output"),
            ("C", ""),
            ("A", "trigger"),
            ("B", "output"),
            ("B", ""),
            ("A", "query"),
        ),
        "B",
    ),
)

BEATS = (
    Beat("start", _start, FIRST, ("distances", "next")),
    Beat(
        "unigrams",
        "First the model counts single states: what has come up often so far, it expects to come "
        "up again.",
        _plateau,
        ("distances", "next"),
        ask=Question(
            "The best predictor counts pairs, which state follows which. What does the model "
            "learn first?",
            ("How often each state occurs", "Which state follows which", "Both at once"),
            lambda run, view: _first_counted(run),
            _order,
            "To count single states, attention that is spread evenly will do. To count pairs, two "
            "layers have to work together, and neither gains anything before the other does its "
            "part.",
            ("distances", "looks", "next", HEADLINE, MARKS),
        ),
    ),
    Beat(
        "jump",
        "Then it jumps: layer 1 finds the previous state, so that every state carries a copy of "
        "the one before it.",
        _jump,
        ("looks", "first"),
        ask=Question(
            "The predictions jump from unigrams to bigrams. When does layer 1 learn to find the "
            "previous state?",
            ("Well before the jump", "With the jump", "Well after it"),
            _together,
            _when,
            "What layer 1 copies helps only once layer 2 uses it, and layer 2 can use only what "
            "is copied. So the two pull each other up, slowly at first and then all at once.",
            ("looks", "first"),
        ),
    ),
    Beat("counts", _counts, LAST, ("second", "next")),
    Beat("left", _left, LAST, ("distances",)),
    Beat(
        "close",
        "You have seen copying grow into counting: the same head, looking at all followers in "
        "place of one.",
        LAST,
        ("next", "second"),
        {"position": View().position},
        "View",
        do=f"Set the position of the prediction to {EARLY} or less, below.",
        done=lambda view: view.position <= EARLY,
        then=_early,
    ),
)  # fmt: skip

TRIES = (
    Try("Take layer 1 away: does the model ever count pairs?", "one layer", marks=("distances",)),
    Try(
        "Let it read ABCABCABCABC: how sure does it become?",
        fields={"sequence": "ABCABCABCABC"},
        marks=("second", "next"),
    ),
    Try("Eight states: which stage takes longer?", "more states", marks=("distances",)),
    Try(
        "Chains in which all states occur equally often: do bigrams come sooner?",
        "balanced",
        marks=("distances",),
    ),
    Try(
        "See where in the sequence the model falls short of bigrams",
        drawer=CURVES,
        marks=("positions",),
    ),
)

STORY = Story(TASK, BEATS, TRIES)
