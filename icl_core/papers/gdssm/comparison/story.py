"""What is told of the models of sequences."""

from typing import Any

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.contract.story import HEADLINE, Beat, Question, Story, Task, Try, first_at
from icl_core.figures import number_text
from icl_core.papers.gdssm.comparison.load_run import Entry, entries, tasks_seen
from icl_core.papers.gdssm.comparison.settings import Config
from icl_core.papers.gdssm.shared.captions import EXAMPLE
from icl_core.papers.gdssm.shared.sequence_models.all_models import learners
from icl_core.papers.gdssm.shared.sequence_models.training_end import NEAR, levels, watched

THREE = ("s5", "mamba", "griffin")


def _entry(run: Run, id: str) -> Entry:
    """Return the model of that id. Raises StopIteration if the run has none."""
    return next(entry for entry in entries(run) if entry.model.id == id)


def _ratio(run: Run, id: str) -> float:
    """Return a model's loss over that of one step."""
    return _entry(run, id).loss / levels(run)[1]


def _task(config: Config) -> str:
    holds = "each x and each y" if config.model == "N-D" else "each x"
    return (
        f"A prompt shows {config.N} examples (x, y) of one linear map, with {config.f} numbers in "
        f"{holds}, and asks for the y of a new x. The {len(learners(config))} models read the same "
        "prompts and train on equally many; in the example here x and y are single numbers."
    )


def _who(run: Run, view: Any) -> int:
    return min(2, sum(_ratio(run, id) <= NEAR for id in THREE))


def _who_said(run: Run, view: Any) -> str:
    first, second, third = (
        f"{_entry(run, id).model.short} {number_text(_ratio(run, id), 2)}" for id in THREE
    )
    return (
        f"Loss in units of one gradient step: {first}, {second}, {third}. Up to "
        f"{number_text(NEAR, 2)} counts."
    )


def _arrival(run: Run, id: str) -> float | None:
    """Return the step at which the mean of a model's curve first is as good as one step, None if it
    never is."""
    curve = _entry(run, id).curve
    assert curve is not None
    return first_at(run["curve/step"], curve.mean(0) <= NEAR * watched(run)[1])


def _arrives(run: Run, id: str) -> str:
    """Say when a model comes to one step."""
    step = _arrival(run, id)
    return "not at all" if step is None else f"at step {step:,.0f}"


def _fall(run: Run, view: Any) -> str:
    own, griffin, mamba = (_arrives(run, id) for id in ("gd-ssm-1", "griffin", "mamba"))
    return (
        "Look for plateaus: a model predicts zero until it finds the products, and then it falls. "
        f"The GD-SSM is as good as one step {own}, Griffin {griffin}, Mamba {mamba}. Each has seen "
        f"{tasks_seen(run) / 1e6:.1f} million tasks in the end."
    )


def _sizes(run: Run) -> tuple[int, int]:
    """Return the parameters of the GD-SSM of one layer and of Griffin."""
    return _entry(run, "gd-ssm-1").parameters, _entry(run, "griffin").parameters


def _fewer(run: Run, view: Any) -> int:
    own, other = _sizes(run)
    return 0 if own > 0.5 * other else 1 if own > 0.01 * other else 2


def _fewer_said(run: Run, view: Any) -> str:
    own, other = _sizes(run)
    return (
        f"{own} numbers against Griffin's {other:,}: one for every "
        f"{float(f'{other / own:.2g}'):,.0f}."
    )


def _layers(run: Run, view: Any) -> str:
    one, two = (number_text(_ratio(run, f"linear-{layers}"), 2) for layers in (1, 2))
    return (
        f"A linear transformer of one layer ends at {one} times the loss of one step, and one of "
        f"two layers at {two}. The table tells why: the first layer brings x and y to one place, "
        "and the second multiplies that with the query."
    )


def _close(run: Run, view: Any) -> str:
    own = _entry(run, "gd-ssm-1")
    there = [entry for entry in entries(run) if entry.baseline and _is_there(run, entry)]
    times = min(entry.parameters for entry in there) / own.parameters if there else 1
    return (
        f"On these small tasks {len(there)} other models reach one gradient step, with at least "
        f"{float(f'{times:.2g}'):,.0f} times as many numbers{_later(run, there)}. The paper's "
        "claim is made for ten dimensions: “Try” leads there."
    )


