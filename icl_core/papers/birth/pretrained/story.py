"""What is told of a language model: the task, the beats of SmolLM2's run, what to try."""

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
from icl_core.papers.birth.pretrained.load_run import chance, half_losses, halves_by_layer, roles
from icl_core.papers.birth.pretrained.settings import PLANTED, View
from icl_core.papers.birth.shared.behaviour import INDUCTION, PREVIOUS

# the drawers
MEMORIES = "The memories"
TOKENS = "Token by token"
HEADS = "Heads in numbers"
TYPED = "Your own text"
FILES = "The files"
HALF = 0.5
EXAMPLE = Example(
    (
        ("▸ ", ""),
        ("cab", "trigger"),
        (" lid", "output"),
        (" oak", ""),
        (" pen", ""),
        (" … ", ""),
        ("cab", "trigger"),
    ),
    " lid",
)


def _task(config) -> str:
    model = "A small model with a planted head" if config.model == PLANTED else "A language model"
    return (
        f"{model} reads random tokens, and then the same ones again. Only the first half can tell "
        "the second: does it use the paper's induction head for that?"
    )


def _start(run: Run, view: View) -> str:
    first, second = half_losses(run)
    return (
        f"Over five draws, random tokens cost {first.mean():.1f} nats each. When they come again, "
        f"they cost {second.mean():.1f}: the model has learned them in context."
    )


def _readable(run: Run) -> float | None:
    """Return the layer after which the loss of repeated tokens has fallen half of the way from its
    largest value behind layer 1 to its last."""
    _, second = halves_by_layer(run, View())
    layers = run["snapshot/step"]
    middle = (second[1:].max() + second[-1]) / 2
    is_above = np.flatnonzero(second > middle)
    return float(layers[is_above[-1] + 1]) if len(is_above) else None


def _layers(run: Run, view: View) -> str:
    at = int(_readable(run) or 0)
    _, second = halves_by_layer(run, View())
    return (
        f"Read after layer {at - 1}, a repeated token costs {second[at - 1]:.0f} nats, after layer "
        f"{at} {second[at]:.0f}, and after the last {second[-1]:.1f}: only the last layers make "
        "readable what was found."
    )


def _counts(run: Run) -> tuple[int, int, int]:
    """Return how many heads there are, find what followed, and find the previous token."""
    found = list(roles(run).values())
    return len(found), found.count(INDUCTION), found.count(PREVIOUS)


def _heads(run: Run, view: View) -> str:
    every, induction, previous = _counts(run)
    return (
        f"{induction} of {every} heads look mostly at what followed, and {previous} at the token "
        "before."
    )


def _which_number(run: Run, view: View) -> int:
    every, induction, _ = _counts(run)
    share = induction / every
    return 0 if induction <= 1 else 1 if share < 0.2 else 2


def _losses_without(run: Run) -> tuple[float, float]:
    """Return the loss of the second half without the group of the strongest heads, and without
    random ones."""
    at = run["ablation/heads"].tolist().index(int(run["ablation/group"]))
    return (
        float(run["ablation/strongest"][:, at, 1].mean()),
        float(run["ablation/random"][:, at, 1].mean()),
    )


def _without(run: Run, view: View) -> str:
    strongest, random = _losses_without(run)
    group = int(run["ablation/group"])
    return (
        f"Without the {group} strongest the second half costs {strongest:.1f} nats, without "
        f"{group} random ones {random:.1f}."
    )


def _which_cost(run: Run, view: View) -> int:
    """Return which third of the way from the second half's loss to the first's is lost."""
    first, second = (float(values.mean()) for values in half_losses(run))
    share = (_losses_without(run)[0] - second) / (first - second)
    return 0 if share < 1 / 3 else 1 if share < 2 / 3 else 2


def _best(run: Run) -> float:
    at = run["best/offset"].tolist().index(int(run["pairs/offset"]))
    return float(run["best/recall"][:, at].mean())


def _pair(run: Run, view: View) -> str:
    first, second = run.names("best")
    return (
        f"Head {first} writes, head {second} asks: {_best(run):.0%} of the tokens are found, "
        f"{_best(run) / chance(run):.0f} times chance."
    )


def _which_recall(run: Run, view: View) -> int:
    times = _best(run) / chance(run)
    return 0 if times < 3 else 1 if _best(run) < HALF else 2


def _copies(run: Run, view: View) -> str:
    directly = float(run["copy/directly"][:, 0].mean())
    says = float(run["copy/says"][:, run.names("moved").index("strongest")].mean())
    like = "as the paper's W_O² does" if directly > HALF else "unlike the paper's W_O²"
    return (
        f"Read directly, what the strongest head writes recalls {directly:.1%} of the tokens, "
        f"{like}. Where the strongest heads are made to look elsewhere, {says:.0%} of the queries "
        "say what stands there."
    )


BEATS = (
    Beat("start", _start, LAST, ("losses",)),
    Beat("layers", _layers, _readable, ("losses", "lens")),
    Beat(
        "heads",
        _heads,
        LAST,
        ("heads",),
        {"score": "followers"},
        ask=Question(
            "How many of this model's heads look mostly at what followed?",
            ("One, or none", "Up to a fifth of them", "More than a fifth"),
            _which_number,
            _heads,
            "Many heads share the work, as four heads of the full transformer do. Heads are cheap, "
            "and nothing in the training rewards that one does it alone.",
            ("heads", HEADLINE),
        ),
    ),
    Beat(
        "without",
        _without,
        LAST,
        ("without",),
        ask=Question(
            "Take the strongest of these heads away: how much of what the context saves is lost?",
            ("Less than a third", "A third to two thirds", "More than two thirds"),
            _which_cost,
            _without,
            "What is learned of random tokens goes through these heads alone. With real text much "
            "would remain: induction heads are not all of in-context learning (Yin and Steinhardt, "
            "2025).",
            ("without",),
        ),
    ),
    Beat(
        "pair",
        _pair,
        LAST,
        ("pairs",),
        ask=Question(
            "How many tokens does W_K² of the best pair of heads find, asked as in the paper?",
            ("No more than chance", "More than chance, less than half", "More than half"),
            _which_recall,
            _pair,
            "The memory is there, in one pair among hundreds. It competes here with hundreds of "
            "tokens; a text holds few of them at a time.",
            ("pairs",),
        ),
    ),
    Beat("close", _copies, FIRST, ("copying", "moved"), drawer=MEMORIES),
)

TRIES = (
    Try("Which heads look at the token before?", fields={"score": "previous"}, marks=("heads",)),
    Try("What would the model say halfway up?", step=20, drawer=TOKENS, marks=("tokens",)),
    Try(
        "See a head on abcXabcXab",
        fields={"passage": "pattern"},
        marks=("one", "losses"),
    ),
    Try("How does the paper's own head look here?", "planted", marks=("heads", "pairs")),
    Try("How far apart may the tokens be?", drawer=MEMORIES, marks=("by_offset",)),
)

STORY = Story(Task(_task, EXAMPLE), BEATS, TRIES)
