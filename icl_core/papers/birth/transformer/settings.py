"""What is drawn of the full transformer (View), and presets."""

from dataclasses import replace

from icl_core.contract.experiment import Preset
from icl_core.contract.knobs import choice, settings, slider, text
from icl_core.contract.seeds import HELD, seed_shown_knob
from icl_core.papers.birth.shared.full.settings import Config

REPLACED = {"mean": "its mean output", "zero": "zero", "patch": "from another sequence"}


@settings
class View:
    """What is drawn of a trained model, or asked of it."""

    snapshot: int = slider("training step", 0, 31, default=31)
    seed_shown: int = seed_shown_knob(HELD)
    layer: int = slider("layer", 1, 4, default=2, at_most="layers")
    head: int = slider("head", 1, 8, default=1, at_most="heads")
    sequence: str = text("your own sequence (empty: the example)", 256, default="")
    marked: str = text("which characters are triggers (empty: all that repeat)", 10, default="")
    followed: int = slider(
        "position followed (0: the last that the context tells)", 0, 24, default=0
    )
    read: str = choice(
        "matrix read", {"W_K1": "W_K¹", "W_K2": "W_K²", "W_O2": "W_O²"}, default="W_K2"
    )
    replaced: str = text("heads to replace, as layer.head", 100, default="1.1")
    by: str = choice("put in their place", REPLACED, default="mean")


HEADS = Config()
ONE_HEAD = replace(HEADS, heads=1, steps=300)
FIXED = replace(ONE_HEAD, triggers="fixed", steps=200)
ONE_LAYER = replace(FIXED, layers=1, learning_rate=0.005, steps=600)
# Section 3 and Appendix E, with the layer norm that the authors' code has by default: without it
# their rate diverges with embeddings N(0, 1), and with N(0, 1/d) no head had formed after 1000
# batches of 64.
FIGURE_2 = Config(
    K=3,
    T=256,
    d=128,
    heads=1,
    layer_norm=True,
    optimiser="sgd",
    learning_rate=0.2,
    batch=512,
    steps=1000,
    bfloat16=True,
)

# name, title, config, what to see
CLASSROOM = (
    (
        "heads",
        "Two layers of four heads",
        HEADS,
        "Which head does what? One layer shares the work, the other does not.",
    ),
    (
        "one head",
        "Two layers of one head",
        ONE_HEAD,
        "With a single head per layer, each has its task.",
    ),
    (
        "fixed",
        "Fixed triggers",
        FIXED,
        "A head that knows its triggers looks back for these alone.",
    ),
    (
        "one layer",
        "One layer fails",
        ONE_LAYER,
        "A single layer can count characters, not look back.",
    ),
)
PAPER = (
    (
        "fixed, paper size",
        "Figure 2: fixed triggers",
        replace(FIGURE_2, triggers="fixed"),
        "The paper's transformer at its size. How soon does it know its triggers?",
    ),
    (
        "random, paper size",
        "Figures 2 and 10: random triggers",
        replace(FIGURE_2, steps=4000),
        "The same with random triggers: do its memories form as the simplified one's do?",
    ),
    ("one layer, paper size", "One layer", replace(FIGURE_2, layers=1), "How far one layer gets."),
    (
        "one layer, fixed, paper size",
        "One layer, fixed triggers",
        replace(FIGURE_2, layers=1, triggers="fixed"),
        "How far one layer gets that may know its triggers.",
    ),
    (
        "figure 11",
        "Figure 11: four heads",
        replace(FIGURE_2, heads=4),
        "Which of them find the previous character, which what followed?",
    ),
)

# the others have one
THREE_SEEDS = ("fixed, paper size", "one layer, paper size", "one layer, fixed, paper size")


def _presets(rows: tuple, group: str) -> tuple[Preset, ...]:
    return tuple(
        Preset(name, title, config, about, group, seeds=3 if name in THREE_SEEDS else 1)
        for name, title, config, about in rows
    )


PRESETS = (
    *_presets(CLASSROOM, "Classroom"),
    *_presets(PAPER, "Paper's setting"),
)
