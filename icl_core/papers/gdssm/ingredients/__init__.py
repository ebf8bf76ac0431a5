"""The paper calls two things key ingredients: a window in which tokens are multiplied with each
other (local self-attention), and the product of the state with the query. It shows no layer
without them. Here the layer is trained again and again, each time without one part: with a window
of two tokens or one, with a fixed vector in place of the query, with a state that keeps nothing,
and with one that keeps all from the start.

What each can do at best is known exactly. If a part did not matter, the layer would still come down
to one step of gradient descent.
"""

from icl_core.contract.experiment import MEAN_OF_SEEDS, Drawing, Experiment, Run
from icl_core.papers.gdssm.ingredients import claims, draw
from icl_core.papers.gdssm.ingredients.metrics import left, measure
from icl_core.papers.gdssm.ingredients.settings import PRESETS, VARIANTS, Config, View
from icl_core.papers.gdssm.ingredients.story import STORY
from icl_core.papers.gdssm.ingredients.train import EVALUATIONS, TEST_SET, WATCHED, compute
from icl_core.training.loop import evaluations


def headline(run: Run, view: View) -> str:
    """Return what you see: what is left of the gain without each of the two ingredients."""
    return (
        f"Of the gain, {left(run, 'one')} is left without products of tokens, and "
        f"{left(run, 'fixed')} without the product with the query."
    )


def cost(config: Config) -> float:
    """Return the giga-operations: what the windows cost a task, forward and back, in training and
    where it is evaluated."""
    read = len(VARIANTS) * 1.5 * config.N * config.f * (20 + 8 * config.seeds)
    evaluated = len(evaluations(config.steps, *EVALUATIONS)) * WATCHED + 2 * TEST_SET
    return 6 * ((config.batch + 150) * config.steps + evaluated / 3) * read / 1e9


EXPERIMENT = Experiment(
    name="ingredients",
    title="Key ingredients: what cannot be left out",
    about=__doc__ or "",
    config=Config,
    view=View,
    run=compute,
    claims=claims.ALL,
    metrics=measure,
    drawings=(
        Drawing("ends", draw.ends, ("relative",), moving=False, seeds=MEAN_OF_SEEDS),
        Drawing("training", draw.training, live=True, moving=False, seeds=MEAN_OF_SEEDS),
        Drawing("table", draw.table, (), "What is left", wide=True, moving=False),
    ),
    presets=PRESETS,
    headline=headline,
    cost=cost,
    story=STORY,
)
