"""What is told of width and tasks."""

from typing import Any

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.contract.story import HEADLINE, Beat, Question, Story, Task, Try
from icl_core.figures import number_text
from icl_core.papers.gdssm.learns.load_run import base_place, curve, ratios, widths
from icl_core.papers.gdssm.learns.run import OWN
from icl_core.papers.gdssm.learns.settings import Config
from icl_core.papers.gdssm.shared.captions import prompt
from icl_core.papers.gdssm.shared.sequence_models.training_end import LEFT, NEAR, watched

WIDEST = -1


def _others(run: Run) -> list[str]:
    """Return the ids of all models but the GD-SSM."""
    return [id for id in run.names("models") if id != OWN]


def _task(config: Config) -> str:
    example = f"the example has two pairs of y = 2 x, the models have {config.N}"
    query = f"The last x is the query, whose y is asked for ({example})."
    if config.model == "1-D":
        return (
            "Each token holds the product x y of one example and the x that comes next, so that "
            f"one of the two multiplications is done already. {query}"
        )
    return (
        "The tokens are x and y in turn, so that both multiplications are left to learn (below x "
        f"y is given). {query}"
    )


def _count_there(run: Run, place: int) -> int:
    """Return how many other models reach one step at the width at `place`."""
    return sum(ratios(run, id)[:, place].mean() <= NEAR for id in _others(run))


def _wider(run: Run, view: Any) -> int:
    there = _count_there(run, WIDEST)
    return 0 if not there else 2 if there == len(_others(run)) else 1


def _wider_said(run: Run, view: Any) -> str:
    x = widths(run)
    count = len(_others(run))
    few = _count_there(run, 0)
    many = _count_there(run, WIDEST)
    return (
        f"{few or 'None'} of {count} at width {x[0]:.2g}, {many or 'none'} of {count} at width "
        f"{x[WIDEST]:.2g}."
    )


def _leaves(run: Run, place: int) -> tuple[int, int]:
    """Return the fewest and the most tasks after which other models have left predicting zero at a
    width, of those that do."""
    level = (1 - LEFT) * watched(run)[0]
    tasks = run["curve/step"] * run.config.batch
    curves = [curve(run, id, place) for id in _others(run)]
    evaluations = [
        np.flatnonzero(losses.mean(0) < level) for losses in curves if losses is not None
    ]
    first = [int(tasks[at[0]]) for at in evaluations if len(at)]
    return min(first), max(first)


def _sooner(run: Run, view: Any) -> int:
    before, after = (
        np.prod(np.array(_leaves(run, place), float)) ** 0.5 for place in (base_place(run), WIDEST)
    )
    return 0 if after < 0.9 * before else 1 if after <= 1.1 * before else 2


def _sooner_said(run: Run, view: Any) -> str:
    x = widths(run)
    before, after = (
        "{:,} to {:,}".format(*_leaves(run, place)) for place in (base_place(run), WIDEST)
    )
    return (
        f"After {before} tasks at width {x[base_place(run)]:.2g}, after {after} at width "
        f"{x[WIDEST]:.2g}."
    )


def _own(run: Run, view: Any) -> str:
    steps = run.config.steps
    rate = run.config.learning_rate
    return (
        f"The GD-SSM (circles) ends at {number_text(float(ratios(run, OWN).mean()), 2)} times the "
        f"loss of one step here. This is no defeat: all models share one learning rate, {rate:g}, "
        f"and {steps} steps, so that a class can watch, and its few weights need a larger rate or "
        "more steps. Where it gets them, under “Beside other models of sequences”, it reaches one "
        "step."
    )


def _close(run: Run, view: Any) -> str:
    there = _count_there(run, WIDEST)
    return (
        f"For {there} of {len(_others(run))} models you have seen width and tasks decide what "
        "looked like a matter of architecture. And of "
        "the whole paper: a layer that multiplies what it reads learns a step of gradient descent "
        "from a handful of numbers; other models learn one too, given places to multiply, width "
        "and time."
    )


WIDER = Question(
    "At half of 2f + N + 1, so six numbers to hold x, y and the positions, no other model reaches "
    "one step of gradient descent. Make them four times as wide: how many of the eight reach it "
    "in 400 steps?",
    ("None: width is not what they lack", "Some", "All"),
    _wider,
    _wider_said,
    "A model that has to keep x, y and the positions apart needs a direction for each. With fewer "
    "it must lay one over another, whatever its architecture.",
    (HEADLINE, "width"),
)
SOONER = Question(
    "Models of twice the width have four times as many numbers to learn. When do they leave "
    "predicting zero?",
    ("After fewer tasks", "After as many", "After more tasks"),
    _sooner,
    _sooner_said,
    "More weights do not mean that more tasks are needed.",
    ("tasks",),
)

STORY = Story(
    task=Task(
        _task,
        prompt(("", "0.08"), ("−0.5", "0.5"), query="0.3", answer="0.6"),
    ),
    beats=(
        Beat(
            "wider",
            "A line is a model at three widths, and the grey one a step of gradient descent. "
            "Width 1 is about the room that x, y and the positions need.",
            marks=("width",),
            ask=WIDER,
        ),
        Beat("own", _own, marks=("width",)),
        Beat(
            "sooner",
            "These are the trainings of the widest models, over the tasks that each has seen.",
            marks=("tasks",),
            view={"shown": "widest"},
            ask=SOONER,
        ),
        Beat("close", _close, marks=("width", "tasks")),
    ),
    tries=(
        Try(
            "The curves of the narrowest models: which of them fall at all?",
            fields={"shown": "narrowest"},
            marks=("tasks",),
        ),
        Try("Train twice as long: which lines move down?", fields={"steps": 800}, marks=("width",)),
        Try(
            "Widths of ⅓, ½ and 1: where does a model break?",
            fields={"widths": "1/3, 1/2, 1"},
            marks=("width",),
        ),
    ),
)
