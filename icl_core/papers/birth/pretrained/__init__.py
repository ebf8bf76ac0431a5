"""Heads of a real language model, measured as the paper measures its own."""

from dataclasses import replace

from icl_core.contract.experiment import Drawing, Experiment
from icl_core.papers.birth.pretrained import claims
from icl_core.papers.birth.pretrained.diagram import pretrained_diagram
from icl_core.papers.birth.pretrained.draw import memories, over_steps, own_text, stage
from icl_core.papers.birth.pretrained.load_run import milestones
from icl_core.papers.birth.pretrained.run import compute
from icl_core.papers.birth.pretrained.settings import PRESETS, Config, View
from icl_core.papers.birth.pretrained.words import WORDS

# drawers
MEMORIES = "The memories"
HEADS = "Heads in numbers"
TYPED = "Your own text"
PASSES = 30  # of five draws, on all their positions


def cost(config: Config) -> float:
    """Return the giga-operations of a run."""
    millions, _, layers, heads = config.size
    positions = 5 * PASSES * config.sequences * (2 * config.length + 1) + 6 * 2 * config.asked
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
    Drawing("pairs", stage.pairs, (), moving=False, clicked=stage.show_pair),
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


def is_series(config: Config) -> bool:
    """Return whether it is a series of checkpoints that is measured."""
    return config.is_series


def is_single(config: Config) -> bool:
    """Return whether it is one model that is measured."""
    return not config.is_series


DRAWINGS = (
    *(replace(drawing, applies=is_single) for drawing in SINGLE),
    Drawing("appear", over_steps.appear, applies=is_series),
    Drawing("series_heads", over_steps.heads, ("score",), applies=is_series),
    Drawing("series_losses", over_steps.losses, applies=is_series),
    Drawing("files", over_steps.files, (), "The files", wide=True, moving=False, applies=is_series),
)


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
