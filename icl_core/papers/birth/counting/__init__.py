"""Copying is not always enough. Here every sequence comes from a Markov chain of its own: what
comes next is random, but some states follow others more often, and only the sequence itself tells
how often. The best predictor counts pairs. You watch a small transformer come to it in three
stages, which Edelman et al. (2024) found: it guesses uniformly, then it counts single states
(unigrams), then it jumps to pairs (bigrams), as layer 1 learns to find the previous
state.

Play the training and watch the background change its colour. Then take one layer away, or take
chains in which single states tell nothing.
"""

from icl_core.contract.experiment import MEAN_OF_SEEDS, Drawing, Experiment, Run
from icl_core.contract.visitor import Typed
from icl_core.papers.birth.counting import claims
from icl_core.papers.birth.counting.diagram import model_diagram
from icl_core.papers.birth.counting.draw import curves, explanations, stage
from icl_core.papers.birth.counting.load_run import stage_text
from icl_core.papers.birth.counting.metrics import measure
from icl_core.papers.birth.counting.settings import PRESETS, Config, View
from icl_core.papers.birth.counting.story import CURVES, STORY
from icl_core.papers.birth.counting.strategy import at_step, milestones
from icl_core.papers.birth.counting.train import DENSE, EVERY, WATCHED, compute
from icl_core.training.loop import evaluations

CALLED = {
    "uniform": "a uniform guess",
    "unigram": "unigrams: the model counts single states",
    "bigram": "bigrams: the model counts pairs",
}


def headline(run: Run, view: View) -> str:
    """Return one sentence: the strategy that the predictions are nearest to at the step shown."""
    step = run.step(view)
    distances = {name: at_step(run, f"kl_{name}", step) for name in run.names("strategies")}
    nearest = min(distances, key=lambda name: distances[name])
    when = f"After {step} step{'s' * (step != 1)}" if step else "Before training"
    return (
        f"{when}, predictions are nearest to {CALLED[nearest]} "
        f"(distance {distances[nearest]:.3f} nats)."
    )


def cost(config: Config) -> float:
    """Return the work in giga-operations: the stream with five matrices a layer, queries with keys
    and distances, and values."""
    token = config.layers * 2 * (5 * config.d**2 + 3 * config.T * config.d + 10 * config.T)
    evaluated = len(evaluations(config.steps, EVERY, DENSE)) * WATCHED  # sequences
    return config.seeds * config.T * token * (3 * config.batch * config.steps + evaluated) / 1e9


SHOWN = ("sequence", "sample", "seed_shown")

EXPERIMENT = Experiment(
    name="counting",
    title="From copying to counting",
    about=__doc__ or "",
    config=Config,
    view=View,
    run=compute,
    claims=claims.ALL,
    metrics=measure,
    drawings=(
        Drawing(
            "distances",
            curves.distances,
            ("single_seeds",),
            live=True,
            wide=True,
            seeds=MEAN_OF_SEEDS,
        ),
        Drawing("next", stage.following, (*SHOWN, "position"), explanations=explanations.following),
        Drawing("looks", curves.looks, (), live=True, seeds=MEAN_OF_SEEDS),
        Drawing(
            "first",
            stage.first,
            SHOWN,
            applies=lambda config: config.layers == 2,
            explanations=explanations.first,
        ),
        Drawing("second", stage.second, (*SHOWN, "position"), explanations=explanations.second),
        Drawing("losses", curves.losses, (), CURVES, live=True),
        Drawing("positions", curves.positions, (), CURVES, moving=False),
    ),
    presets=PRESETS,
    headline=headline,
    cost=cost,
    milestones=milestones,
    goes_on=lambda config: True,
    story=STORY,
    diagram=model_diagram,
    typed=Typed(
        "sequence",
        "Your states",
        stage_text,
        "A sequence of the states A, B, C, …; Enter shows what the model makes of it. An empty "
        "field goes back to a random sequence.",
    ),
)
