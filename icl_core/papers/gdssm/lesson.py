"""The lesson on a state that is a gradient. Imports no torch until an answer is asked for."""

from icl_core.contract.experiment import Run
from icl_core.contract.lesson import EXPERIMENTS, PRESETS, Exercise, Lesson, Note
from icl_core.contract.story import Try

GRAFT = "Graft"
BESIDE = "Trained beside constructed"
CURVES = "All curves"
MODEL = "The model"
POINTS = "Your own points"
TEST_SCALE = 3.0  # the test scale that is asked for
WORKING = 15  # minutes


def _rate(run: Run) -> float:
    """Return η/N of the construction, the best one on the tasks that were evaluated."""
    return float(run["constructed/beta"][0])


def _best(run: Run) -> str:
    config = run.config
    best = 3 / (config.r**2 * (config.N - 0.2 + config.f))
    return (
        f"Theory gives η/N = 1/(σ²({config.N} − 2 + 1.8 + {config.f})) = {best:.4f}; on the tasks "
        f"that were evaluated it is {_rate(run):.4f}."
    )


def _without_decay(run: Run) -> tuple[float, float]:
    """Return the loss as trained, and with A at zero, as the drawer Graft measures them."""
    from icl_core.papers.gdssm.layer.draw.grafts import after
    from icl_core.papers.gdssm.layer.settings import View

    return after(run, View(one_a="zero"))


def _forgets(run: Run) -> str:
    trained, forgetful = _without_decay(run)
    zero = float(run["baseline/zero"][0])
    share = (zero - forgetful) / (zero - trained)
    return (
        f"The loss rises from {trained:.3f} to {forgetful:.3f}; predicting zero loses {zero:.3f}. "
        f"One pair of {run.config.N} gives {share:.0%} of the gain, more than its tenth: pairs "
        "also disturb each other."
    )


def _losses(run: Run) -> tuple[float, float]:
    """Return two losses at TEST_SCALE: of the layer's step, in closed form, and of predicting
    zero."""
    at = list(run["sweep/alpha"]).index(TEST_SCALE)
    return float(run["sweep/closed"][at]), float(run["sweep/zero"][at])


def _excess(run: Run) -> float:
    """Return the first of these losses over the second."""
    step, zero = _losses(run)
    return step / zero


def _why_excess(run: Run) -> str:
    return (
        f"In closed form it loses {_losses(run)[0]:.0f} where zero loses {_losses(run)[1]:.0f}. "
        "The state grows with the square of x and the query multiplies it once more, while the "
        "step's length stays what it was."
    )


EXERCISES = (
    Exercise(
        "rate",
        "The state is a sum over the ten pairs. A step of gradient descent is that sum times η/N, "
        "the learning rate over the number of pairs. Which η/N is the best? Within 0.002.",
        "for η/N",
        _rate,
        0.002,
        _best,
        "Open “Trained beside constructed”: the note under the weights names η/N.",
    ),
    Exercise(
        "decay",
        "In “Graft”, set the decay A to zero: the state now forgets all pairs but the last. What "
        "does the loss become? To two decimals.",
        "as the loss",
        lambda run: _without_decay(run)[1],
        0.01,
        _forgets,
        "Leave everything else as trained, let the clock stand at its end, and read the bar in "
        "the middle.",
    ),
    Exercise(
        "far",
        "Make every x three times as large as in training (α = 3). How many times the loss of "
        "predicting zero does the layer lose? Within 0.5.",
        "times",
        _excess,
        0.5,
        _why_excess,
        "In “All curves”, set the test scale α to 3. The note gives both losses; divide.",
    ),
)

NOTES = (
    Note(
        6,
        "You may keep one table of numbers while examples (x, y) pass by, one after the other. "
        "Which would you keep?",
        ("“All examples.”", "“The mean of y.”", "“The slope so far.”"),
        "Push the third: which sum gives a slope? ∑ y xᵀ. Write the gradient of the squared error "
        "at zero beside it: they are the same up to a sign. That is all that the layer will have "
        "to find.",
        Try("State and gradient before training", step=0, marks=("state", "exact")),
    ),
    Note(
        8,
        "The layer is trained on the errors of its predictions alone. Will its state be that sum "
        "after three pairs of ten?",
        ("“No, only at the end: that is where it is asked.”", "“Roughly.”", "“Yes.”"),
        "Have them vote, then show the difference after three pairs. It is right all along "
        "because it adds a term a pair and forgets none; being asked at the end forces every "
        "term.",
        Try("After three pairs", fields={"token": 3}, drawer=BESIDE, marks=("tokens",)),
    ),
    Note(
        9,
        "The model has Q, q, A and β. Which of them could you replace by a formula without loss?",
        ("“None: they were trained together.”", "“The decay: it has to be 1.”"),
        "Go through the diagram first, then graft them one by one. Each fits, because the layer "
        "is brought into the formula's units before. Then take A away: forgetting costs most of "
        "the gain; the answer to the second exercise has the numbers.",
        Try("The layer, part by part", drawer=MODEL, marks=("weights",)),
    ),
    Note(
        7,
        "Has it learned to solve regressions, or one step of a certain length? How could you tell "
        "the two apart?",
        ("“Test it on new prompts.”", "“Test it on larger x.”"),
        "New prompts tell nothing, it has never seen one twice. Larger x do: a solver would not "
        "care about the scale. Have them draw the curve before you open the drawer; the answer to "
        f"the third exercise has the numbers. Then leave them {WORKING} minutes for the exercises.",
        Try(
            "The loss against the scale of x",
            fields={"alpha": 1.5},
            drawer=CURVES,
            marks=("scale",),
        ),
    ),
)

LESSON = Lesson(
    name="state-is-gradient",
    title="A state that is a gradient",
    able=(
        "say why a sum of y xᵀ is a gradient, and recognise it in a recurrent layer",
        "take a trained layer apart and tell what each part does",
        "tell a model that has learned a solution from one that has learned one step",
    ),
    experiment="layer",
    preset="layer",
    exercises=EXERCISES,
    notes=NOTES,
    working=WORKING,
    fixed={
        "model": "N-D",
        "recurrence": "row",
        "layers": 1,
        "skip": False,
        "penalty": 0.0,
        "f": 10,
        "N": 10,
        "r": 1.0,
        "optimiser": "ours",
        "batch": 256,
        "raw": False,
    },
    hidden=(PRESETS, EXPERIMENTS, POINTS, "Evidence"),
    predict=("early", "scale"),
)
