"""What is told of preconditioners that find Σ⁻¹."""

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.contract.story import FIRST, LAST, Beat, Question, Story, Task, Try, first_from
from icl_core.papers.memformers.convergence.settings import View
from icl_core.papers.memformers.shared.captions import EXAMPLE
from icl_core.papers.memformers.shared.draw.losses import written
from icl_core.papers.memformers.shared.draw.preconditioner import multiples

CLOSE = 0.1  # from a multiple of Σ⁻¹, as a share of its size
SAME = 0.1  # a share by which two steps may differ and count as one
OTHER = 2  # the seed that is compared with the first


def _best(run: Run) -> np.ndarray:
    """Return the steps 1/r of the best polynomial, smallest first, as theory has them."""
    return np.sort(run["reference/floor_steps"][-1][: run.config.layers])


def _found(run: Run) -> float | None:
    """Return the step from which on all layers of all seeds are close to a multiple of Σ⁻¹, at
    every evaluation."""
    # [L, seeds, points]
    away = np.stack([run[f"curve/distance_{layer}"] for layer in range(run.config.layers)])
    farthest = away.max((0, 1))  # NaN where any is
    return first_from(run["curve/step"], farthest <= CLOSE)


def _farthest(run: Run) -> float:
    """Return the largest distance of a layer's matrix from a multiple of Σ⁻¹ at the end, over
    seeds."""
    return max(float(run[f"curve/distance_{n}"][:, -1].max()) for n in range(run.config.layers))


def _steps(run: Run, view: View) -> str:
    *first, last = (written(float(each)) for each in _best(run))
    return (
        f"The best three are {', '.join(first)} and {last} times Σ⁻¹. They are the lines in the "
        "figure, written 1/r: each r is a root of the best polynomial."
    )


def _all_close(run: Run, view: View) -> str:
    return (
        f"In all {run.config.seeds} trainings, from step {_found(run):,.0f} on, each A is within "
        f"{CLOSE:.0%} of a multiple of Σ⁻¹, the inverse covariance."
    )


def _landed(run: Run, view: View) -> str:
    *first, last = (written(float(each)) for each in multiples(run)[0])
    return (
        f"The layers step by {', '.join(first)} and {last} times Σ⁻¹. Each dot has come to a line: "
        "theory knew these numbers before the training."
    )


def _another(run: Run) -> float | None:
    """Return the end of the training, if there is another seed to compare."""
    return run.snapshot_steps[-1] if run.config.seeds >= OTHER else None


def _seeds(run: Run) -> tuple[np.ndarray, np.ndarray]:
    """Return the layers' steps in the first seed and in the other one."""
    every = multiples(run)
    return every[0], every[OTHER - 1]


def _kind(run: Run, view: View) -> int:
    one, other = _seeds(run)
    if not np.allclose(np.sort(one), np.sort(other), rtol=SAME):
        return 2
    return 0 if np.allclose(one, other, rtol=SAME) else 1


def _swapped(run: Run, view: View) -> str:
    one, other = (", ".join(written(float(each)) for each in steps) for steps in _seeds(run))
    return f"Layer by layer, seed 1 has {one}; seed {OTHER} has {other}."


STORY = Story(
    task=Task(
        "Each prompt hides weights: the label of x is a weighted sum of its coordinates, and "
        "the weights are hidden. A layer steps towards them by gradient descent, with the "
        "gradient multiplied by a matrix A that it learned.",
        EXAMPLE,
    ),
    beats=(
        Beat(
            "noise",
            "Now the training. At its start the three maps, one for each layer, are noise.",
            FIRST,
            ("identities", "steps"),
            ask=Question(
                "A model may take three steps towards the weights, each with a length of its own, "
                "the same in every prompt. How should it choose them?",
                ("All equally long", "Two alike, one longer", "Three different lengths"),
                lambda run, view: int(np.sum(np.diff(_best(run)) > SAME * _best(run)[:-1])),
                _steps,
                "After three steps the error has been multiplied by a polynomial of degree 3. "
                "Three different steps give it three different zeros, spread over the values that "
                "a prompt's covariance takes.",
                ("steps", "preconditioner", "whitened"),
            ),
        ),
        Beat("found", _all_close, _found, ("distances", "identities")),
        Beat("steps", _landed, LAST, ("steps",)),
        Beat(
            "seeds",
            "The set of steps is always the same; which layer takes which is left to chance.",
            _another,
            ("steps",),
            {"seed_shown": OTHER},
            ask=Question(
                "Train again from another start, on other prompts. What will the three layers "
                "step by?",
                ("The same, in the same order", "The same, in another order", "Other steps"),
                _kind,
                _swapped,
                "The order does not matter: polynomials in one matrix can be multiplied in any "
                "order, and the loss is the same.",
                ("steps", "preconditioner", "whitened"),
            ),
        ),
        Beat(
            "close",
            "You have seen what each layer learns: Σ⁻¹, the inverse covariance of the x, times a "
            "step that theory can compute.",
            LAST,
            ("distances", "identities", "steps"),
        ),
    ),
    tries=(
        Try(
            "See one learned matrix beside Σ⁻¹, and what is left between them",
            drawer="Trained beside constructed",
            marks=("preconditioner",),
        ),
        Try(
            "Train as the paper did, on batches of 20,000: how much longer does it take?",
            "figures 18 to 21",
            marks=("distances",),
        ),
        Try(
            "Learn in whitened coordinates, where no direction is harder than another",
            "whitened",
            marks=("distances",),
        ),
        Try(
            "See one prompt's attention, token by token, and the step that it makes",
            fields={"layer": 1},
            drawer="One prompt",
            marks=("forms",),
        ),
        Try(
            "Make one direction of x vary 100 times less than another",
            "harder spectrum",
            marks=("distances",),
        ),
    ),
    brief="This model has 3 layers and no memory. Each layer multiplies its gradient by a learned "
    "matrix A.",
    seen=lambda run, view: (
        f"All {run.config.layers} layers learned a matrix within {_farthest(run):.1%} of a "
        "multiple of Σ⁻¹, the inverse covariance of the x, from prompts alone."
    ),
)
