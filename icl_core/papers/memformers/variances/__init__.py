"""Gates that put heads together on prompts of a variance that no head has seen."""

from icl_core.contract.experiment import MEAN_OF_SEEDS, Drawing, Experiment
from icl_core.papers.memformers.shared.diagram import gated_diagram
from icl_core.papers.memformers.variances import claims, draw
from icl_core.papers.memformers.variances.settings import PRESETS, Config, View, met_by, trained_on
from icl_core.papers.memformers.variances.train import compute
from icl_core.papers.memformers.variances.words import WORDS


def cost(config: Config) -> float:
    """Return giga-operations: two products with S and three with A a layer, for every prompt in
    training and at test time; and what a step costs by itself, as much as two seeds."""
    heads = len(trained_on(config))
    variances = heads + len(met_by(config))
    layers = config.layers * (config.layers + 1) / 2 if is_figure_8(config) else config.layers
    prompt = layers * 10 * config.d**2 * (config.seeds + 2)
    trained = heads * config.steps * 1000
    adapted = (variances * (heads + 1) + 4) * config.gate_steps * config.gate_prompts
    evaluated = (variances * 3 + heads + 4) * 2**16 * config.d
    return prompt * (trained + adapted + evaluated) / 1e9


def is_figure_8(config: Config) -> bool:
    """Return whether heads of every depth are trained, as for Figure 8."""
    return config.protocol == "authors"


EXPERIMENT = Experiment(
    name="variances",
    words=WORDS,
    config=Config,
    view=View,
    run=compute,
    claims=claims.ALL,
    metrics=claims.measure,
    drawings=(
        Drawing("comparison", draw.comparison, seeds=MEAN_OF_SEEDS),
        Drawing("shares", draw.shares, ("seed_shown",)),
        Drawing(
            "starts",
            draw.starts,
            ("seed_shown",),
            applies=lambda config: len(trained_on(config)) > 1,
        ),
        Drawing("losses", draw.losses, (), "Every method", wide=True),
        Drawing("depth", draw.depth, (), "Every method", applies=is_figure_8, seeds=MEAN_OF_SEEDS),
        Drawing("gates", draw.learned, ("seed_shown",), "Trained beside constructed", wide=True),
        Drawing(
            "triangle",
            draw.triangle,
            ("seed_shown",),
            "Trained beside constructed",
            wide=True,
        ),
        Drawing("test time", draw.test_time, (), "All curves"),
        Drawing("training", draw.training, (), "All curves", live=True),
    ),
    presets=PRESETS,
    cost=cost,
    diagram=lambda config: gated_diagram(
        [f"variance {each:g}" for each in trained_on(config)], "shares", "comparison"
    ),
)
