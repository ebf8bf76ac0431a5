"""The story of the induction head: its task, the beats of the fastest training, what to try."""

from collections.abc import Callable
from typing import Any

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.contract.story import FIRST, LAST, MARKS, Beat, Question, Story, Try, first_at
from icl_core.papers.birth.induction.draw import stage
from icl_core.papers.birth.induction.grafted import achieved
from icl_core.papers.birth.induction.metrics import accuracy_at, milestones
from icl_core.papers.birth.induction.settings import View
from icl_core.papers.birth.shared.captions import MATRICES, TASK
from icl_core.papers.birth.shared.circuit_panels import CIRCUIT
from icl_core.papers.birth.shared.head_maps import Heads
from icl_core.papers.birth.shared.probes import early_positions

# the drawers
GRAFT = "Graft"
OWN = "Your own sequence"
BESIDE = "Trained beside constructed"
CURVES = "All curves"
MODEL = "The model"
# the milestones of the three matrices, in the order of the choices
ORDER = ("W_K¹ early", "W_K²", "W_O²")
# attention is called even if its largest weight is at most so many times the uniform one
EVEN = 2.0


def _strongest_look(attention: np.ndarray) -> float:
    """Return the largest weight of a row in units of an even one, the mean over the rows of a map
    [T, T] that have four keys or more."""
    largest = [attention[row].max() * (row + 1) for row in range(3, len(attention))]
    return float(np.mean(largest))


def _start(run: Run, view: View) -> str:
    right = accuracy_at(run, run.snapshot_steps[0])
    uneven = False
    for name in ("reading/attention1", "reading/attention2"):  # one layer has no attention1
        if name in run.tensors and _strongest_look(run[name][0]) > EVEN:
            uneven = True
    where = "at random places" if uneven else "everywhere equally"
    return (
        f"Each row shows where one character looks. Before training: {where}, and {right:.0%} of "
        "the predictions are right."
    )


def _heads(run: Run, index: int) -> Heads:
    """Return what the model predicts in the stage's own sequence at a snapshot, and where it
    looks."""
    return stage.heads(run, View(snapshot=index))


def _first_of(run: Run) -> int | None:
    """Return which of ORDER recalls half of its pairs first; None if none ever does."""
    steps = [milestones(run).get(name, np.inf) for name in ORDER]
    return int(np.argmin(steps)) if min(steps) < np.inf else None


def _output_first(run: Run) -> float | None:
    """Return the step at which W_O2 recalls half of its pairs, if it is the first that does."""
    return milestones(run)[ORDER[2]] if _first_of(run) == 2 else None


def _order(run: Run, view: View) -> str:
    steps = [(step, name) for name, step in milestones(run).items() if name in ORDER]
    (first_step, first), *later = sorted(steps)
    early = f"W_K¹ (first {early_positions(run.config.T)} positions)"
    rest = [f"{early if name == ORDER[0] else name} at {step:.0f}" for step, name in later]
    return f"{first} is half right at step {first_step:.0f} of this run, {', '.join(rest)}."


def _looks_back(run: Run) -> float | None:
    """Return the step of the first snapshot where layer 1 puts most of its attention on the
    character before; None if there is none."""

    def holds(heads: Heads) -> Any:
        return heads.attention1 is not None and np.diagonal(heads.attention1, -1).mean() > 0.5

    return _first(run, holds)


def _finds(run: Run) -> float | None:
    """Return the step of the first snapshot where layer 2 puts most of its attention on the
    characters to copy; None if there is none."""

    def holds(heads: Heads) -> Any:
        on_answers = sum(heads.attention2[query, key] for query, key, _ in heads.where)
        return on_answers > 0.5 * heads.right[1]

    return _first(run, holds)


def _first(run: Run, holds: Callable[[Heads], Any]) -> float | None:
    """Return the step of the first snapshot at which a condition holds; None if there is none."""
    snapshots = (_heads(run, index) for index in range(len(run.snapshot_steps)))
    return first_at(run.snapshot_steps, map(holds, snapshots))


def _found(run: Run, view: View) -> str:
    heads = _heads(run, run.snapshot_at(view))
    # the first position at which the context tells what follows
    query = next(index for index, follows in enumerate(heads.truth) if follows)
    character = heads.shown[query]
    follows = heads.truth[query]
    return (
        f"Then layer 2 asks every copy: are you my character? The second {character} finds what "
        f"came after the first {character} and says it: {follows}."
    )


