"""Here the induction head is not learned. The paper writes its matrices down (eqs. 7 and 8), and
they go straight into the model. This works where random vectors are nearly orthogonal. Where they
are not, every memory also answers a little to the other vectors of the residual stream. This is
cross-talk, and together these small answers drown the right one.

At a width where every memory gets all of its pairs right, the constructed model still fails, and a
trained one of the same size succeeds. Clean all three matrices, so that they store the same pairs
with as little cross-talk as possible, and the construction catches up. Cleaning W_O² or W_K² alone
helps in part, cleaning W_K¹ alone hardly.
"""

from icl_core.contract.experiment import Drawing, Experiment, Run
from icl_core.papers.birth.constructed import claims
from icl_core.papers.birth.constructed.draw import explanations, gap, readings, stage, sweep
from icl_core.papers.birth.constructed.metrics import at_d, measure
from icl_core.papers.birth.constructed.run import SEQUENCES, compute, widths
from icl_core.papers.birth.constructed.settings import PRESETS, Config, View
from icl_core.papers.birth.constructed.story import CROSS_TALK, CURVES, OWN, STORY
from icl_core.papers.birth.shared.diagram import model_diagram
from icl_core.papers.birth.shared.stage import TYPED


def headline(run: Run, view: View) -> str:
    """Return what you see: how well the construction of width d predicts."""
    kept, clean = (float(at_d(run, f"accuracy_{talk}").mean()) for talk in ("kept", "stream"))
    start = f"At d = {run.config.d} the construction is right {kept:.0%} of the time"
    if run.config.feed_forward:
        loss = float(at_d(run, "global_loss_kept").mean())
        return f"{start} after triggers; elsewhere it loses {loss:.1f} nats."
    beside = "".join(f"; trained, {value:.0%}" for value in sweep.trained(run))
    return f"{start}, {clean:.0%} without cross-talk{beside}."


def cost(config: Config) -> float:
    """Giga-operations: three constructions a width are evaluated on held-out sequences, and a model
    may be trained, on every embedding."""
    evaluated = sum(
        3 * SEQUENCES * config.T * (6 * d * config.T + 16 * d * d) + 60 * d**3
        for d in widths(config)
    )
    trained = config.beside * 128 * config.T * (6 * config.d * config.T + 16 * config.d**2)
    return config.seeds * (evaluated + trained) / 1e9


SEQUENCE = ("cross_talk", "sequence", "marked")

EXPERIMENT = Experiment(
    name="constructed",
    title="The induction head constructed",
    about=__doc__ or "",
    config=Config,
    view=View,
    run=compute,
    claims=claims.ALL,
    metrics=measure,
    drawings=(
        Drawing("widths", stage.widths, moving=False),
        Drawing("first", stage.first, SEQUENCE, moving=False, explanations=explanations.first),
        Drawing("second", stage.second, SEQUENCE, moving=False, explanations=explanations.second),
        Drawing("w_k1", stage.w_k1, ("cross_talk",), moving=False, explanations=explanations.w_k1),
        Drawing("w_k2", stage.w_k2, ("cross_talk",), moving=False, explanations=explanations.w_k2),
        Drawing("w_o2", stage.w_o2, ("cross_talk",), moving=False, explanations=explanations.w_o2),
        Drawing("gap", gap.gap_panel, place=CROSS_TALK, wide=True),
        Drawing("errors", gap.errors, place=CROSS_TALK),
        Drawing("reads", gap.reads, place=CROSS_TALK, applies=lambda config: config.feed_forward),
        Drawing("readings", readings.readings_panel, ("memory",), CROSS_TALK, wide=True),
        Drawing("attention", readings.attention, (*SEQUENCE, "sample", "length"), OWN, wide=True),
        Drawing("accuracy", sweep.accuracy, place=CURVES, live=True),
        Drawing("recall", sweep.recall, ("cross_talk",), CURVES),
        Drawing(
            "global_loss",
            sweep.global_loss,
            place=CURVES,
            applies=lambda config: config.feed_forward,
        ),
    ),
    presets=PRESETS,
    headline=headline,
    cost=cost,
    story=STORY,
    diagram=lambda config: model_diagram(config, "construction", ("reads", {}), "accuracy"),
    typed=TYPED,
)
