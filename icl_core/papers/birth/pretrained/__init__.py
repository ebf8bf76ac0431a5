"""Heads of a real language model, measured as the paper measures its own."""

from dataclasses import replace

from icl_core.contract.diagram import Arrow, Box, Diagram
from icl_core.contract.experiment import Drawing, Experiment, Panel, Run
from icl_core.papers.birth.pretrained import claims
from icl_core.papers.birth.pretrained.draw import memories, own_text, single_heads, stage
from icl_core.papers.birth.pretrained.load_run import check_heads, milestones
from icl_core.papers.birth.pretrained.run import compute
from icl_core.papers.birth.pretrained.settings import (
    DISTANCES,
    MODELS,
    PRESETS,
    SERIES,
    Config,
    View,
)
from icl_core.papers.birth.pretrained.words import WORDS

# drawers
MEMORIES = "The memories"
HEADS = "Heads in numbers"
BACK = "How far back"
TYPED = "Your own text"
PASSES = 60  # of five draws, on all their positions


def cost(config: Config) -> float:
    """Return the giga-operations of a run."""
    millions, _, layers, heads = config.size
    length = 2 * config.length + 1  # positions of a sequence
    distances = sum(DISTANCES)
    alone = layers * heads / 2  # passes of one sequence in each draw, from the head's layer on
    measured = 5 * (PASSES * config.sequences * length + distances)
    positions = measured + 6 * (
        alone * length + 2 * config.asked
    )  # heads are chosen on a sixth draw
    pairs = 6 * 250 * config.asked**2 / 1e4
    return 2e-3 * positions * millions + 1e-6 * layers * heads * pairs


READ = ("passage",)
OWN = ("typed",)
GRAFT = ("graft", "grafted", "grafted_count", "typed_head")

# of one model
SINGLE = (
    Drawing("losses", stage.losses, READ),
    Drawing("lens", stage.lens, READ),
    Drawing("one", stage.one, (*READ, "shown"), moving=False),
    Drawing("heads", stage.heads, ("score", "shown"), moving=False, clicked=stage.show_head),
    Drawing("without", stage.without, (), moving=False),
    Drawing("alone", single_heads.alone, (), moving=False),
    Drawing("losses_by_distance", single_heads.losses_by_distance, (), BACK, moving=False),
    Drawing("heads_by_distance", single_heads.heads_by_distance, (), BACK, moving=False),
    Drawing("pairs", stage.pairs, (), MEMORIES, moving=False, clicked=stage.show_pair),
    Drawing("own_losses", own_text.losses, (*OWN, *GRAFT), TYPED),
    Drawing("own_grafts", own_text.grafts, (*OWN, *GRAFT), TYPED, moving=False),
    Drawing(
        "own_heads",
        own_text.heads,
        (*OWN, "typed_score", "typed_head"),
        TYPED,
        moving=False,
        clicked=own_text.show_head,
    ),
    Drawing("own_one", own_text.one, (*OWN, "typed_head"), TYPED, moving=False),
    Drawing("by_offset", memories.by_offset, (), MEMORIES, moving=False),
    Drawing("needed", memories.needed, (), MEMORIES, moving=False),
    Drawing("copying", memories.copying, (), MEMORIES, moving=False),
    Drawing("moved", memories.moved, (), MEMORIES, moving=False),
    Drawing("tokens", stage.tokens, READ, "Token by token", wide=True),
    Drawing("table", memories.table, (), HEADS, wide=True, moving=False),
    Drawing("zero", memories.zero, (), HEADS, wide=True, moving=False),
)


WITHOUT_HEADS = ("losses", "lens", "tokens", "own_losses")  # drawings that need no heads


def of_heads(drawing: Drawing) -> Drawing:
    """Return a drawing that is not drawn of a model without heads, and says why."""

    def draw(run: Run, view: View) -> Panel:
        check_heads(run)
        return drawing.draw(run, view)

    return drawing if drawing.name in WITHOUT_HEADS else replace(drawing, draw=draw)


def is_series(config: Config) -> bool:
    """Return whether it is a series of checkpoints that is measured."""
    return config.is_series


def is_single(config: Config) -> bool:
    """Return whether it is one model that is measured."""
    return not config.is_series


DRAWINGS = (
    *(replace(of_heads(drawing), applies=is_single) for drawing in SINGLE),
    Drawing("appear", stage.appear, applies=is_series),
    Drawing("series_heads", stage.series_heads, ("score",), applies=is_series),
    Drawing("series_losses", stage.series_losses, applies=is_series),
    Drawing("files", stage.files, (), "The files", wide=True, moving=False, applies=is_series),
)


LOW = 270.0  # the height of the residual stream
HIGH = 110.0  # that of what reads from it and writes to it
SAY = (
    "Along the bottom runs the residual stream. {} has {} layers of {} heads, with a feed-forward "
    "layer behind each. Drawn are the two kinds of heads that are asked about: one of an early "
    "layer writes into each position which token stood before it, one of a later layer looks for "
    "its own token among these notes and reads out what stands there. Every part reads the stream "
    "under a norm; none of the weights is trained here."
)

SAY_SERIES = "Along the bottom runs the residual stream of the model at every checkpoint. "
OPENS_SERIES = {"losses": "series_losses", "pairs": "series_heads", "one": "series_heads"}


def pretrained_diagram(config: Config) -> Diagram:
    """Return the model of a config."""
    _, _, layers, heads = config.size
    boxes = (
        Box("x", "w_E", 70, LOW, "given", "token", "losses", width=110),
        Box("previous", "previous token", 260, HIGH, "given", "writes W_O W_V", "pairs", width=150),
        Box("sum 1", "+", 360, LOW, "sum"),
        Box("induction", "induction", 520, HIGH, "given", "asks by W_K", "one", width=150),
        Box("sum 2", "+", 620, LOW, "sum"),
        Box("behind", "layers behind", 760, HIGH, "given", "make it readable", "lens", width=150),
        Box("sum 3", "+", 850, LOW, "sum"),
        Box("W_U", "W_U", 930, LOW, "given", "next token", "losses", width=110),
    )
    arrows = []
    last = "x"
    for number, name in enumerate(("previous", "induction", "behind"), 1):
        box = next(each for each in boxes if each.name == name)
        total = next(each for each in boxes if each.name == f"sum {number}")
        arrows += [
            Arrow(last, total.name),
            Arrow(last, name, ((box.x, LOW),)),
            Arrow(name, total.name, ((total.x, HIGH),)),
        ]
        last = total.name
    name = MODELS[config.model]
    sentence = SAY.format(f"{name[:1].upper()}{name[1:]}", layers, heads)
    if config.model == SERIES:
        sentence = SAY_SERIES + SAY.partition(". ")[2].partition(". ")[2]
        boxes = tuple(replace(box, opens=OPENS_SERIES.get(box.opens, "")) for box in boxes)
    return Diagram(sentence, boxes, (*arrows, Arrow(last, "W_U")))


EXPERIMENT = Experiment(
    name="pretrained",
    words=WORDS,
    config=Config,
    view=View,
    run=compute,
    claims=claims.ALL,
    metrics=claims.measure,
    drawings=DRAWINGS,
    presets=PRESETS,
    cost=cost,
    milestones=milestones,
    picture=("heads",),
    diagram=pretrained_diagram,
)
