"""The whole transformer, with nothing frozen: queries, values, embeddings, feed-forward layers, up
to four layers of up to eight heads. It solves the same task with the same mechanism, and now you
have to find out which head does what. Each head is labelled by what it does over many sequences:
how much of its attention is on the previous character, and how much on what followed an earlier
occurrence of the same character.

Play the training and watch the labels appear. In "Replace heads" you take heads away, or give them
what they found in another sequence, and see what the model can no longer say. "One layer" shows why
a single layer fails.
"""

from icl_core.contract.experiment import FIRST_SEED, MEAN_OF_SEEDS, Drawing, Experiment, Run
from icl_core.papers.birth.shared.behaviour import INDUCTION, PREVIOUS
from icl_core.papers.birth.shared.circuit_panels import CIRCUIT
from icl_core.papers.birth.transformer import claims
from icl_core.papers.birth.transformer.diagram import transformer_diagram
from icl_core.papers.birth.transformer.draw import (
    ablation,
    circuit,
    curves,
    explanations,
    heads,
    matrices_over_training,
    stage,
)
from icl_core.papers.birth.transformer.load_run import heads_shown, of_role
from icl_core.papers.birth.transformer.metrics import measure, milestones
from icl_core.papers.birth.transformer.organism import EXPORT
from icl_core.papers.birth.transformer.settings import PRESETS, Config, View
from icl_core.papers.birth.transformer.story import CURVES, ONE, REPLACE, SINGLE, STORY
from icl_core.papers.birth.transformer.train import EVALUATIONS, compute, one_layer
from icl_core.training.loop import evaluations


def headline(run: Run, view: View) -> str:
    """Return what you see: the model's accuracy at the step shown, and what its heads do."""
    snapshot = run.snapshot_at(view)
    step = run.snapshot_steps[snapshot]
    when = f"After {step} steps" if step else "Before training"
    right = f"{stage.accuracy_at(run, step):.0%} are right in context"
    heads = heads_shown(run, snapshot)
    if len(heads) == 1:
        return f"{when}, {right}, with a single head."
    previous = len(of_role(heads, PREVIOUS))
    induction = len(of_role(heads, INDUCTION))
    return (
        f"{when}, {right}: {previous} of {len(heads)} heads find{'s' * (previous == 1)} the "
        f"previous character, {induction} find{'s' * (induction == 1)} what followed."
    )


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
    title="The full transformer",
    about=__doc__ or "",
    config=Config,
    view=View,
    run=compute,
    claims=claims.ALL,
    metrics=measure,
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
        Drawing(
            "recalls", matrices_over_training.recalls, (), CURVES, live=True, applies=two_layers
        ),
        Drawing("gradients", matrices_over_training.gradients, (), CURVES),
        Drawing("reach", curves.reach, (), CURVES, moving=False),
        Drawing("one_layer", curves.one_layer, (), SINGLE, moving=False, wide=True),
    ),
    presets=PRESETS,
    headline=headline,
    cost=cost,
    milestones=milestones,
    goes_on=lambda config: True,
    story=STORY,
    picture=("doing",),
    diagram=transformer_diagram,
    export=EXPORT,
)
