"""The story of a trained layer."""

from dataclasses import replace
from typing import Any

from icl_core.contract.experiment import Run
from icl_core.contract.story import FIRST, LAST, Beat, Question, Story, Task, Try, first_from
from icl_core.figures import number_text
from icl_core.papers.gdssm.layer.draw import grafts, input_scale, stage
from icl_core.papers.gdssm.layer.draw.state import held
from icl_core.papers.gdssm.layer.settings import Config, View
from icl_core.papers.gdssm.shared.captions import EXAMPLE
from icl_core.papers.gdssm.shared.load_run import compared, percent

ALIKE = 0.05  # a state this near to the gradient is the gradient
FEW = 3  # pairs that are read before it is asked for
PARTS = ("one_a", "one_Q", "one_q", "one_beta")  # of the layer, which “Graft” replaces
# drawers
BESIDE = "Trained beside constructed"
CURVES = "All curves"
LINE = "-1:-2, -0.8:-1.6, -0.6:-1.2, -0.4:-0.8, -0.2:-0.4, 0.2:0.4, 0.4:0.8, 0.6:1.2, 0.8:1.6, 1:2"


def _becomes(run: Run) -> float | None:
    """Return the snapshot from which on the state after all pairs stays the gradient."""
    alike = [_off(run, View(snapshot=index)) < ALIKE for index in range(len(run.snapshot_steps))]
    return first_from(run.snapshot_steps, alike)


def _off(run: Run, view: Any) -> float:
    """Return how far the state is from the gradient after the pairs that the view asks for."""
    state = held(run, view)
    return state.away[state.shown - 1]


def _learned(run: Run, view: Any) -> str:
    step = run.step(view)
    return (
        f"By step {step} the state is the gradient, to within {percent(_off(run, view))}, though "
        "the layer was trained on the errors of its predictions alone."
    )


def _early(run: Run, view: Any) -> int:
    return 0 if _off(run, view) < ALIKE else 1 if _off(run, view) < 0.5 else 2


def _early_said(run: Run, view: Any) -> str:
    return (
        f"After {view.token} pairs the state is {percent(_off(run, view))} off the gradient of "
        f"those {view.token}."
    )


def _any_point(run: Run, view: Any) -> str:
    return (
        "So the layer can answer a query at any point of the prompt: its state is up to date "
        f"after every pair, though the length of its step is the one for {run.config.N} pairs."
    )


def _grafted(run: Run, view: Any) -> str:
    before, after = (number_text(loss) for loss in grafts.after(run, view))
    formula = number_text(grafts.after(run, replace(view, one_Q="constructed"))[1])
    return (
        f"The loss was {before} and is {after}; predicting zero loses "
        f"{number_text(float(run['baseline/zero'][0]))}. Q picks which products enter the state, "
        f"and now none does. With the formula's Q, y times x, it would be {formula}."
    )


def _task(config: Config) -> str:
    example = "The example has the map y = 2 x."
    if config.f > 1:
        wide = "x and y have" if config.model == "N-D" else "x has"
        example = (
            f"The example has single numbers, y = 2 x; in the model {wide} {config.f} entries."
        )
    return (
        f"A prompt shows {config.N} examples (x, y) of a new linear map and asks for the y of a "
        "new x; a state-space model reads them in turn and sums y xᵀ, products of their entries, "
        f"in its state. {example}"
    )


def _scaled(run: Run, view: Any) -> int:
    trained, _, zero, _ = input_scale.at_scale(run, view)
    return 2 if trained > 1.05 * zero else 1 if trained > 0.95 * zero else 0


def _scaled_said(run: Run, view: Any) -> str:
    trained, _, zero, _ = input_scale.at_scale(run, view)
    return (
        f"Its loss is {number_text(trained, 2)}; that of predicting zero is {number_text(zero, 2)}."
    )


def _close(run: Run, view: Any) -> str:
    away = compared(stage.above(run, view)[0])
    return (
        f"You have seen a layer turn into a learning rule: its loss ends {away} that of one step "
        "of gradient descent, and its weights end as their construction, the ones that a person "
        "would write down."
    )


EARLY = Question(
    f"The layer has read {FEW} pairs of ten. What stands in its state by now?",
    (
        f"The gradient of those {FEW} pairs",
        "Something on the way to it: the gradient forms as the prompt goes on",
        "Nothing like it: the gradient appears only at the query",
    ),
    _early,
    _early_said,
    "The gradient is a sum over pairs. The layer adds one term per pair and forgets none, so it "
    "is right all along.",
    ("state", "exact", "difference", "tokens"),
)
SCALE = Question(
    "Trained on x from −1 to 1, the layer now gets x 1.5 times as large (α = 1.5). Is it better "
    "than predicting zero?",
    (
        "Better",
        "About equal",
        "Worse",
    ),
    _scaled,
    _scaled_said,
    "Its step has one fixed length, learned for α = 1. Larger x make the gradient larger, and the "
    "step goes too far.",
    ("scale",),
)

STORY = Story(
    task=Task(
        _task,
        EXAMPLE,
    ),
    beats=(
        Beat(
            "before",
            "Left the state, beside it the gradient of one descent step: before training they "
            "differ.",
            at=FIRST,
            marks=("state", "exact"),
        ),
        Beat("becomes", _learned, at=_becomes, marks=("state", "exact", "difference")),
        Beat(
            "early",
            _any_point,
            at=LAST,
            marks=("state", "exact", "difference"),
            view={"token": FEW},
            ask=EARLY,
        ),
        Beat(
            "graft",
            "Which part of the layer does it? Take one away and see what is lost.",
            at=LAST,
            marks=("interventions",),
            view=dict.fromkeys(PARTS, "trained"),
            drawer="Graft",
            do="Set Q to zero.",
            done=lambda view: view.one_Q == "zero",
            then=_grafted,
        ),
        Beat(
            "scale",
            "It has learned one step of one length, whatever the prompt.",
            at=LAST,
            marks=("scale",),
            view={"alpha": 1.5},
            drawer=CURVES,
            ask=SCALE,
        ),
        Beat("close", _close, at=LAST, marks=("weights", "training")),
    ),
    tries=(
        Try(
            "Read one pair only, then more: is the state a gradient from the first pair on?",
            fields={"token": 1},
            drawer=BESIDE,
            marks=("tokens",),
        ),
        Try(
            "Set the decay A to zero, so that only the last pair counts: how much of the gain is "
            "left?",
            fields={"one_a": "zero"},
            drawer="Graft",
            marks=("interventions",),
        ),
        Try(
            "Ten points on a line of slope 2. Take half of them away: where does the layer's line "
            "go?",
            preset="one feature",
            fields={"points": LINE},
            drawer="Your own points",
            marks=("prompt",),
        ),
        Try(
            "Two layers: why are they better than two steps of one rate?",
            preset="two layers",
            drawer=BESIDE,
            marks=("steps",),
        ),
        Try(
            "Two layers on scalar labels: why do they not read the tokens [x y, next x]?",
            preset="1-D two layers",
            drawer=BESIDE,
            marks=("second",),
        ),
    ),
    brief="It sees examples of a linear map and predicts one more y.",
    seen=lambda run, view: (
        "A layer that reads its prompt once learned to keep a gradient as its state, to within "
        f"{percent(_off(run, view))}: it takes one step of gradient descent."
    ),
)
