"""The story of the time to the head."""

from collections.abc import Callable

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.contract.story import HEADLINE, Beat, Question, Story, Task, Try
from icl_core.papers.birth.length.arrival_times import doubling, slope, times, written
from icl_core.papers.birth.length.settings import REPEATS_OF, Config, View, lengths_of
from icl_core.papers.birth.shared.captions import EXAMPLE

# how many times as long it takes: about as long below the first, about four times above the second
BOUNDS = (1.5, 3.0)
CHOICES = ("About as long", "About twice as long", "About four times as long")
SEEN = ("growth", "accuracy", "w_k2", "w_k1", HEADLINE, "table")


def _task(config: Config) -> str:
    lengths = ", ".join(map(str, lengths_of(config)))
    if not config.in_the_papers_task:
        return (
            f"A sequence of T = {lengths} characters ends with a trigger that has come before, "
            f"{REPEATS_OF[config.repeats]}; the model learns to say what followed it. We count the "
            "training steps until its induction head has formed."
        )
    return (
        f"The model learns to continue “ab…a” with “b”, a prediction “in context”, from "
        f"sequences of T = {lengths} characters. We count the training steps until its induction "
        "head has formed."
    )


def _longer(run: Run, measure: str, optimiser: str) -> int:
    """Return which of CHOICES comes true when the length is doubled."""
    factor = np.nan_to_num(doubling(run, measure, optimiser), nan=1.0)
    return int(np.digitize(factor, BOUNDS))


def _times(run: Run, measure: str, optimiser: str) -> str:
    """Return the geometric means over seeds of the steps at every length, in words."""
    log_steps = np.log(np.maximum(times(run, measure, optimiser), 1.0))  # (seeds, lengths)
    means = np.exp(log_steps.mean(0))  # (lengths,)
    return ", ".join(f"{steps:.0f}" if np.isfinite(steps) else "never" for steps in means)


def _answer(measure: str, optimiser: str) -> Callable[[Run, View], str]:
    """Return the text that answers how much longer a measure takes at twice the length."""

    def text(run: Run, view: View) -> str:
        lengths = ", ".join(map(str, run["task/lengths"]))
        longer = doubling(run, measure, optimiser)
        steps = f"At T = {lengths} it takes {_times(run, measure, optimiser)} steps. "
        if np.isnan(longer):
            return steps + "Quadratic growth would take four times as many for twice the length."
        return steps + (
            f"Twice the length takes {longer:.1f} times as many: a slope of "
            f"{written(slope(run, measure, optimiser))} on log axes. Quadratic growth would take "
            "four times as many, a slope of 2."
        )

    return text


def _shares(run: Run, view: View) -> str:
    if run.config.repeats in ("1", "2", "4"):
        return (
            "There are as many places to copy from whatever the length, so even attention puts "
            f"{float(run['task/even'][0]):.1%} on them at T = {run['task/lengths'][0]} and "
            f"{float(run['task/even'][-1]):.1%} at T = {run['task/lengths'][-1]}: the signal that "
            "starts the head fades with the length."
        )
    first = float(run["task/even"][0])
    last = float(run["task/even"][-1])
    short = int(run["task/lengths"][0])
    long = int(run["task/lengths"][-1])
    return (
        "In this task a longer sequence also repeats its triggers more often. Even attention puts "
        f"{first:.0%} on the answer at T = {short} and {last:.0%} at T = {long}: the signal that "
        "starts the head hardly fades."
    )


def _stores(run: Run, view: View) -> str:
    longer = doubling(run, "W_K1", "adamw")
    text = "W_K¹ has a pair to store for every position."
    if np.isfinite(longer):
        text += f" With AdamW that takes {longer:.1f} times as long for twice the length."
    return text


def _matches(run: Run, view: View) -> str:
    return (
        "For W_K², which stores a pair for every character, the slopes are "
        f"{written(slope(run, 'W_K2', 'sgd'))} with SGD and {written(slope(run, 'W_K2', 'adamw'))} "
        "with AdamW. The number of characters stays the same."
    )


BEATS = (
    Beat(
        "wait",
        "A head has formed, we say, when 80% of the predictions in context are right: one layer, "
        "which has no head, stays well below that.",
        None,
        ("growth", "accuracy"),
        {"until": "accuracy", "optimiser_shown": "sgd"},
        ask=Question(
            "With SGD, take sequences twice as long. How many steps does the head need now?",
            CHOICES,
            lambda run, view: _longer(run, "accuracy", "sgd"),
            _answer("accuracy", "sgd"),
            "Musat et al. find four times as long in a task of their own. How the signal fades "
            "with the length depends on how often a sequence repeats what there is to copy.",
            SEEN,
        ),
    ),
    Beat("why", _shares, None, ("even", "growth"), {"until": "accuracy", "optimiser_shown": "sgd"}),
    Beat(
        "positions",
        _stores,
        None,
        ("growth", "w_k1"),
        {"until": "W_K1", "optimiser_shown": "adamw"},
        ask=Question(
            "W_K¹ stores, for each position, the one before it. We wait until it recalls half of "
            "the first quarter of them. Twice the length, with AdamW: how much longer?",
            CHOICES,
            lambda run, view: _longer(run, "W_K1", "adamw"),
            _answer("W_K1", "adamw"),
            "Twice the length means twice as many pairs to store, and more keys among which the "
            "right one must win. In short sequences they are stored long before accuracy is 80%, "
            "in long ones at about the same time.",
            SEEN,
        ),
    ),
    Beat(
        "close",
        "So there is no one time to the head: it depends on what is counted, on the task and on "
        "the optimiser.",
        None,
        ("growth",),
        {"until": "accuracy", "optimiser_shown": "sgd"},
        "View",
        do="Below, wait for W_K² instead.",
        done=lambda view: view.until == "W_K2",
        then=_matches,
    ),
)

TRIES = (
    Try("Wait for W_K¹, with SGD", fields={"until": "W_K1"}, marks=("growth", "w_k1")),
    Try(
        "One trigger per sequence: does the length matter more?",
        fields={"K": 1},
        marks=("growth", "even"),
    ),
    Try("One place to copy from: now it is the square", "once", marks=("growth", "even")),
    Try("The same, with ever more places", "one in sixteen", marks=("growth", "even")),
    Try("See every slope", drawer="Every slope", marks=("table",)),
    Try("The full transformer, where everything learns", "full", marks=("growth", "accuracy")),
    Try("Four lengths, with the vocabulary of the paper", "all lengths", marks=("growth",)),
)

STORY = Story(Task(_task, EXAMPLE), BEATS, TRIES)
