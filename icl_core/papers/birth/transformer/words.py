"""The numbers in words.md, which answers are right, and when the beats come."""

from typing import Any

from icl_core.contract.experiment import Run
from icl_core.contract.words import Reading, Words
from icl_core.papers.birth.shared.behaviour import INDUCTION, PREVIOUS
from icl_core.papers.birth.shared.captions import example_of
from icl_core.papers.birth.transformer.load_run import (
    Head,
    accuracy_at,
    forms,
    heads_shown,
    last_heads,
    measure_replaced,
    named,
    of_role,
    single_layer,
)
from icl_core.papers.birth.transformer.settings import Config, View


def _shown(run: Run, view: View) -> list[Head]:
    """Return what the heads do at the snapshot shown."""
    return heads_shown(run, run.snapshot_at(view))


def _count_shown(role: str) -> Reading:
    """Return the reading that counts the heads of a role at the snapshot shown."""
    return lambda run, view: len(of_role(_shown(run, view), role))


def _of_layer(run: Run, layer: int) -> list[str]:
    """Return the ids of a layer's heads."""
    return [name for name in run.names("heads") if name.startswith(f"{layer}.")]


def _in_layer_1(run: Run) -> list[Head]:
    """Return the heads of layer 1 after the training, those that look back most first."""
    names = _of_layer(run, 1)
    heads = [head for head in last_heads(run) if head.name in names]
    return sorted(heads, key=lambda head: -head.previous)


def _previous_in_layer_1(run: Run, view: Any) -> int:
    return len(of_role(_in_layer_1(run), PREVIOUS))


def _finders(run: Run) -> list[str]:
    """Return the ids of the heads that find what followed after the training."""
    return [head.name for head in of_role(last_heads(run), INDUCTION)]


def _accuracies_without(run: Run, heads: list[str]) -> list[float]:
    """Return the accuracy with each of some heads alone replaced by its mean."""
    names = run.names("heads")
    return [float(run["effect/mean"][1 + names.index(name), 0]) for name in heads]


def _without_back(run: Run, view: Any) -> float:
    """Return the accuracy with the head that looks one back most replaced by its mean."""
    head = max(last_heads(run), key=lambda head: head.previous)
    return _accuracies_without(run, [head.name])[0]


def _shares_the_work(run: Run, view: View) -> bool:
    """Return whether, at the end of the training, one head alone is needed, which finds the
    previous character, while several find what followed and each can be done without."""
    if not run.finished or run.snapshot_at(view) < len(run.snapshot_steps) - 1:
        return False
    needed = [
        head.name
        for head in last_heads(run)
        if _accuracies_without(run, [head.name])[0] < NEEDED * float(run["effect/mean"][0, 0])
    ]
    previous = [head.name for head in of_role(last_heads(run), PREVIOUS)]
    return len(needed) == 1 and needed[0] in previous and len(_finders(run)) > 1


def _other_by(layer: int) -> Reading:
    """Return the reading of how often the other output is said, with all heads of a layer
    patched."""
    return lambda run, view: measure_replaced(run, _of_layer(run, layer), "patch")["other"]


def _without_layer_2(measure: str) -> Reading:
    """Return the reading of a measure with all heads of layer 2 replaced by their means."""
    return lambda run, view: measure_replaced(run, SECOND, "mean")[measure]


def _single(name: str) -> Reading:
    """Return the reading of one share of what a single layer predicts."""
    return lambda run, view: single_layer(run)[name]


def _both_found(run: Run) -> float | None:
    """Return the step by which some head finds the previous character and some finds what followed;
    None if one of these never happens."""
    steps = [forms(run, role) for role in (PREVIOUS, INDUCTION)]
    return max(step for step in steps if step is not None) if None not in steps else None


def _how_many(run: Run, view: Any) -> int:
    count = _previous_in_layer_1(run, view)
    return 0 if count == 1 else 2 if count == run.config.heads else 1


def _how_many_right(run: Run, view: Any) -> int:
    share = _without_back(run, view)
    return 0 if share < 0.5 else 1 if share < 0.75 else 2


def _which_layer(run: Run, view: Any) -> int:
    by_first = _other_by(1)(run, view) > 0.5
    by_second = _other_by(2)(run, view) > 0.5
    return 2 if by_first == by_second else 1 if by_second else 0


NEEDED = 0.75  # a head is, if less than this share of the accuracy is left without it
SECOND = named("2.1, 2.2, 2.3, 2.4")  # the heads of layer 2

WORDS = Words(
    __file__,
    Config,
    View,
    readings={
        "finished": lambda run, view: run.finished,
        "has_snapshots": lambda run, view: bool(run.snapshot_steps),
        "has_ended": lambda run, view: run.finished and bool(run.snapshot_steps),
        # at the step shown
        "step": lambda run, view: run.step(view),
        "accuracy_now": lambda run, view: accuracy_at(run, run.step(view)),
        "head_count": lambda run, view: len(run.names("heads")),
        "previous_heads": _count_shown(PREVIOUS),
        "induction_heads": _count_shown(INDUCTION),
        "shares_the_work": _shares_the_work,
        "most_previous": lambda run, view: max(head.previous for head in _shown(run, view)),
        # fewer than by chance: none
        "most_followers": lambda run, view: max(0.0, *(head.found for head in _shown(run, view))),
        "accuracy_before": lambda run, view: accuracy_at(run, 0),
        # after the training
        "previous_in_layer_1": _previous_in_layer_1,
        "most_back": lambda run, view: _in_layer_1(run)[0].name,
        "most_back_share": lambda run, view: _in_layer_1(run)[0].previous,
        "next_back": lambda run, view: _in_layer_1(run)[1].name,
        "next_back_share": lambda run, view: _in_layer_1(run)[1].previous,
        "finders": lambda run, view: len(_finders(run)),
        "finder_names": lambda run, view: ", ".join(_finders(run)),
        # accuracies with heads replaced by their means
        "with_all_heads": lambda run, view: float(run["effect/mean"][0, 0]),
        "without_back": _without_back,
        "least_without_one_of_layer_2": lambda run, view: min(
            _accuracies_without(run, _of_layer(run, 2))
        ),
        "most_without_one_of_layer_2": lambda run, view: max(
            _accuracies_without(run, _of_layer(run, 2))
        ),
        "right_without_layer_2": _without_layer_2("accuracy"),
        "loss_without_layer_2": _without_layer_2("global_loss"),
        # how often the other output is said, all heads of a layer patched
        "other_by_layer_1": _other_by(1),
        "other_by_layer_2": _other_by(2),
        # of a single layer
        "count_is_right": _single("guess"),
        "right_where_counting_is": _single("where_right"),
        "right_where_counting_fails": _single("where_wrong"),
    },
    at={"both_found": _both_found},
    right={"back": _how_many, "needed": _how_many_right, "patch": _which_layer},
    done={"close": lambda view: view.by == "mean" and set(named(view.replaced)) == set(SECOND)},
    example=example_of,
)
