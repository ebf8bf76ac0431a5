"""The induction head, written down as the paper constructs it."""

from icl_core.contract.experiment import Drawing, Experiment
from icl_core.papers.birth.constructed import claims
from icl_core.papers.birth.constructed.draw import stage, sweep
from icl_core.papers.birth.constructed.run import SEQUENCES, compute, widths
from icl_core.papers.birth.constructed.settings import PRESETS, Config, View
from icl_core.papers.birth.constructed.words import WORDS
from icl_core.papers.birth.shared.diagram import model_diagram
from icl_core.papers.birth.shared.draw import TYPED


def cost(config: Config) -> float:
    """Return the giga-operations: three constructions a width are evaluated on held-out sequences,
    and a model may be trained, on every embedding."""
    evaluated = sum(
        3 * SEQUENCES * config.T * (6 * d * config.T + 16 * d * d) + 60 * d**3
        for d in widths(config)
    )
    trained = config.beside * 128 * config.T * (6 * config.d * config.T + 16 * config.d**2)
    return config.seeds * (evaluated + trained) / 1e9


# the drawers
CROSS_TALK = "Cross-talk"
OWN = "Your own sequence"
CURVES = "All curves"

SEQUENCE = ("cross_talk", "sequence", "marked")

EXPERIMENT = Experiment(
    name="constructed",
    words=WORDS,
    config=Config,
    view=View,
    run=compute,
    claims=claims.ALL,
    metrics=claims.measure,
    drawings=(
        Drawing("widths", stage.widths, moving=False),
        Drawing("w_k1", stage.w_k1, ("cross_talk",), moving=False, explanations=stage.w_k1_cells),
        Drawing("w_k2", stage.w_k2, ("cross_talk",), moving=False, explanations=stage.w_k2_cells),
        Drawing("w_o2", stage.w_o2, ("cross_talk",), moving=False, explanations=stage.w_o2_cells),
        Drawing("first", stage.first, SEQUENCE, moving=False, explanations=stage.first_cells),
        Drawing("second", stage.second, SEQUENCE, moving=False, explanations=stage.second_cells),
        Drawing("gap", sweep.gap_panel, place=CROSS_TALK, wide=True),
        Drawing("errors", sweep.errors, place=CROSS_TALK),
        Drawing("reads", sweep.reads, place=CROSS_TALK, applies=lambda config: config.feed_forward),
        Drawing("readings", stage.readings_panel, ("memory",), CROSS_TALK, wide=True),
        Drawing("attention", stage.attention, (*SEQUENCE, "sample", "length"), OWN, wide=True),
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
    cost=cost,
    diagram=lambda config: model_diagram(config, "construction", ("reads", {}), "accuracy"),
    typed=TYPED,
)