def _left(run: Run, view: View) -> float:
    """Return the accuracy that the view's grafts leave."""
    return achieved(run, view)["accuracy"]


def _one_layer(run: Run, view: View) -> str:
    alone = float(run["baseline/one_layer"][0])
    return (
        f"{_left(run, view):.1%} stay right; a one-layer model, which cannot find the previous "
        f"character, reaches {alone:.0%}."
    )


def _close(run: Run, view: View) -> str:
    return (
        "You have seen an induction head form: it finds the previous character, then the same "
        "character, and says what followed it."
    )


def _mute(run: Run, view: View) -> str:
    return (
        f"Now {_left(run, view):.1%} are right, and a blind guess would be right 1 time in "
        f"{run.config.N}. The model still looks at the right character and cannot say it."
    )


BEATS = (
    Beat("start", _start, FIRST, ("second", "accuracy")),
    Beat(
        "output",
        "W_O² turns the character that layer 2 looks at into the prediction.",
        _output_first,
        ("w_o2",),
        drawer=MODEL,
        ask=Question(
            "Training changes the three matrices with a thick frame below. Which forms first?",
            tuple(MATRICES.values()),
            lambda run, view: _first_of(run) or 0,
            _order,
            "While attention has learned nothing, a part of it falls on the right character, so "
            "W_O² has something to learn from. Better attention is of no use until the model "
            "can say what it sees.",
            ("w_k1", "w_k2", "w_o2", MARKS),
        ),
    ),
    Beat(
        "back",
        "Next, layer 1 learns to find the previous character: the stripe beside the diagonal. "
        "Every character now carries a copy of the one before it.",
        _looks_back,
        ("first", "w_k1"),
    ),
    Beat("find", _found, _finds, ("second", "w_k2")),
    Beat(
        "zero",
        "What survives is guessed by frequency: a frequent trigger makes its output frequent.",
        LAST,
        ("graft",),
        {"graft_W_K1": "zero", "graft_W_K2": "trained", "graft_W_O2": "trained"},
        GRAFT,
        Question(
            "Put zero in place of W_K¹: layer 1 looks everywhere equally. How many predictions "
            "stay right?",
            ("Fewer than a quarter", "About half", "More than three quarters"),
            lambda run, view: int(np.digitize(_left(run, view), (0.25, 0.75))),
            _one_layer,
            "Without the copies no position knows which character came directly before. But "
            "naming the character that comes up more than it does in ordinary text needs no "
            "order.",
            ("graft",),
            there=True,
        ),
    ),
    Beat(
        "close",
        _close,
        LAST,
        ("graft",),
        {},
        GRAFT,
        do="Now take the output away: set W_O² to zero.",
        done=lambda view: view.graft_W_O2 == "zero",
        then=_mute,
    ),
)

TRIES = (
    Try(
        "Watch the matrices form one after the other, in a slower training",
        "order",
        drawer=CURVES,
        marks=("memories",),
    ),
    Try(
        "Freeze W_O² to step 300: does anything else learn meanwhile?",
        "W_O2 frozen",
        drawer=CURVES,
        marks=("memories",),
    ),
    Try(
        "Let it read “to be or not to be”, and play: when does it know what comes?",
        fields={"sequence": "to be or not to be"},
        step=0,
        marks=("first", "second"),
    ),
    Try(
        "Follow the arrows back from an answer: whose copy was found?",
        drawer=CIRCUIT,
        marks=("streams",),
    ),
    Try(
        "Early on W_O² says what layer 1 copies, too. Play on, and its second diagonal fades",
        fields={"read": "W_O2"},
        step=38,
        drawer=CIRCUIT,
        marks=("blocks",),
    ),
    Try("Take layer 1 away: how far does one layer get?", "one layer", marks=("accuracy",)),
    Try(
        "See W_O² beside the matrix that the paper writes down",
        fields={"memory": "W_O2"},
        drawer=BESIDE,
        marks=("matrix",),
    ),
)


def _seen(run: Run, view: View) -> str:
    right = accuracy_at(run, run.snapshot_steps[-1])
    return (
        "A transformer learned to look things up: one matrix finds the previous character, one "
        f"the same character, one says what followed. {right:.0%} of its predictions are right."
    )


BRIEF = (
    "The model predicts the next character. After a trigger (outlined), only the trigger's earlier "
    "occurrence can tell."
)
STORY = Story(TASK, BEATS, TRIES, BRIEF, _seen)
