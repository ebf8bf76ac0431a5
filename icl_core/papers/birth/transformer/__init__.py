"""The full transformer, with nothing frozen: which head does what?"""

from icl_core.contract.diagram import Arrow, Box, Diagram
from icl_core.contract.experiment import FIRST_SEED, MEAN_OF_SEEDS, Drawing, Experiment
from icl_core.papers.birth.shared.circuit import CIRCUIT
from icl_core.papers.birth.transformer import claims
from icl_core.papers.birth.transformer.draw import ablation, circuit, curves, heads, stage
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


LOW = 270.0  # y of the residual stream
HIGH = 110.0  # y of what reads from it and writes to it
START = 150.0  # x from which the layers stand
END = 860.0
SAY = (
    "Along the bottom runs the residual stream, the vector that each position carries from layer "
    "to layer. In every layer the heads look at earlier positions and write what they read there "
    "into the stream{}. Everything is learned{}."
)


def transformer_diagram(config: Config) -> Diagram:
    """Return the diagram of a config's model."""
    embedded = "frozen" if config.frozen else "trained"
    boxes = [Box("x", "w_E + p", 70, LOW, embedded, "character, position", width=130)]
    arrows = []
    source = "x"  # the box from which the stream comes
    parts = 1 + config.mlp  # of a layer
    room = (END - START) / (config.layers * parts)
    width = min(130.0, room - 50)
    for index in range(config.layers * parts):
        edge = START + index * room
        is_feed_forward = index % parts == 1
        box = _part(config, index // parts + 1, is_feed_forward, edge + width / 2, width)
        total = f"sum {index}"
        total_x = edge + width + 24
        boxes += [box, Box(total, "+", total_x, LOW, "sum")]
        arrows += [Arrow(source, total), Arrow(source, box.name, ((box.x, LOW),))]
        arrows.append(Arrow(box.name, total, ((total_x, HIGH),)))
        source = total
    boxes.append(Box("W_U", "W_U", 930, LOW, embedded, "next character", "accuracy", width=120))
    reads = ", and a feed-forward layer reads what has been written" if config.mlp else ""
    text = SAY.format(reads, " but the embeddings and W_U" if config.frozen else "")
    return Diagram(text, tuple(boxes), (*arrows, Arrow(source, "W_U")))


def _part(config: Config, layer: int, is_feed_forward: bool, x: float, width: float) -> Box:
    """Return the box of a layer's heads, or of its feed-forward layer, with its middle at x."""
    if is_feed_forward:
        return Box(
            f"F{layer}",
            f"F{'¹²³⁴'[layer - 1]}",
            x,
            HIGH,
            "trained",
            "ReLU" if width > 80 else "",
            width=width,
        )
    text = f"{config.heads} head{'s' * (config.heads > 1)}" if width > 80 else ""
    return Box(f"A{layer}", f"A{'¹²³⁴'[layer - 1]}", x, HIGH, "trained", text, "maps", width=width)


EXPERIMENT = Experiment(
    name="transformer",
    words=WORDS,
    config=Config,
    view=View,
    run=compute,
    claims=claims.ALL,
    metrics=claims.measure,
    drawings=(
        Drawing("maps", heads.maps, SEED, wide=True, explanations=heads.map_cells),
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
