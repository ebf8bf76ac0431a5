"""A small transformer that comes to count pairs of states, on sequences of Markov chains."""

from icl_core.contract.experiment import MEAN_OF_SEEDS, Drawing, Experiment
from icl_core.contract.visitor import TextInput
from icl_core.papers.birth.counting import claims, draw, explanations
from icl_core.papers.birth.counting.diagram import model_diagram
from icl_core.papers.birth.counting.load_run import stage_text
from icl_core.papers.birth.counting.settings import PRESETS, Config, View
from icl_core.papers.birth.counting.strategy import milestones
from icl_core.papers.birth.counting.train import DENSE, EVERY, WATCHED, compute
from icl_core.papers.birth.counting.words import WORDS
from icl_core.training.loop import evaluations

CURVES = "All curves"  # a drawer


def cost(config: Config) -> float:
    """Return the work in giga-operations: the stream with five matrices a layer, queries with keys
    and distances, and values."""
    token = config.layers * 2 * (5 * config.d**2 + 3 * config.T * config.d + 10 * config.T)
    evaluated = len(evaluations(config.steps, EVERY, DENSE)) * WATCHED  # sequences
    return config.seeds * config.T * token * (3 * config.batch * config.steps + evaluated) / 1e9


SHOWN = ("sequence", "sample", "seed_shown")

EXPERIMENT = Experiment(
    name="counting",
    words=WORDS,
    config=Config,
    view=View,
    run=compute,
    claims=claims.ALL,
    metrics=claims.measure,
    drawings=(
        Drawing(
            "distances",
            draw.distances,
            ("single_seeds",),
            live=True,
            wide=True,
            seeds=MEAN_OF_SEEDS,
        ),
        Drawing("next", draw.following, (*SHOWN, "position"), explanations=explanations.following),
        Drawing("looks", draw.looks, (), live=True, seeds=MEAN_OF_SEEDS),
        Drawing(
            "first",
            draw.first,
            SHOWN,
            applies=lambda config: config.layers == 2,
            explanations=explanations.first,
        ),
        Drawing("second", draw.second, (*SHOWN, "position"), explanations=explanations.second),
        Drawing("losses", draw.losses, (), CURVES, live=True),
        Drawing("positions", draw.positions, (), CURVES, moving=False),
    ),
    presets=PRESETS,
    cost=cost,
    milestones=milestones,
    goes_on=lambda config: True,
    diagram=model_diagram,
    typed=TextInput(
        "sequence",
        "Your states",
        stage_text,
        "A sequence of the states A, B, C, …; Enter shows what the model makes of it. An empty "
        "field goes back to a random sequence.",
    ),
)
