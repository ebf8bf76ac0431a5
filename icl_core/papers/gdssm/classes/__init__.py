"""The label of an example is a class, and the layer is trained on the cross-entropy. Version 3 of
the paper has such tasks; its text is not quoted here, and what you see is ours.

At W = 0 each of K classes has probability 1/K, and the gradient of softmax regression is the sum of
(y − 1/K) xᵀ with a one-hot y, up to its sign. The 1/K adds the same number to all outputs, and the
softmax does not see it. So the layer that adds up y xᵀ takes one step on the cross-entropy without
a change. Does training find it?
"""

from icl_core.contract.experiment import MEAN_OF_SEEDS, Drawing, Experiment, Run
from icl_core.figures import number_text
from icl_core.papers.gdssm.classes import claims, draw
from icl_core.papers.gdssm.classes.metrics import measure
from icl_core.papers.gdssm.classes.settings import PRESETS, Config, View
from icl_core.papers.gdssm.classes.story import STORY
from icl_core.papers.gdssm.classes.train import EVALUATIONS, TEST_SET, WATCHED, compute
from icl_core.training.loop import evaluations


def headline(run: Run, view: View) -> str:
    """Return what you see: the cross-entropy at the end, and one step's."""
    ours, theirs = (
        number_text(float(run[name].mean())) for name in ("evaluated/loss", "baseline/constructed")
    )
    return (
        f"Trained on {run.config.K} classes the layer has a cross-entropy of {ours}; one step of "
        f"gradient descent has {theirs}."
    )


def cost(config: Config) -> float:
    """Return the giga-operations: what the windows cost a task, forward and back, in training and
    where it is evaluated."""
    read = config.N * config.f * (20 + 8 * config.seeds)
    evaluated = len(evaluations(config.steps, *EVALUATIONS)) * WATCHED + 2 * TEST_SET
    return 6 * ((config.batch + 150) * config.steps + evaluated / 3) * read / 1e9


EXPERIMENT = Experiment(
    name="classes",
    title="Classes: a step on the cross-entropy",
    about=__doc__ or "",
    config=Config,
    view=View,
    run=compute,
    claims=claims.ALL,
    metrics=measure,
    drawings=(
        Drawing("training", draw.training, live=True, moving=False, seeds=MEAN_OF_SEEDS),
        Drawing("probabilities", draw.probabilities, ("prompt",), moving=False),
        Drawing("weights", draw.weights, (), wide=True, moving=False),
    ),
    presets=PRESETS,
    headline=headline,
    cost=cost,
    story=STORY,
)
