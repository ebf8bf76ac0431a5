"""What is told of learned first-order methods."""

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.contract.story import (
    FIRST,
    HEADLINE,
    LAST,
    Beat,
    Question,
    Story,
    Task,
    Try,
    first_at,
)
from icl_core.papers.memformers.methods import decode
from icl_core.papers.memformers.methods.draw import optimiser, stage, trajectory
from icl_core.papers.memformers.methods.settings import View
from icl_core.papers.memformers.shared.captions import EXAMPLE, compared
from icl_core.papers.memformers.shared.draw.losses import written
from icl_core.papers.memformers.shared.load_run import depth_of, end

ALIKE = 0.1  # the logarithm of a ratio of errors: within 10% they count as equal


def _passes(run: Run) -> float | None:
    """Return the step of the first snapshot at which the deepest model is ahead of conjugate
    gradient; None if it never is."""
    return first_at(
        run.snapshot_steps,
        (_over_cg_at(run, index) < 0 for index in range(len(run.snapshot_steps))),
    )


def _over_cg_at(run: Run, index: int) -> float:
    return stage.now(run, View(snapshot=index)) - end(run, "baseline/cg")


def _over_cg(run: Run) -> float:
    return end(run, "evaluated/loss") - end(run, "baseline/cg")


def _without(run: Run) -> float:
    return end(run, "beside/linear/loss") - end(run, "evaluated/loss")


def _ahead(run: Run, view: View) -> str:
    given = end(run, "baseline/pcg") - end(run, "evaluated/loss")
    return (
        f"After training its error is {compared(_over_cg(run))} that of CGD. CGD given Σ⁻¹, as the "
        f"model is, has an error {compared(given)} the model's."
    )


def _even(run: Run, view: View) -> str:
    ends = [written(end(run, name)) for name in ("beside/linear/loss", "evaluated/loss")]
    return (
        f"In this run the error without memory is {compared(_without(run))} that with it "
        f"(log-losses {ends[0]} and {ends[1]})."
    )


def _decoded(run: Run, view: View) -> str:
    table, _ = optimiser.learned(run, view.seed_shown, depth_of(run, view), run.snapshot_at(view))
    return (
        "The trained model can be written as a table: each row is a layer's step, each column a "
        f"gradient that it may use. {decode.memory(table):.0%} of its weight is left of the "
        "diagonal, on older gradients, those before the layer's own: that is memory."
    )


def _other_prompt(run: Run, view: View) -> str:
    problem, paths = trajectory.solved(run, view, depth_of(run, view))
    own, cg = (f"{problem.losses(paths[name])[-1]:.2g}" for name in ("trained", "CGD"))
    return (
        f"On prompt {view.prompt} the model's error is {own}, conjugate gradient's {cg}. CGD has "
        "computed new steps; the model has taken the same ones as before."
    )


AHEAD = Question(
    "Conjugate gradient (CGD) fits its steps to each prompt; the model has one set for all. Whose "
    "error is smaller after four layers?",
    ("The model's", "Conjugate gradient's", "Neither: within 10%"),
    lambda run, view: 2 if abs(_over_cg(run)) < ALIKE else int(_over_cg(run) > 0),
    _ahead,
    "This model learns in whitened coordinates: the covariance Σ that the x of all prompts "
    "share is built in, and CGD does not get it. Give CGD Σ⁻¹ as well (the lowest line, “CGD "
    "with Σ⁻¹”), and it is ahead again. Learned in the original coordinates the model passes "
    "CGD, too (see Try).",
    (HEADLINE, "by_depth", "path", "depth", "trajectory", "training"),
)
MEMORY = Question(
    "Layers may use the steps of earlier layers: memory. Trained without it, how much larger is "
    "the error?",
    ("Doubled or more", "10% to 100%", "Under 10%, or none"),
    lambda run, view: int(np.digitize(-_without(run), (-np.log(2), -ALIKE))),
    _even,
    "Each layer multiplies what is left of the error by one factor, and four layers by four. "
    "Memory can only rewrite this product, and the best one can be written without it. The gaps "
    "in the paper's Figures 1 to 3 show which model trains faster. Trained as its text says, they "
    "are gone: by clipping, or by new batches (see Try)?",
    ("by_depth", "depth", "training"),
)

STORY = Story(
    task=Task(
        "Each prompt hides weights w*: the label of x is a weighted sum of its coordinates, and "
        "the weights are hidden. The model sees some pairs of x and label, and has to give the "
        "label of a new x.",
        EXAMPLE,
    ),
    beats=(
        Beat(
            "guess",
            "Before training the blue path, the guesses of the layers, misses the star, w*.",
            FIRST,
            ("path",),
        ),
        Beat(
            "ahead",
            "Dotted: the best that fixed steps can do.",
            _passes,
            ("by_depth", "path"),
            ask=AHEAD,
        ),
        Beat(
            "memory",
            "Both end at the dotted line. Does memory make training faster? See “What memory is "
            "worth”.",
            LAST,
            ("by_depth",),
            ask=MEMORY,
        ),
        Beat("decoded", _decoded, LAST, ("learned",)),
        Beat(
            "prompts",
            "One table serves all prompts.",
            LAST,
            ("path", "trajectory"),
            {"prompt": 0},
            "One prompt",
            do="Choose another prompt below.",
            done=lambda view: view.prompt != 0,
            then=_other_prompt,
        ),
        Beat(
            "close",
            "You have seen a trained network turn out to be an optimiser: Σ⁻¹ was built in, and "
            "it has learned a good step for each layer. Trained to the end, it needs no memory "
            "for that.",
            LAST,
            ("by_depth", "learned"),
        ),
    ),
    tries=(
        Try("Train four variants to the end: which gaps are left?", "all", marks=("by_depth",)),
        Try(
            "The paper's text clips gradients and draws new batches, its notebooks do neither: "
            "which of the two takes memory's lead away?",
            "as the text says",
            marks=("protocols",),
        ),
        Try(
            "Let the covariates move (GD++): compare its own batch with fresh prompts",
            "figure 4",
            marks=("batch",),
        ),
        Try(
            "Train on ten prompts only: they are learned by heart",
            "figure 6, full A",
            marks=("batch",),
        ),
        Try(
            "Follow one prompt layer by layer: begin with one layer",
            fields={"after": 1},
            drawer="One prompt",
            marks=("trajectory",),
        ),
        Try(
            "Learn in the original coordinates: which of the two arrives first?",
            "coordinates",
            drawer="All curves",
            marks=("training",),
        ),
    ),
    brief="A label is a weighted sum of the coordinates of x, with hidden weights w*.",
    seen=lambda run, view: (
        "Each layer of a trained model takes a step of gradient descent. Given Σ⁻¹, its error ends "
        f"{compared(_over_cg(run))} that of conjugate gradient, which is not given it."
    ),
)
