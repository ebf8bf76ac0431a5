"""The numbers in words.md, the steps at which its beats come, and which answers are right."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from icl_core.contract.experiment import CannotDraw, Run
from icl_core.contract.seeds import of_seed, seed_shown
from icl_core.contract.statistics import still_falling
from icl_core.contract.story import first_at
from icl_core.contract.visitor import in_words
from icl_core.contract.words import Reading, Words
from icl_core.papers.birth.induction.grafted import (
    achieved,
    heads,
    known_accuracy,
    replaced,
    wanted,
)
from icl_core.papers.birth.induction.load_run import (
    accuracy_at,
    at_step,
    milestones,
    origin,
    step_shown,
)
from icl_core.papers.birth.induction.settings import Config, View
from icl_core.papers.birth.shared.captions import example_of
from icl_core.papers.birth.shared.head_maps import Heads, at_snapshot
from icl_core.papers.birth.shared.probes import early_positions

WHOLE = 40  # letters that a list of what is replaced may have
# the milestones of the three matrices, in the order of the choices
ORDER = ("W_K¹ early", "W_K²", "W_O²")
# attention is called even if its largest weight is at most so many times the uniform one
EVEN = 2.0


def headline(run: Run, view: View) -> str:
    """Return what you see at the step shown: where the two layers look in the run's example, and
    the model's accuracy."""
    when = WORDS.text("when", run, view)
    if wanted(run.config, view):
        return _headline_replaced(of_seed(run, seed_shown(run, view)), view, when)
    maps = None
    if run.config.trains:
        with suppress(CannotDraw):  # a run that holds no example
            maps = at_snapshot(run, run.snapshot_at(view))
    if maps is None or maps.attention1 is None:
        return WORDS.text("as_trained", run, view, when=when)
    back, finds = _layer_1_looks_back(maps), _layer_2_finds(maps)
    return WORDS.text("looking", run, view, when=when, back=back, finds=finds)


def _headline_replaced(run: Run, view: View, when: str) -> str:
    """Return what the model achieves with the view's replacements: on the test set at the last
    snapshot, and where that is known; else on the sequence of the stage."""
    parts = replaced(run.config, view)
    listed = in_words(parts)
    if len(listed) > WHOLE:
        listed = WORDS.text("many", count=len(parts))
    numbers: dict[str, Any] = {"when": when, "parts": listed}
    with suppress(CannotDraw):  # the panels say what cannot be read
        if known_accuracy(run, view) is not None:
            return WORDS.text("replaced", run, view, **numbers)
        hits, count = heads(run, view).right
        return WORDS.text("replaced_on_stage", hits=hits, count=count, **numbers)
    return WORDS.text("replaced_unread", **numbers)


def measured(view: View) -> str:
    """Return the name of the accuracy that the view asks for."""
    return "accuracy_new" if view.measure == "new" else "accuracy"


def _baseline(name: str) -> Reading:
    return lambda run, view: float(run[f"baseline/{name}"][0])


def _accuracy(run: Run, view: View) -> float:
    return accuracy_at(run, run.step(view))


def _unchanged(run: Run, view: View) -> float:
    """Return the accuracy on the test set without the view's replacements."""
    return achieved(run, View(snapshot=view.snapshot))["accuracy"]


def _one_layer_loss(run: Run) -> np.ndarray:
    """Return the loss [steps] of the single layer that is drawn beside two; empty if there is
    none."""
    return run.tensors.get("one_layer/in_context_loss", np.array([]))


def _loss(index: int) -> Reading:
    """Return the reading of the loss in context at an evaluation."""
    return lambda run, view: np.nanmean(run["curve/in_context_loss"][:, index])


def _uneven_at_start(run: Run, view: View) -> bool:
    names = ("reading/attention1", "reading/attention2")  # one layer has no attention1
    return any(_largest_weight(run[name][0]) > EVEN for name in names if name in run.tensors)


def _largest_weight(attention: np.ndarray) -> float:
    """Return the largest weight of a row in units of an even one, the mean over the rows of a map
    [T, T] that have four keys or more."""
    largest = [attention[row].max() * (row + 1) for row in range(3, len(attention))]
    return float(np.mean(largest))


def _half_steps(run: Run) -> list[tuple[float, str]]:
    """Return the step at which each of ORDER recalls half of its pairs, the first one first."""
    return sorted((step, name) for name, step in milestones(run).items() if name in ORDER)


def _later_memories(run: Run, view: View) -> str:
    early = f"W_K¹ (first {early_positions(run.config.T)} positions)"
    later = _half_steps(run)[1:]
    return ", ".join(f"{early if name == ORDER[0] else name} at {step:.0f}" for step, name in later)


def _first_of(run: Run) -> int | None:
    """Return which of ORDER recalls half of its pairs first; None if none ever does."""
    steps = [milestones(run).get(name, np.inf) for name in ORDER]
    return int(np.argmin(steps)) if min(steps) < np.inf else None


