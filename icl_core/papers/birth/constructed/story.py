"""What is told of the constructed induction head: its task, the beats of the first preset, what to
try."""

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.contract.story import Beat, Question, Story, Task, Try
from icl_core.papers.birth.constructed.draw.sweep import trained
from icl_core.papers.birth.constructed.metrics import at_d, shares_closed
from icl_core.papers.birth.constructed.settings import View
from icl_core.papers.birth.shared.captions import MATRICES, example_of
from icl_core.papers.birth.shared.draw import NAMES

# the drawers
CROSS_TALK = "Cross-talk"
OWN = "Your own sequence"
CURVES = "All curves"

TASK = Task(
    "The model predicts what follows a trigger, which only the trigger's earlier occurrence "
    "tells. Here it is not trained: the three matrices of its induction head are written down.",
    example_of,
)


def _right(run: Run, talk: str = "kept") -> float:
    """Return the construction's accuracy at the setting's width, with its cross-talk or without."""
    return float(at_d(run, f"accuracy_{talk}").mean())


def _built(run: Run, view: View) -> str:
    worst = min(float(at_d(run, f"recall_{name}_kept").mean()) for name in MATRICES)
    return (
        "Each matrix is a memory: a sum of outer products, one for every pair that it stores. "
        "Asked for one pair at a time, each of the three gets "
        f"{'all' if worst == 1 else f'{worst:.0%} or more'} of them right."
    )


def _whole(run: Run, view: View) -> str:
    best = "".join(f", where a trained model is right {value:.0%}" for value in trained(run))
    widest = run["sweep/width"][-1]
    most = run["sweep/accuracy_kept"][:, -1].mean()
    return (
        f"Put together at d = {run.config.d}, the three memories are right {_right(run):.0%} of "
        f"the time{best}. With more room it works: {most:.0%} at d = {widest}."
    )


def _exact_pairs(run: Run, view: View) -> int:
    """Return whether exact pairs make the model better, 0, or worse, 2."""
    return 1 - int(np.sign(np.fix((_right(run, "within") - _right(run)) / 0.02)))


def _louder(run: Run, view: View) -> str:
    before, after = (float(at_d(run, f"talk_W_K2_{talk}").mean()) for talk in ("kept", "within"))
    return (
        f"Exact on its own pairs, W_K² answers more to everything else: {after:.0%} as strongly as "
        f"to a pair, where it was {before:.0%}."
    )


def _cleaned(run: Run, view: View) -> str:
    closed = float(shares_closed(run)["stream"].mean())
    return (
        f"Cleaned, the construction is right {_right(run, 'stream'):.0%} of the time. That closes "
        f"{closed:.0%} of the gap to the trained model."
    )


def _closed(run: Run) -> dict[str, float]:
    """Return the share of the gap that each matrix closes, cleaned alone."""
    found = shares_closed(run)
    return {name: float(found[name].mean()) for name in MATRICES}


def _least(run: Run, view: View) -> int:
    return int(np.argmin(list(_closed(run).values())))


def _each(run: Run, view: View) -> str:
    shares = [f"{NAMES[name]} {share:.0%}" for name, share in _closed(run).items()]
    return f"This much of the gap does each one close: {', '.join(shares)}."


def _quieter(run: Run, view: View) -> str:
    pairs = {
        name: [
            float(each.mean())
            for each in (run[f"beside/talk_{name}"], at_d(run, f"talk_{name}_kept"))
        ]
        for name in MATRICES
    }
    fallen = [
        f"{NAMES[name]} {after:.0%} (written down, {before:.0%})"
        for name, (after, before) in pairs.items()
        if after < before
    ]
    quieter = (
        f" After training there is less of it, as a share of a right answer: {', '.join(fallen)}."
    )
    return (
        "You have seen three memories that are right one by one fail together, by "
        f"cross-talk.{quieter * bool(fallen)}"
    )


BEATS = (
    Beat("built", _built, marks=("w_k1", "w_k2", "w_o2")),
    Beat("whole", _whole, marks=("widths", "second")),
    Beat(
        "pairs",
        _louder,
        marks=("accuracy",),
        drawer=CURVES,
        ask=Question(
            "Random vectors are not quite orthogonal, so pairs disturb each other a little. Make "
            "the answers to all pairs exact: what becomes of the accuracy?",
            ("It rises", "It stays about the same", "It falls"),
            _exact_pairs,
            lambda run, view: f"It goes from {_right(run):.0%} to {_right(run, 'within'):.0%}.",
            "To be exact on vectors that are nearly alike, a memory must lean on their small "
            "differences, and so it answers more to all other vectors. In the model it never "
            "meets one vector alone, but sums of several.",
            ("accuracy",),
        ),
    ),
    Beat(
        "clean",
        "What disturbs a memory is the rest of the sum, every vector that it is not asked for. "
        "This is cross-talk.",
        marks=("second",),
        drawer="View",
        do="Lower it: below, under “View”, choose “cleaned, with the least cross-talk”.",
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
            "Now clean one matrix alone. With which of them does that help least?",
            tuple(MATRICES.values()),
            _least,
            _each,
            "At first each position holds two vectors, one for its character and one for its "
            "place. Layer 1 adds two more, so whatever reads after it has more to confuse.",
            ("gap",),
        ),
    ),
    Beat(
        "close",
        _quieter,
        marks=("gap",),
        drawer=CROSS_TALK,
    ),
)

TRIES = (
    Try(
        "Store the bigrams in W_F too, on random embeddings: what should W_F not read?",
        "bigrams fail",
        drawer=CROSS_TALK,
        marks=("reads",),
    ),
    Try(
        "The same on orthonormal embeddings: what is the loss where no trigger stands?",
        "bigrams, orthonormal",
        drawer=CURVES,
        marks=("global_loss",),
    ),
    Try(
        "Lower the attention score of a match to 5: what does softer attention cost?",
        fields={"logit": 5.0},
        marks=("second",),
    ),
    Try(
        "Let it read “to be or not to be”, cleaned of cross-talk",
        fields={"sequence": "to be or not to be", "cross_talk": "stream"},
        drawer=OWN,
        marks=("attention",),
    ),
)

STORY = Story(TASK, BEATS, TRIES)
