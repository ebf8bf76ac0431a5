"""Points of a sine are read, and the model is asked for another. One step of gradient descent is
linear in what it reads, so something has to bend: an embedding of x, a gated unit on the layer's
output, or an MLP on its state, as Appendix A.3 proposes. Seven models are trained on sines of many
amplitudes and phases, to see which of them can do it.

The paper embeds x linearly. It asks whether trained layers are as good as constructed ones behind
that embedding, with a gated unit and without; the drawer "Figure 4 B" shows it. Behind a linear
embedding constructed layers draw a line. An MLP on the state draws another line. Trained layers
multiply the query with itself as well: one bends the line a little, two bend it more. A gated unit
on constructed layers bends it too, but most of what it gains it still gains with the labels hidden:
that part is the mean of all sines.

An MLP embedding, which is ours, learns features in which every sine is linear: sin x and cos x.
Then one step of gradient descent does what it always does.
"""

from icl_core.contract.experiment import MEAN_OF_SEEDS, Drawing, Experiment, Run
from icl_core.figures import number_text
from icl_core.papers.gdssm.nonlinear import claims
from icl_core.papers.gdssm.nonlinear.diagram import nonlinear_diagram
from icl_core.papers.gdssm.nonlinear.draw import fits, losses, many_seeds, stage
from icl_core.papers.gdssm.nonlinear.metrics import measure
from icl_core.papers.gdssm.nonlinear.settings import FIGURE_4B, PRESETS, VARIANTS, Config, View
from icl_core.papers.gdssm.nonlinear.story import STORY
from icl_core.papers.gdssm.nonlinear.train import EVALUATIONS, TEST_SET, WATCHED, compute
from icl_core.training.loop import evaluations


def headline(run: Run, view: View) -> str:
    """Return what you see: the losses of two models at the step shown, and of gradient descent."""
    ours, theirs = (
        number_text(stage.loss_at_snapshot(run, view, id), 4) for id in (stage.BENT, stage.STRAIGHT)
    )
    ideal = number_text(float(run["baseline/ideal"][0]), 4)
    return (
        f"The loss is {ours} with MLP features, {theirs} with linear ones; gradient descent on "
        f"sin x, cos x has {ideal}."
    )


def cost(config: Config) -> float:
    """Return the giga-operations of all models: what a token costs a task, forward and back, in
    training and evaluation."""
    embedding = 4 * config.hidden * (config.features + 20)
    a_token = embedding + 5 * config.features * (20 + 30 * config.layers**2)
    count = len(evaluations(config.steps, *EVALUATIONS))
    tasks = config.batch * config.steps + (count * WATCHED + 2 * TEST_SET) / 3
    own = tasks * config.seeds
    more = len(FIGURE_4B) / len(VARIANTS) * tasks * config.many
    return 3 * (own + more) * (config.N + 1) * a_token / 1e9


def _many(config: Config) -> bool:
    """Return whether the models of Figure 4 B have many seeds."""
    return config.many > 0


EXPERIMENT = Experiment(
    name="nonlinear",
    title="Sines: what has to bend",
    about=__doc__ or "",
    config=Config,
    view=View,
    run=compute,
    claims=claims.ALL,
    metrics=measure,
    drawings=(
        Drawing("fit", stage.fit, ("prompt", "seed_shown")),
        Drawing("training", stage.training, live=True, seeds=MEAN_OF_SEEDS),
        Drawing("features", stage.features, ("features_of", "seed_shown")),
        Drawing("losses", stage.bars, moving=False, seeds=MEAN_OF_SEEDS),
        Drawing(
            "beside", losses.trained_and_constructed, (), "Figure 4 B", wide=True, moving=False
        ),
        Drawing(
            "seeds",
            many_seeds.strip,
            (),
            "Figure 4 B",
            wide=True,
            moving=False,
            applies=_many,
        ),
        Drawing("points", fits.prompt, ("points", "seed_shown"), "Your own points", wide=True),
        Drawing("fits", fits.fit, ("prompt", "seed_shown"), "All curves", wide=True),
        Drawing("bars", losses.losses_panel, (), "All curves", wide=True, moving=False),
    ),
    presets=PRESETS,
    headline=headline,
    cost=cost,
    story=STORY,
    diagram=nonlinear_diagram,
)
