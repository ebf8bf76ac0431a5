"""Twelve models of two papers, trained on the same prompts and measured by one ruler."""

from icl_core.contract.experiment import Drawing, Experiment
from icl_core.papers.learners.trained import claims, draw, own_prompt
from icl_core.papers.learners.trained.settings import PRESETS, Config, View
from icl_core.papers.learners.trained.train import compute
from icl_core.papers.learners.trained.words import WORDS

CERTIFICATES = "Certificates"
OWN = "Your own pairs"
LIKE = "What it acts like"
BESIDE = "Trained beside constructed"
A_STEP = 0.3  # giga-operations that the many small calls of a step of all models amount to
WIDTH = 400  # operations a token, prompt and feature squared


def cost(config: Config) -> float:
    """Return the giga-operations: of every learner and step the tokens of a batch, forward and
    back, and the calls that they take."""
    tokens = config.batch * (2 * config.n + 1)
    width = 2 * config.d + config.n + 1
    a_step = tokens * width**2 * WIDTH / 1e9
    return config.steps * (A_STEP + a_step)


EXPERIMENT = Experiment(
    name="trained",
    words=WORDS,
    config=Config,
    view=View,
    run=compute,
    claims=claims.ALL,
    metrics=claims.measure,
    drawings=(
        Drawing("errors", draw.errors, wide=True),
        Drawing("plane", draw.weights, ("prompt",)),
        Drawing("bend", draw.bend, wide=True),
        Drawing("constructed", draw.constructed, (), BESIDE, moving=False),
        Drawing("constructions", draw.constructions, (), BESIDE, moving=False, wide=True),
        Drawing("acts like", draw.acts_like, (), LIKE, wide=True),
        Drawing("certificate", draw.certificate, (), CERTIFICATES, moving=False, wide=True),
        Drawing("own pairs", own_prompt.pairs, ("prompt", "points"), OWN, moving=False),
        Drawing("own plane", own_prompt.weights, ("prompt", "points"), OWN, moving=False),
        Drawing(
            "own answers",
            own_prompt.answers,
            ("prompt", "points", "query"),
            OWN,
            moving=False,
            wide=True,
        ),
        Drawing("training", draw.training, (), "All curves", live=True, moving=False),
    ),
    presets=PRESETS,
    cost=cost,
)
