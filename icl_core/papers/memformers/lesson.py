"""The lesson on layers that learn their steps. Imports no torch until an answer is asked for."""

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.contract.lesson import EXPERIMENTS, PRESETS, TRAIN, Exercise, Lesson, Note
from icl_core.contract.story import Try

BESIDE = "Trained beside constructed"
WORKING = 15  # minutes


def _steps(run: Run) -> np.ndarray:
    """Return the layers' steps a, the first seed's."""
    from icl_core.papers.memformers.shared.draw.preconditioner import multiples

    return multiples(run)[0]


def _longest(run: Run) -> float:
    return float(_steps(run).max())


def _named(run: Run) -> str:
    learned, best = (
        np.sort(each)
        for each in (_steps(run), run["reference/floor_steps"][-1][: run.config.layers])
    )
    lists = [", ".join(f"{each:.3f}" for each in row) for row in (learned, best)]
    return f"The layers take the steps {lists[0]}; theory names {lists[1]}."


def _ratio(run: Run) -> float:
    """Return the largest of the variances along Σ's axes over the smallest."""
    values = run["frozen/eigenvalues"]
    return float(values.max() / values.min())


def _stretched(run: Run) -> str:
    from icl_core.papers.memformers.shared.draw.preconditioner import whitened_of
    from icl_core.papers.memformers.shared.load_run import covariance_of

    back = covariance_of(run, 1).inverse_root
    values = np.linalg.eigvalsh(
        (back @ whitened_of(run, 1, run.config.layers, None)[0] @ back).numpy()
    )
    return (
        f"The variances along the axes of Σ are 1 and 1/{_ratio(run):g}, so Σ⁻¹ steps "
        f"{_ratio(run):g} times as far along the flattest. The learned A₁ stretches "
        f"{values.max() / values.min():.1f} times."
    )


def _left(run: Run) -> float:
    return float(np.prod(1 - _steps(run)))


def _product(run: Run) -> str:
    factors = [1 - float(each) for each in _steps(run)]
    product = " × ".join(f"{each:.3f}" if each > 0 else f"(−{-each:.3f})" for each in factors)
    sentence = (
        f"{product} = {_left(run):.3f}. A step longer than 1 overshoots, which turns the sign."
    )
    return sentence.replace("= -", "= −")


EXERCISES = (
    Exercise(
        "longest",
        "Three layers, three steps. How long is the longest, as a multiple of Σ⁻¹? To two "
        "decimals.",
        "times Σ⁻¹",
        _longest,
        0.008,
        _named,
        "At the end of the training look at “The layers' steps”: a dot is a layer; rest the "
        "pointer on the highest.",
    ),
    Exercise(
        "stretched",
        "Σ has the variances 1, 1, 1/4, 1/16, 1 along its axes. How many times as far does a "
        "layer step along the axis of the smallest variance as along one of the largest, for "
        "gradients of equal size? Within 0.5.",
        "times",
        _ratio,
        0.5,
        _stretched,
        "A layer multiplies the gradient with a multiple of Σ⁻¹. What does Σ⁻¹ do to each axis?",
    ),
    Exercise(
        "left",
        "With infinitely many examples, a step of length a leaves 1 − a of the error. What do "
        "the three layers leave together? Mind the sign. Within 0.005.",
        "of the error",
        _left,
        0.005,
        _product,
        "Read the three steps off “The layers' steps” and multiply 1 − a over the layers. One "
        "factor is negative.",
    ),
)

NOTES = (
    Note(
        6,
        "A valley is sixteen times as steep one way as the other. You may take steps downhill. "
        "What goes wrong?",
        (
            "“Nothing, you get there in the end.”",
            "“You jump from wall to wall.”",
            "“Along the flat way you hardly move.”",
        ),
        "The last two belong together: a step short enough for the steep way is far too short for "
        "the flat one. A matrix in front of the gradient can undo that. Which matrix? Let them "
        "say it: the inverse of the shape.",
        Try("The layers' matrices before training: noise", step=0, marks=("identities",)),
    ),
    Note(
        7,
        "Nobody tells the network Σ. Where could it get Σ⁻¹ from?",
        (
            "“It cannot know it.”",
            "“From the prompt: it sees the x.”",
            "“From all the prompts it was trained on.”",
        ),
        "The third: Σ is the same in all prompts, so it ends up in the weights. The maps show √Σ "
        "A √Σ; if A is a multiple of Σ⁻¹, they show the identity. Play, and have them call out "
        "when the last layer is there.",
        Try("One learned matrix beside Σ⁻¹", drawer=BESIDE, marks=("preconditioner",)),
    ),
    Note(
        9,
        "Three steps with fixed lengths, the same for every prompt: should they be equal?",
        ("“Yes, by symmetry.”", "“Long ones first, then finer ones.”"),
        "After three steps the error is multiplied by a polynomial of degree 3. Three equal steps "
        "put all its zeros in one place; different ones spread them over what a prompt may bring. "
        "The order does not matter to a product. The answer to the first exercise has the three "
        "steps.",
        Try("The learned steps on the lines that theory draws", marks=("steps",)),
    ),
    Note(
        8,
        "Train again from another start. What will be the same, and what not?",
        ("“Everything: there is one optimum.”", "“Nothing: it is random.”"),
        "The set of steps is the same; which layer takes which is left to chance. That is what "
        "“the same method” means for a network: equal up to what the loss cannot see. Then leave "
        f"them {WORKING} minutes for the exercises.",
        Try("Another seed", fields={"seed_shown": 2}, marks=("steps",)),
    ),
)

LESSON = Lesson(
    name="learned-steps",
    title="Layers that learn how far to step",
    able=(
        "read a linear transformer as an optimiser: one layer, one step",
        "explain why its matrices become multiples of Σ⁻¹, and see that they do",
        "compute what several steps leave of an error, and why their lengths differ",
    ),
    experiment="convergence",
    preset="sigma",
    exercises=EXERCISES,
    notes=NOTES,
    working=WORKING,
    hidden=(PRESETS, EXPERIMENTS, TRAIN, "Evidence"),
    predict=("noise", "seeds"),
)
