"""Prompts whose noise nobody knows: a memory of past gradients beside attention on all of a
token."""

from icl_core.contract.experiment import MEAN_OF_SEEDS, Drawing, Experiment
from icl_core.papers.learners.memory import claims, draw
from icl_core.papers.learners.memory.settings import BATCH, LEVELS, PRESETS, TESTED_ON, Config, View
from icl_core.papers.learners.memory.train import NAMES, compute
from icl_core.papers.learners.memory.words import WORDS

CALLS = 0.1  # giga-operations that the many small calls of a step amount to
BAYES = 2.8e6  # operations of Bayes on a prompt


def cost(config: Config) -> float:
    """Return the giga-operations, as many as the time amounts to that was measured: of every step
    the products of all models' matrices, forward and back, and the calls that they take; at the
    end the same on the test prompts, and Bayes."""
    a_prompt = len(NAMES) * config.seeds * config.layers * (config.d + 1) ** 3
    trained = config.steps * (450 * BATCH * a_prompt / 1e9 + CALLS)
    tested = (LEVELS + 4) * TESTED_ON * (236 * a_prompt + BAYES) / 1e9
    return trained + tested


EXPERIMENT = Experiment(
    name="memory",
    words=WORDS,
    config=Config,
    view=View,
    run=compute,
    claims=claims.ALL,
    metrics=claims.measure,
    drawings=(
        Drawing("errors", draw.errors, wide=True, seeds=MEAN_OF_SEEDS),
        Drawing("kept", draw.kept, seeds=MEAN_OF_SEEDS),
        Drawing("triangles", draw.triangles, wide=True, seeds=MEAN_OF_SEEDS),
        Drawing("products", draw.products, seeds=MEAN_OF_SEEDS),
        Drawing(
            "coefficients", draw.coefficients, (), "Coefficients", moving=False, wide=True,
            seeds=MEAN_OF_SEEDS,
        ),
        Drawing("training", draw.training, (), "All curves", live=True, moving=False),
    ),
    presets=PRESETS,
    cost=cost,
)  # fmt: skip
