"""The lesson on the induction head. Imports no torch until an answer is asked for."""

from collections.abc import Mapping
from typing import Any

from icl_core.contract.experiment import Run
from icl_core.contract.lesson import EXPERIMENTS, PRESETS, SETTINGS, TRAIN, Exercise, Lesson, Note
from icl_core.contract.story import Try

GRAFT, OWN, BESIDE, MODEL = "Graft", "Your own sequence", "Trained beside constructed", "The model"
WORKING = 15  # minutes
GRAFTS = ("graft_W_K1", "graft_W_K2", "graft_W_O2")


def _grafted(run: Run, grafts: Mapping[str, Any]) -> float:
    """The accuracy in percent after grafts, as the drawer Graft measures it."""
    from icl_core.papers.birth.induction.grafted import achieved
    from icl_core.papers.birth.induction.settings import View

    return 100 * achieved(run, View(**grafts))["accuracy"]


def _all_three(run: Run) -> float:
    return _grafted(run, dict.fromkeys(GRAFTS, "constructed"))


def _alone(run: Run) -> str:
    alone = ", ".join(f"{_grafted(run, {name: 'constructed'}):.1f}" for name in GRAFTS)
    return (
        f"One at a time W_K¹, W_K² and W_O² leave {alone}%. The losses do not add up: each "
        "construction answers a little to everything in the stream, and training had tuned the "
        "other matrices to what they get."
    )


def _apart(run: Run) -> float:
    """The steps from W_O2's half to W_K2's."""
    from icl_core.papers.birth.induction.memory_formation import milestones

    found = milestones(run)
    return found["W_K²"] - found["W_O²"]


def _order(run: Run) -> str:
    from icl_core.figures import mean_of
    from icl_core.papers.birth.induction.memory_formation import half_step
    from icl_core.papers.birth.induction.memory_formation import milestones

    found = milestones(run)
    by_frequency = half_step(run, mean_of(run["curve/recall_W_K2_weighted"]))
    return (
        f"W_O² gets half of its pairs right at step {found['W_O²']:.0f}, W_K² at step "
        f"{found['W_K²']:.0f}: {_apart(run):.0f} steps later. Rare characters are late: weighted "
        f"by how often they come, W_K² has half at step {by_frequency:.0f}."
    )


def _learned(run: Run) -> float:
    return float(sum(run[name].size for name in run.tensors if name.startswith("final/")))


def _sizes(run: Run) -> str:
    d = run.config.d
    return (
        f"Three matrices of {d} × {d} numbers are learned: 3 × {d}² = {_learned(run):,.0f}. All "
        "others stay random."
    )


EXERCISES = (
    Exercise(
        "order",
        "Two of the clock's marks are W_O² and W_K², where each gets half of its pairs right. How "
        "many training steps lie between them? Within 3 steps.",
        "steps",
        _apart,
        3,
        _order,
        "Rest the pointer on the marks W_O² and W_K² under the clock: each tells its step. "
        "Subtract.",
    ),
    Exercise(
        "together",
        "In the drawer “Graft”, put the construction in place of W_K¹, W_K² and W_O², all three "
        "at once. What share of the predictions stays right? In percent, to one decimal.",
        "%",
        _all_three,
        0.25,
        _alone,
        "Set all three to “constructed”, let the clock stand at its end, and read the bar “after "
        "the graft”.",
    ),
    Exercise(
        "numbers",
        "How many numbers does training change in this model? Exactly. “The model” shows which "
        "matrices are learned; the width d is 128.",
        "numbers",
        _learned,
        0,
        _sizes,
        "Count the boxes with a thick frame. Each is a d × d matrix.",
    ),
)

NOTES = (
    Note(
        6,
        "Write ab…a on the board. What comes next, and how do you know?",
        ("“b, because it came after a before.”", "“It depends on the language.”"),
        "Let them put it into two steps: find the earlier a, read what follows it. Then ask how a "
        "layer that only compares characters could find a character by its neighbour. Leave that "
        "open: the training answers it.",
        Try("The attention maps before training", step=0, marks=("first", "second")),
    ),
    Note(
        7,
        "Three matrices have to form. Which one is the first?",
        (
            "“Looking back: you have to find before you can speak.”",
            "“All at once: they need each other.”",
        ),
        "Collect votes before you play; the marks on the clock give the steps. Better attention "
        "earns nothing until the model can say what it sees. With even attention a part of it "
        "falls on the right character, so there is something to learn from at the output.",
        Try("The three matrices before training", step=0, marks=("w_k1", "w_k2", "w_o2")),
    ),
    Note(
        9,
        "What does layer 1 have to do so that layer 2 can find the earlier occurrence?",
        ("“Remember all pairs.”", "“Copy the character before into each position.”"),
        "Show the diagonal just below the main one, then the diagram: W_K¹ finds the previous "
        "character, W_O¹ W_V¹ writes a copy, W_K² compares with the copies. Ask what each of "
        "the three alone would be good for.",
        Try("The model, with each matrix in its place", drawer=MODEL, marks=("w_k1",)),
    ),
    Note(
        8,
        "If the paper's formula for a matrix is right, what happens when you put it in place of "
        "the learned one?",
        (
            "“Nothing.”",
            "“It gets better, since the formula is exact.”",
            "“It breaks, since the scale is different.”",
        ),
        "The scale is fitted, so that is not it. One at a time each costs something. All three "
        "together cost far more: the answer to the second exercise has the numbers. Let them "
        f"argue why before you say “cross-talk”. Then leave them {WORKING} minutes for the "
        "exercises.",
        Try(
            "Graft, with the construction of W_K²",
            fields={"graft_W_K2": "constructed"},
            drawer=GRAFT,
            marks=("graft",),
        ),
    ),
)

LESSON = Lesson(
    name="induction-head",
    title="How a transformer learns to look back",
    able=(
        "say what each of three matrices of an induction head does",
        "predict what breaks when one of them is missing, and check it",
        "explain why three formulas that are right one by one can fail together",
    ),
    experiment="induction",
    preset="fastest",
    exercises=EXERCISES,
    notes=NOTES,
    working=WORKING,
    fixed={"orientation": "code", "weighted": False, "strength": 1.0},
    hidden=(PRESETS, SETTINGS, TRAIN, EXPERIMENTS, BESIDE, "Evidence"),
    predict=("output", "zero"),
)
