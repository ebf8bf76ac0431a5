"""What is told of the constructed induction head: its task, the beats of the first preset, what to try."""

import numpy as np

from icl_core.experiment import Run
from icl_core.papers.birth.constructed.draw.sweep import trained
from icl_core.papers.birth.constructed.metrics import at_d, shares_closed
from icl_core.papers.birth.constructed.settings import View
from icl_core.papers.birth.shared.draw import NAMES
from icl_core.papers.birth.shared.words import EXAMPLE, MATRICES
from icl_core.script import HEADLINE, Beat, Question, Script, Task, Try

CROSS_TALK, OWN, CURVES = "Cross-talk", "Your own sequence", "All curves"  # the drawers

TASK = Task(
    "The task is to predict what follows a trigger, which only the trigger's earlier occurrence tells. Here no model "
    "is trained for it: the three matrices of the induction head are written down.",
    EXAMPLE,
)


def _right(run: Run, talk: str = "kept") -> float:
    """The construction's accuracy at the setting's width, with its cross-talk or without."""
    return float(at_d(run, f"accuracy_{talk}").mean())


def _built(run: Run, view: View) -> str:
    worst = min(float(at_d(run, f"recall_{name}_kept").mean()) for name in MATRICES)
    return (
        "Each matrix is a memory: a sum of outer products, one for every pair that it stores. Asked for one pair at a "
        f"time, each of the three gets {'all' if worst == 1 else f'{worst:.0%} or more'} of them right."
    )


def _whole(run: Run, view: View) -> str:
    best = "".join(f"; the trained model, {value:.0%}" for value in trained(run))
    return f"{_right(run):.0%} of the time{best}."


def _wide(run: Run, view: View) -> str:
    return (
        f"Give the vectors more room and it works: at d = {run['sweep/width'][-1]} it is right "
        f"{run['sweep/accuracy_kept'][:, -1].mean():.0%} of the time. The more dimensions, the closer random vectors "
        "are to orthogonal."
    )


def _clean(run: Run, view: View) -> str:
    return (
        f"Or stay at d = {run.config.d} and change each matrix so that it stores the same pairs and answers as little "
        "as possible to everything else."
    )


def _cleaned(run: Run, view: View) -> str:
    closed = float(shares_closed(run)["stream"].mean())
    return (
        f"Without cross-talk it is right {_right(run, 'stream'):.0%} of the time. That closes {closed:.0%} of the gap "
        "to the trained model."
    )


def _closed(run: Run) -> dict[str, float]:
    """The share of the gap that each matrix closes, cleaned alone."""
    found = shares_closed(run)
    return {name: float(found[name].mean()) for name in MATRICES}


def _least(run: Run, view: View) -> int:
    return int(np.argmin(list(_closed(run).values())))


def _each(run: Run, view: View) -> str:
    shares = [f"{NAMES[name]} {share:.0%}" for name, share in _closed(run).items()]
    return f"This much of the gap does each one close: {', '.join(shares)}."


BEATS = (
    Beat("built", _built, marks=("w_k1", "w_k2", "w_o2")),
    Beat(
        "whole",
        "All the pairs are there, and still the model is often wrong.",
        marks=("second", "widths"),
        ask=Question(
            "These three memories are put into one model. How often is it right?",
            ("Over 90% of the time, like a trained model", "Between 40% and 90%", "Less than 40%"),
            lambda run, view: 2 - int(np.digitize(_right(run), (0.4, 0.9))),
            _whole,
            "Asked alone, a memory is given one clean vector. In the model it is given a sum of several, and answers a "
            "little to each. That is cross-talk.",
            (HEADLINE, "widths", "second"),
        ),
    ),
    Beat("wide", _wide, marks=("widths",)),
    Beat(
        "clean",
        _clean,
        marks=("second",),
        drawer="View",
        do="Choose “without cross-talk in the whole stream”.",
        done=lambda view: view.cross_talk == "stream",
        then=_cleaned,
    ),
    Beat(
        "which",
        "So the gap is cross-talk in the two matrices that read what layer 1 has written.",
        marks=("gap",),
        view={"cross_talk": "kept"},  # whatever the visitor has chosen for the last beat
        drawer=CROSS_TALK,
        ask=Question(
            "Now take the cross-talk out of one matrix alone. With which of them does that help least?",
            tuple(MATRICES.values()),
            _least,
            _each,
            "At first each position holds two vectors, one for its character and one for its place. Layer 1 adds two "
            "more, so whatever reads after it has more to confuse.",
            ("gap",),
        ),
    ),
    Beat(
        "close",
        "You have seen what training does beyond storing pairs: it keeps them quiet when something else is asked.",
        marks=("gap",),
        drawer=CROSS_TALK,
    ),
)  # fmt: skip

TRIES = (
    Try("Store the bigrams in W_F too, on random embeddings: what should W_F not read?", "bigrams fail",
        drawer=CROSS_TALK, marks=("reads",)),
    Try("The same on orthonormal embeddings: what is the loss where no trigger stands?", "bigrams, orthonormal",
        drawer=CURVES, marks=("global_loss",)),
    Try("Lower the attention score of a match to 5: what does softer attention cost?", fields={"logit": 5.0},
        marks=("second",)),
    Try("Let it read “to be or not to be” without cross-talk",
        fields={"sequence": "to be or not to be", "cross_talk": "stream"}, drawer=OWN, marks=("attention",)),
)  # fmt: skip

SCRIPT = Script(TASK, BEATS, TRIES)
