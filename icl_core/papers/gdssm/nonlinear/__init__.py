"""Points of a sine are read, and the sine is asked for. One step of gradient descent is linear in what it reads, so
something has to bend: an embedding of x, a gated unit on the layer's output, or an MLP on its state, as Appendix A.3
has it. Five models are trained on sines of any amplitude and phase, to see which of them does.

Only the embedding does. A linear one leaves the model linear in x, and a line is no sine. An MLP on the state changes
nothing about that: it makes another line. A gated unit bends the output, but of the examples it knows only what a
line knows; nearly all that it gains is the mean of all sines, which needs no examples. An MLP embedding learns
features in which every sine is linear, sin x and cos x, and then one step of gradient descent does what it always does.

Try:
- Play the training: which curves bend, and which go through the points?
- "Figure 4 B: two layers": is each of them a step here too?
- Ask for the features of the MLP: is there anything but sin x and cos x in them?
"""

from dataclasses import replace

from icl_core.experiment import Drawing, Experiment, Metric, Preset, Run
from icl_core.figures import written
from icl_core.papers.gdssm.nonlinear import claims
from icl_core.papers.gdssm.nonlinear.draw import fits as drawings
from icl_core.papers.gdssm.nonlinear.draw import losses as comparisons
from icl_core.papers.gdssm.nonlinear.read_run import learned, model_at
from icl_core.papers.gdssm.nonlinear.settings import VARIANTS, Config, View
from icl_core.papers.gdssm.nonlinear.train import EVALUATIONS, JUDGED, WATCHED, run
from icl_core.papers.gdssm.shared.read_run import steps


def metrics(run: Run) -> list[Metric]:
    """Losses at the worst seed, or at the best one where too much is claimed of it, and what the MLP has learned.
    The prototype's numbers are claimed of its setting only."""
    config = run.config
    gated, plain, linear, state = (run[f"judged/{n}"] for n in ("mlp gate", "mlp", "linear gate", "state"))
    found = [Metric(claims.REACHES, float(gated.max() / run["baseline/ideal"][0] - 1))]
    if config.N == 10 and config.layers == 1:
        found.append(Metric(claims.SMALL, float(gated.max())))
    if config.N == 10:
        found += [Metric(claims.STAYS, float(linear.min())), Metric(claims.BEATS, float(gated.max() / linear.min()))]
    bound = Metric(claims.LINE, float(state.min() / run["baseline/line"][0]))
    gate = Metric(claims.GATE, float(gated.mean() / plain.mean() - 1))
    waves = claims.FEATURES if config.ssm == "construction" else replace(claims.FEATURES, reason=claims.FREE)
    return [*found, gate, bound, Metric(waves, r2(run))]


def r2(run: Run) -> float:
    """How well the two leading directions of the MLP's features hold sin x and cos x: the worse, at the worst seed."""
    mlp = next(variant for variant in VARIANTS if variant.name == "mlp")
    return min(float(learned(model_at(run, mlp, -1, row)).r2.min()) for row in range(run.config.seeds))


def headline(run: Run, view: View) -> str:
    """What you see: the losses of three models beside gradient descent and predicting zero."""
    loss = {variant.name: written(float(run[f"judged/{variant.name}"].mean()), 4) for variant in VARIANTS}
    layers = run.config.layers
    taken = "one step of gradient descent on sin x and cos x costs"
    taken = taken if layers == 1 else f"{layers} steps of gradient descent on sin x and cos x cost"
    return (
        f"With an MLP embedding and a gated unit the loss is {loss['mlp gate']}, where {taken} "
        f"{written(float(run['baseline/ideal'][0]), 4)}; a linear embedding with the unit stays at "
        f"{loss['linear gate']}, and with an MLP on the state at {loss['state']}. Predicting zero costs "
        f"{written(float(run['baseline/zero'][0]), 4)}."
    )


def cost(config: Config) -> float:
    """Giga-operations of all five models: what a token costs a task, forward and back, in training and judging."""
    a_token = 4 * config.hidden * (config.features + 20) + 5 * config.features * (20 + 30 * config.layers**2)
    tasks = config.batch * config.steps + (EVALUATIONS * WATCHED + 2 * JUDGED) / 3
    return 3 * tasks * (config.N + 1) * config.seeds * a_token / 1e9


EXPERIMENT = Experiment(
    name="nonlinear",
    title="Sines: what has to bend",
    about=__doc__ or "",
    config=Config,
    view=View,
    run=run,
    metrics=metrics,
    drawings=(
        Drawing("fit", drawings.fit, ("prompt", "seed_shown"), wide=True),
        Drawing("losses", comparisons.losses, wide=True, moment=False),
        Drawing("training", comparisons.training, live=True),
        Drawing("features", drawings.features, ("features_of", "seed_shown")),
        Drawing("prompt", drawings.prompt, ("points", "seed_shown"), wide=True),
    ),
    presets=(
        Preset("figure 4B", "Figure 4 B: one layer", Config(), "Only an MLP embedding goes through the points.",
               "figures", seeds=5),
        Preset("several layers", "Figure 4 B: two layers", Config(layers=2, steps=2000),
               "A second step, and a loss ten times lower: with the right features each layer is a step.",
               "figures", seeds=5),
        Preset("trained", "Figure 4 B: layers trained freely", Config(ssm="trained"),
               "Trained layers do better than the construction, as the paper saw.", "figures", seeds=5),
    ),
    headline=headline,
    cost=cost,
)  # fmt: skip
