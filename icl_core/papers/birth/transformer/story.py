"""What is told of the full transformer: its task, the beats of the training with four heads a
layer, what to try."""

from icl_core.contract.experiment import Run
from icl_core.contract.story import FIRST, HEADLINE, LAST, MARKS, Beat, Question, Story, Try
from icl_core.papers.birth.shared.behaviour import INDUCTION, PREVIOUS
from icl_core.papers.birth.shared.captions import TASK
from icl_core.papers.birth.shared.circuit_panels import CIRCUIT
from icl_core.papers.birth.transformer.draw.ablation import measure_replaced, named
from icl_core.papers.birth.transformer.draw.stage import accuracy_at
from icl_core.papers.birth.transformer.load_run import Head, forms, last_heads, of_role
from icl_core.papers.birth.transformer.settings import View

# the drawers
ONE = "One head"
REPLACE = "Replace heads"
CURVES = "All curves"
SINGLE = "One layer"
SECOND = "2.1, 2.2, 2.3, 2.4"  # the heads of layer 2


def _start(run: Run, view: View) -> str:
    return (
        "Now everything is trained: embeddings, queries, values, feed-forward layers, and "
        f"{run.config.heads} heads per layer. Before training no head prefers any position; "
        f"{accuracy_at(run, 0):.0%} of the predictions are right."
    )


def _in_layer_1(run: Run) -> list[Head]:
    return [head for head in last_heads(run) if head.name.startswith("1.")]


def _how_many(run: Run, view: View) -> int:
    count = len(of_role(_in_layer_1(run), PREVIOUS))
    return 0 if count == 1 else 2 if count == run.config.heads else 1


def _which_back(run: Run, view: View) -> str:
    heads = _in_layer_1(run)
    count = len(of_role(heads, PREVIOUS))
    first, second = sorted(heads, key=lambda head: -head.previous)[:2]
    return (
        f"{count} of {len(heads)}: head {first.name} puts {first.previous:.0%} of "
        f"its attention on the previous character where layer 2 reads; the next of them, "
        f"{second.name}, {second.previous:.0%}."
    )


def _formed(run: Run) -> float | None:
    """Return the step by which some head looks one back and some finds what followed; None if one
    of these never happens."""
    steps = [forms(run, role) for role in (PREVIOUS, INDUCTION)]
    return max(step for step in steps if step is not None) if None not in steps else None


def _found(run: Run, view: View) -> str:
    heads = of_role(last_heads(run), INDUCTION)
    names = ", ".join(head.name for head in heads)
    return (
        f"Layer 2 finds what followed, and there {len(heads)} heads come to do it: {names}. Such a "
        "model is redundant: from its maps alone you cannot tell which head matters."
    )


def _accuracies_without(run: Run, heads: list[str]) -> list[float]:
    """Return the accuracy with each of some heads alone replaced by its mean."""
    names = run.names("heads")
    return [float(run["effect/mean"][1 + names.index(name), 0]) for name in heads]


def _without_back(run: Run) -> float:
    """Return the accuracy with the head that looks one back most replaced by its mean."""
    head = max(last_heads(run), key=lambda head: head.previous)
    return _accuracies_without(run, [head.name])[0]


def _needed(run: Run, view: View) -> str:
    names = [name for name in run.names("heads") if name.startswith("2.")]
    accuracies = _accuracies_without(run, names)
    return (
        f"{_without_back(run):.0%} stay right, instead of {float(run['effect/mean'][0, 0]):.0%}. "
        f"Replace one head of layer 2 instead, and {min(accuracies):.0%} to "
        f"{max(accuracies):.0%} stay right."
    )


def _thirds(share: float) -> int:
    return 0 if share < 0.5 else 1 if share < 0.75 else 2


def _says_other(run: Run, layer: int) -> float:
    """Return how often the other output is said, with all heads of a layer patched."""
    names = [name for name in run.names("heads") if name.startswith(f"{layer}.")]
    return measure_replaced(run, names, "patch")["other"]


