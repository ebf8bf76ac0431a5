"""The full transformer, with nothing frozen: which head does what?"""

from icl_core.contract.experiment import FIRST_SEED, MEAN_OF_SEEDS, Drawing, Experiment
from icl_core.papers.birth.shared.circuit import CIRCUIT
from icl_core.papers.birth.transformer import claims
from icl_core.papers.birth.transformer.diagram import transformer_diagram
from icl_core.papers.birth.transformer.draw import (
    ablation,
    circuit,
    curves,
    explanations,
    heads,
    stage,
)
from icl_core.papers.birth.transformer.load_run import milestones
from icl_core.papers.birth.transformer.organism import EXPORT
from icl_core.papers.birth.transformer.settings import PRESETS, Config, View
from icl_core.papers.birth.transformer.train import EVALUATIONS, compute, one_layer
from icl_core.papers.birth.transformer.words import WORDS
from icl_core.training.loop import evaluations


def cost(config: Config) -> float:
    """Return the giga-operations of a run: its trainings with their evaluations, and a single
    layer's."""
    operations = config.seeds * _training(config)
    if config.layers > 1:
        operations += _training(one_layer(config))
    return operations / 1e9


def _training(config: Config) -> float:
    """Return the operations of a training.

    An evaluation is forward alone, a third of a step, on 256 sequences, and on 1,024 last.
    """
    attention = 2 * config.layers * config.T * config.d
    per_token = 6 * (
        attention + (4 + 8 * config.mlp) * config.layers * config.d**2 + config.N * config.d
    )
    evaluation_sequences = (
        256 * len(evaluations(config.steps, *EVALUATIONS))
        + 1024
        + 128 * 3 * config.layers * config.heads
    )
    return config.T * per_token * (config.batch * config.steps + evaluation_sequences / 3)


# the drawers
ONE = "One head"
REPLACE = "Replace heads"
CURVES = "All curves"
SINGLE = "One layer"

SEED = ("seed_shown",)
FOLLOWED = ("sequence", "marked", "followed")


def two_layers(config: Config) -> bool:
    """Return whether the layers are those of an induction head."""
    return config.layers == 2


def many_layers(config: Config) -> bool:
    """Return whether some layer is read by another."""
    return config.layers > 1


EXPERIMENT = Experiment(
    name="transformer",
    words=WORDS,
    config=Config,
    view=View,
    run=compute,
    claims=claims.ALL,
    metrics=claims.measure,
    drawings=(
        Drawing("maps", heads.maps, SEED, wide=True, explanations=explanations.maps),
        Drawing("accuracy", stage.accuracy, live=True, seeds=MEAN_OF_SEEDS),
        Drawing("doing", stage.doing, SEED),
        Drawing("needed", stage.needed, moving=False, seeds=FIRST_SEED),
        Drawing("counting", stage.counting, moving=False, seeds=FIRST_SEED),
        Drawing("one", heads.one, ("layer", "head", "sequence", "marked"), ONE),
        Drawing("table", heads.table, (), ONE, wide=True),
        Drawing("replaced", ablation.draw, ("replaced", "by"), REPLACE),
        Drawing("effects", ablation.table, (), REPLACE, wide=True, moving=False),
        Drawing("streams", circuit.streams, FOLLOWED, CIRCUIT, moving=False, applies=two_layers),
        Drawing("paths", circuit.paths, FOLLOWED, CIRCUIT, moving=False),
        Drawing("blocks", circuit.blocks, ("read",), CIRCUIT, moving=False, applies=two_layers),
        Drawing("where_read", curves.where_read, SEED, CURVES, applies=many_layers),
        Drawing("losses", curves.losses, (), CURVES, live=True),
        Drawing("groups", curves.groups, (), CURVES),
        Drawing("recalls", curves.recalls, (), CURVES, live=True, applies=two_layers),
        Drawing("gradients", curves.gradients, (), CURVES),
        Drawing("reach", curves.reach, (), CURVES, moving=False),
        Drawing("one_layer", curves.one_layer, (), SINGLE, moving=False, wide=True),
    ),
    presets=PRESETS,
    cost=cost,
    milestones=milestones,
    goes_on=lambda config: True,
    picture=("doing",),
    diagram=transformer_diagram,
    export=EXPORT,
)
