"""The induction head written down instead of learned: eqs. 7 and 8 put into the model, with no training at all.
It works where random vectors are nearly orthogonal. Where they are not, every memory answers a little to everything
in the residual stream, and the sum of these whispers drowns the right answer.

At a width where the construction recalls every pair and still fails, a trained model of the same size succeeds. Take
the cross-talk with the rest of the stream out of the construction, and it catches up.

Try:
- "Constructed, beside a trained model": how much of the gap does the cross-talk explain?
- "Bigrams in W_F, random embeddings": why do two kinds of knowledge not fit together at d = 256?
- Lower the attention score of a match to 5: what does softer attention cost?
"""

from icl_core.experiment import Drawing, Experiment, Run
from icl_core.papers.birth.constructed import claims
from icl_core.papers.birth.constructed.draw import gap, readings, stage, sweep
from icl_core.papers.birth.constructed.metrics import at_d, metrics
from icl_core.papers.birth.constructed.run import run, widths
from icl_core.papers.birth.constructed.settings import PRESETS, Config, View


def headline(run: Run, view: View) -> str:
    """What you see: how well the construction of width d predicts."""
    kept, clean = at_d(run, "accuracy_kept"), at_d(run, "accuracy_stream")
    start = f"Constructed at d = {run.config.d} it is right {kept:.0%} of the time, {clean:.0%} without cross-talk"
    trained = [f"; trained, {float(value):.0%}" for value in run.tensors.get("beside/accuracy", ())]
    return f"{start}{''.join(trained)}."


def cost(config: Config) -> float:
    """Giga-operations: three constructions a width are evaluated on 2^14 positions, and a model may be trained."""
    evaluated = sum(3 * 2**14 * (6 * d * config.T + 16 * d * d) + 60 * d**3 for d in widths(config))
    trained = config.beside * 128 * config.T * (6 * config.d * config.T + 16 * config.d**2)
    return (evaluated + trained) / 1e9


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
        Drawing("gap", gap.gap, place=CROSS_TALK),
        Drawing("errors", gap.errors, place=CROSS_TALK),
        Drawing("readings", readings.readings, ("memory",), CROSS_TALK, wide=True),
        Drawing("attention", readings.attention, (*SEQUENCE, "sample", "length"), "Your own sequence", wide=True),
        Drawing("accuracy", sweep.accuracy, place=CURVES, live=True),
        Drawing("recall", sweep.recall, ("cross_talk",), CURVES),
    ),
    presets=PRESETS,
    headline=headline,
    cost=cost,
)