def _others(run: Run) -> int:
    """Return how many baselines reach one step of gradient descent."""
    return sum(bool(entry.baseline) and _is_there(run, entry) for entry in entries(run))


def _is_there(run: Run, entry: Entry) -> bool:
    """Return whether a model reaches one step of gradient descent."""
    return entry.loss <= NEAR * levels(run)[1]


def _later(run: Run, there: list[Entry]) -> str:
    """Say that all of them come there after the GD-SSM. Empty if one does not."""
    own, *others = (
        _arrival(run, id) or np.inf for id in ("gd-ssm-1", *(each.model.id for each in there))
    )
    return ", and later" * (min(others, default=0) > own)


WHO = Question(
    "In the paper no other recurrent model reaches one gradient step. How many of S5, Mamba and "
    "Griffin, three published ones, do here?",
    ("None", "One", "Two or three"),
    _who,
    _who_said,
    "A step takes two products: y with x, and that with the query. S5 multiplies only behind its "
    "state, which is too small. Mamba has places for both. Without a bias in its "
    "read-in its norm hides how large y is (“What each can see”); with one, three of five seeds "
    "come to one step at f = 3. Griffin's second block sees it.",
    (HEADLINE, "ends", "training", "products", "parameters", "rates"),
)
FEWER = Question(
    "How many numbers does the GD-SSM of one layer learn, beside Griffin?",
    ("About as many", "About a tenth", "Less than a hundredth"),
    _fewer,
    _fewer_said,
    "Its windows put x, y and the next x together, and its state multiplies them: what the others "
    "have to learn is built in. That is why it is so quick, and why it can do nothing else.",
    ("parameters",),
)

STORY = Story(
    task=Task(
        _task,
        EXAMPLE,
    ),
    beats=(
        Beat(
            "who",
            "Every dot is one training; the grey line is one gradient step.",
            marks=("ends",),
            ask=WHO,
        ),
        Beat("fall", _fall, marks=("training",)),
        Beat(
            "fewer",
            "If the number of parameters decided, the model that has the fewest would lose most.",
            marks=("parameters",),
            drawer="Sizes and rates",
            ask=FEWER,
        ),
        Beat("layers", _layers, marks=("products",), drawer="To multiply"),
        Beat("close", _close, marks=("ends",)),
    ),
    tries=(
        Try(
            "Ten dimensions, nothing given, as in Figure 6: which models have left predicting "
            "zero?",
            preset="paper size",
            marks=("ends",),
        ),
        Try(
            "Ten dimensions with few of them first, a loss at every x and a bias: which models "
            "have left predicting zero now?",
            preset="Figure 6, with a curriculum",
            marks=("ends",),
        ),
        Try(
            "Ten dimensions, the products given, as in Figure 4 C: which models are there now?",
            preset="1-D",
            marks=("ends",),
        ),
        Try(
            "Three dimensions, with a bias in the read-ins: which models reach one step now?",
            preset="N-D, bias",
            marks=("ends",),
        ),
        Try(
            "What each can see: which models give the same prediction for y and for 3 y?",
            drawer="What each can see",
            marks=("seen",),
        ),
        Try(
            "Half the width, in class: which model suffers first?",
            preset="classroom",
            fields={"width": 0.5},
            marks=("ends",),
        ),
        Try(
            "The norms switched off, in class: does a block need the size of y?",
            preset="classroom",
            fields={"norm": "none"},
            marks=("ends",),
        ),
        Try(
            "The products given, plain models: how near does a linear transformer come to the one "
            "built by hand?",
            preset="classroom",
            fields={"model": "1-D", "form": "plain", "steps": 2000},
            drawer="The step by hand",
            marks=("by hand",),
        ),
    ),
    brief=lambda config: (
        f"{len(learners(config))} models train on the same prompts, with "
        f"{config.f} numbers in each x."
    ),
    seen=lambda run, view: (
        f"With {_entry(run, 'gd-ssm-1').parameters} numbers to learn, the GD-SSM reaches one step "
        f"of gradient descent; {_others(run)} other models reach it with more numbers."
    ),
)