def _which_layer(run: Run, view: View) -> int:
    by_first = _says_other(run, 1) > 0.5
    by_second = _says_other(run, 2) > 0.5
    return 2 if by_first == by_second else 1 if by_second else 0


def _patched(run: Run, view: View) -> str:
    first = _says_other(run, 1)
    second = _says_other(run, 2)
    return (
        "With the heads of layer 2 from the other sequence, the model says the other output "
        f"{second:.0%} of the time; with those of layer 1, {first:.0%}."
    )


def _all_second(run: Run, view: View) -> str:
    measures = measure_replaced(run, named(SECOND), "mean")
    return (
        f"{measures['accuracy']:.0%} stay right. The loss elsewhere, {measures['global_loss']:.2f} "
        "nats, hardly needs them: bigrams can be predicted without looking back."
    )


BEATS = (
    Beat("start", _start, FIRST, ("maps", "accuracy")),
    Beat(
        "back",
        "One head is enough to find the previous character: once it has put a copy of the "
        "previous character into the stream, a second copy is of little use.",
        _formed,
        ("maps", "doing"),
        ask=Question(
            "Layer 1 has four heads. How many of them come to find the previous character?",
            ("One", "Two or three", "All four"),
            _how_many,
            _which_back,
            "Every head could learn it. But whichever is ahead takes the loss down, and with it "
            "the others' reason to follow: they stop early or never begin. In its Figure 11 the "
            "paper sees one.",
            ("maps", "doing", "needed", HEADLINE, MARKS),
        ),
    ),
    Beat("find", _found, LAST, ("maps", "doing")),
    Beat(
        "needed",
        "What one head does alone, no other makes up for. What several heads share, they can do "
        "without one of them.",
        LAST,
        ("needed",),
        ask=Question(
            "After the training, replace the head that finds the previous character by its mean "
            "output. How many predictions stay right?",
            ("Less than half", "Half to three quarters", "More than three quarters"),
            lambda run, view: _thirds(_without_back(run)),
            _needed,
            "Without a copy of the previous character, no head of layer 2 finds the right place. "
            "A map shows where a head looks; only taking it away shows whether that matters.",
            ("needed",),
            there=True,
        ),
    ),
    Beat(
        "patch",
        "Layer 1 says where to look, layer 2 brings what stands there.",
        LAST,
        ("replaced",),
        {"replaced": SECOND, "by": "patch"},
        REPLACE,
        Question(
            "Take a second sequence, the same but for what follows each trigger. Give the heads "
            "of one layer their outputs from there. Which layer makes the model say the other "
            "sequence's output?",
            ("Layer 1", "Layer 2", "Either, or neither"),
            _which_layer,
            _patched,
            "At the character that follows a trigger, the one before it is the trigger in both "
            "sequences. So layer 1 marks the same places in both; which character stands there is "
            "only read in layer 2.",
            ("replaced", "effects"),
            there=True,
        ),
    ),
    Beat(
        "close",
        "You have seen heads share out the work, and what each is needed for.",
        LAST,
        ("replaced",),
        {"replaced": "1.1", "by": "mean"},
        REPLACE,
        do=f"Now replace all heads of layer 2 by their means: type {SECOND}.",
        done=lambda view: view.by == "mean" and set(named(view.replaced)) == set(named(SECOND)),
        then=_all_second,
    ),
)

TRIES = (
    Try("One head per layer: which does what?", "one head", marks=("maps", "needed")),
    Try(
        "Fixed triggers: does the head look back for other characters too?",
        "fixed",
        drawer=CURVES,
        marks=("groups",),
    ),
    Try(
        "Why does one layer fail? See what it attends to and what it predicts",
        drawer=SINGLE,
        marks=("one_layer",),
    ),
    Try(
        "Look at one head, with letters", fields={"layer": 2, "head": 3}, drawer=ONE, marks=("one",)
    ),
    Try(
        "Which path says the answer, and which one overrules it?", drawer=CIRCUIT, marks=("paths",)
    ),
    Try("Train three layers of two heads", fields={"layers": 3, "heads": 2}, marks=("maps",)),
)

STORY = Story(TASK, BEATS, TRIES)