def _output_first(run: Run) -> float | None:
    """Return the step at which W_O2 recalls half of its pairs, if it is the first that does."""
    return milestones(run)[ORDER[2]] if _first_of(run) == 2 else None


def _looks_back(run: Run) -> float | None:
    """Return the step of the first snapshot where layer 1 puts most of its attention on the
    character before; None if there is none."""
    return _first(run, _layer_1_looks_back)


def _layer_1_looks_back(maps: Heads) -> bool:
    return maps.attention1 is not None and np.diagonal(maps.attention1, -1).mean() > 0.5


def _finds(run: Run) -> float | None:
    """Return the step of the first snapshot where layer 2 puts most of its attention on the
    characters to copy; None if there is none."""
    return _first(run, _layer_2_finds)


def _layer_2_finds(maps: Heads) -> bool:
    on_answers = sum(maps.attention2[query, key] for query, key, _ in maps.where)
    return on_answers > 0.5 * maps.right[1]


def _first(run: Run, holds: Callable[[Heads], Any]) -> float | None:
    """Return the step of the first snapshot at which a condition holds in the stage's own sequence;
    None if there is none."""
    snapshots = (heads(run, View(snapshot=index)) for index in range(len(run.snapshot_steps)))
    return first_at(run.snapshot_steps, map(holds, snapshots))


def _repeated(run: Run, view: View) -> str:
    """Return the first character of the stage's own sequence whose next one the context tells."""
    return _first_answer(run, view)[0]


def _copied(run: Run, view: View) -> str:
    """Return the character that follows it."""
    return _first_answer(run, view)[1]


def _first_answer(run: Run, view: View) -> tuple[str, str]:
    maps = heads(run, View(snapshot=run.snapshot_at(view)))
    return next(
        (character, follows)
        for character, follows in zip(maps.shown, maps.truth, strict=True)
        if follows
    )


WORDS = Words(
    __file__,
    Config,
    View,
    readings={
        "finished": lambda run, view: run.finished,
        "step": lambda run, view: run.step(view),
        "at_step": at_step,
        "origin": lambda run, view: origin(run),
        # of the setting
        "all_positions": lambda run, view: run.config.positions == "all",
        "random_triggers": lambda run, view: run.config.triggers == "random",
        "early_positions": lambda run, view: early_positions(run.config.T),
        "early_keys": lambda run, view: early_positions(run.config.T) - 1,
        # accuracies in context: at the step shown, by the measure of the view, and elsewhere
        "accuracy": _accuracy,
        "accuracy_measured": lambda run, view: accuracy_at(
            run, step_shown(run, view), measured(view)
        ),
        "accuracy_at_start": lambda run, view: accuracy_at(run, run.snapshot_steps[0]),
        "accuracy_at_end": lambda run, view: accuracy_at(run, run.snapshot_steps[-1]),
        "repeats": lambda run, view: _accuracy(run, view) < float(run["baseline/repeat"][0]) + 0.05,
        "repeat": _baseline("repeat"),
        "best_in_context": _baseline("best_in_context"),
        "one_layer_accuracy": _baseline("one_layer"),
        "several_seeds": lambda run, view: len(run["curve/accuracy"]) > 1,
        # with the view's replacements, and without them
        "replaced": lambda run, view: bool(wanted(run.config, view)),
        "W_F_replaced": lambda run, view: "W_F" in wanted(run.config, view),
        "accuracy_left": lambda run, view: achieved(run, view)["accuracy"],
        "accuracy_unchanged": _unchanged,
        # on the sequence of the stage
        "repeated": _repeated,
        "copied": _copied,
        "uneven_at_start": _uneven_at_start,
        # losses, in nats
        "loss_at_start": _loss(0),
        "loss_at_end": _loss(-1),
        "one_layer_steps": lambda run, view: len(_one_layer_loss(run)),
        "one_layer_falls": lambda run, view: bool(still_falling(_one_layer_loss(run)[None])),
        "has_bigrams": lambda run, view: "curve/recall_kl_W_F" in run.tensors,
        "bigrams_missed": lambda run, view: float(run["curve/recall_kl_W_F"][0, 0]),
        # the order in which the memories form
        "first_memory": lambda run, view: _half_steps(run)[0][1],
        "first_half": lambda run, view: _half_steps(run)[0][0],
        "later_memories": _later_memories,
    },
    at={"output": _output_first, "back": _looks_back, "find": _finds},
    right={
        "output": lambda run, view: _first_of(run) or 0,
        "zero": lambda run, view: int(np.digitize(achieved(run, view)["accuracy"], (0.25, 0.75))),
    },
    done={"close": lambda view: view.graft_W_O2 == "zero"},
    example=example_of,
)
