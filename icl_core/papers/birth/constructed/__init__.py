"""The induction head written down instead of learned: eqs. 7 and 8 put into the model, with no training at all.
It works where random vectors are nearly orthogonal. Where they are not, every memory answers a little to everything
in the residual stream, and the sum of these whispers drowns the right answer.

At a width where the construction recalls every pair and still fails, a trained model of the same size succeeds. Take
the cross-talk with the rest of the stream out of all three matrices, and the construction catches up. W_O² or W_K²
cleaned alone goes part of the way, W_K¹ alone none of it.

Try:
- "Constructed, beside a trained model": how much of the gap does the cross-talk explain?
- "Bigrams in W_F, random embeddings": why do two kinds of knowledge not fit together at d = 256? What should W_F not
  read?
- "Bigrams in W_F, orthonormal embeddings": triggers are predicted. What is the loss everywhere else?
- Lower the attention score of a match to 5: what does softer attention cost?
"""

from icl_core.experiment import Drawing, Experiment, Run
from icl_core.papers.birth.constructed import claims
from icl_core.papers.birth.constructed.draw import gap, readings, stage, sweep
from icl_core.papers.birth.constructed.metrics import at_d, metrics
from icl_core.papers.birth.constructed.run import SEQUENCES, run, widths
from icl_core.papers.birth.constructed.settings import PRESETS, Config, View
from icl_core.papers.birth.shared.diagram import diagram


def headline(run: Run, view: View) -> str:
    """What you see: how well the construction of width d predicts."""
    kept, clean = (float(at_d(run, f"accuracy_{talk}").mean()) for talk in ("kept", "stream"))
    if run.config.feed_forward:
        loss = float(at_d(run, "global_loss_kept").mean())
        return f"Constructed at d = {run.config.d}: {kept:.0%} right at triggers; elsewhere a loss of {loss:.1f} nats."
    start = f"Constructed at d = {run.config.d} it is right {kept:.0%} of the time, {clean:.0%} without cross-talk"
    return f"{start}{''.join(f'; trained, {value:.0%}' for value in sweep.trained(run))}."


def cost(config: Config) -> float:
    """Giga-operations: three constructions a width are evaluated on held-out sequences, and a model may be trained, on
    every embedding."""
    evaluated = sum(3 * SEQUENCES * config.T * (6 * d * config.T + 16 * d * d) + 60 * d**3 for d in widths(config))
    trained = config.beside * 128 * config.T * (6 * config.d * config.T + 16 * config.d**2)
    return config.seeds * (evaluated + trained) / 1e9


SEQUENCE = ("cross_talk", "sequence", "marked")
CROSS_TALK, CURVES = "Cross-talk", "All curves"

EXPERIMENT = Experiment(
    name="constructed",
    title="The induction head constructed",
    about=__doc__ or "",
    config=Config,
    view=View,
    run=run,
    claims=claims.ALL,
    metrics=metrics,
    drawings=(
        Drawing("widths", stage.widths, moving=False),
        Drawing("first", stage.first, SEQUENCE, moving=False),
        Drawing("second", stage.second, SEQUENCE, moving=False),
        Drawing("w_k1", stage.w_k1, ("cross_talk",), moving=False),
        Drawing("w_k2", stage.w_k2, ("cross_talk",), moving=False),
        Drawing("w_o2", stage.w_o2, ("cross_talk",), moving=False),
        Drawing("gap", gap.gap, place=CROSS_TALK, wide=True),
        Drawing("errors", gap.errors, place=CROSS_TALK),
        Drawing("reads", gap.reads, place=CROSS_TALK, applies=lambda config: config.feed_forward),
        Drawing("readings", readings.readings, ("memory",), CROSS_TALK, wide=True),
        Drawing("attention", readings.attention, (*SEQUENCE, "sample", "length"), "Your own sequence", wide=True),
        Drawing("accuracy", sweep.accuracy, place=CURVES, live=True),
        Drawing("recall", sweep.recall, ("cross_talk",), CURVES),
        Drawing("global_loss", sweep.global_loss, place=CURVES, applies=lambda config: config.feed_forward),
    ),
    presets=PRESETS,
    headline=headline,
    cost=cost,
    diagram=lambda config: diagram(config, "construction", ("reads", {}), "accuracy"),
)
