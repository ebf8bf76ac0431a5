"""What is trained of the full transformer (Config), what is drawn of it (View), and presets."""

from dataclasses import replace

from icl_core import device
from icl_core.experiment import Preset
from icl_core.knobs import BadSetting, choice, settings, slider, text, toggle
from icl_core.papers.birth.shared import own_text
from icl_core.papers.birth.shared.own_text import size_field, text_field
from icl_core.papers.birth.shared.settings import (
    MODEL,
    OPTIMISERS,
    OUTPUTS,
    POSITIONS,
    REPEATS,
    SCALES,
    TASK,
    TRAINING,
    TRIGGERS,
)

REPLACED = {"mean": "its mean output", "zero": "zero", "patch": "from another sequence"}


@settings
class Config:
    """What is trained; Section 3 and Appendix E. The paper's size is d = 128, T = 256, batches of 512."""

    triggers: str = choice(
        "triggers", TRIGGERS, default="random", group=TASK, help="what follows a trigger must be read from the context"
    )
    K: int = slider("triggers a sequence, K", 1, 10, default=5, group=TASK)
    outputs: str = choice(
        "outputs", OUTPUTS, default="uniform", group=TASK, help="how the character that follows a trigger is drawn"
    )
    text: str = text_field(TASK)
    N: int = size_field(65, TASK)
    T: int = slider("sequence length, T", 32, 256, default=64, step=32, group=TASK)
    no_repeat: bool = toggle(
        "no output repeats its trigger",
        default=False,
        group=TASK,
        help="if outputs may repeat their triggers, a sequence can get stuck on one character",
    )
    d: int = slider("width, d", 16, 512, default=64, step=16, group=MODEL)
    layers: int = slider("layers", 1, 4, default=2, group=MODEL, help="with one layer nothing looks one character back")
    heads: int = slider("heads a layer", 1, 8, default=4, group=MODEL, help="each is d / heads wide")
    mlp: bool = toggle("feed-forward, 4d wide, ReLU", default=True, group=MODEL)
    layer_norm: bool = toggle("layer norm", default=False, group=MODEL, help="before each part, and before W_U")
    scale: str = choice("initial scale", SCALES, default="code", group=MODEL)
    frozen: bool = toggle("embeddings frozen", default=False, group=TRAINING, help="W_E, the positions and W_U")
    positions: str = choice("loss on", POSITIONS, default="all", group=TRAINING)
    optimiser: str = choice("optimiser", OPTIMISERS, default="adamw", group=TRAINING)
    learning_rate: float = slider("learning rate", 0.0001, 2.0, default=0.004, log=True, group=TRAINING)
    batch: int = slider("sequences a batch", 16, 512, default=32, step=16, group=TRAINING)
    steps: int = slider("steps", 10, 5000, default=800, step=10, group=TRAINING)
    bfloat16: bool = toggle(
        "products in bfloat16",
        default=False,
        group=TRAINING,
        help="rounded to three digits, twice as fast at the paper's size; what is added up is not rounded",
    )
    seed: int = slider("seed", 0, 99, default=0, group=REPEATS)
    seeds: int = slider("number of seeds", 1, 5, default=1, group=REPEATS)

    def check(self) -> None:
        """Refuse what the text cannot give, heads of a broken width, and what does not fit the memory."""
        own_text.check(self)
        if self.d % self.heads:
            raise BadSetting(f"heads must divide the width, {self.d}, got {self.heads}")
        at_once = max(1, 2**11 // self.T)  # sequences
        maps = 4 * at_once * self.T * self.layers * (6 * self.heads * self.T + 24 * self.d)
        needed = maps + 4 * 80 * self.parameters + 4 * 16 * self.batch * self.T
        device.check_memory(needed, f"batch {self.batch}, T {self.T}, d {self.d}")

    @property
    def alphabet(self) -> int:
        """How many different characters the text has."""
        return own_text.alphabet(self)

    @property
    def parameters(self) -> int:
        """How many numbers the model has, but for layer norm's."""
        return (4 + 8 * self.mlp) * self.layers * self.d**2 + (2 * self.N + self.T) * self.d


@settings
class View:
    """What is drawn of a trained model, or asked of it."""

    snapshot: int = slider("training step", 0, 31, default=31)
    layer: int = slider("layer", 1, 4, default=2, at_most="layers")
    head: int = slider("head", 1, 8, default=1, at_most="heads")
    sequence: str = text("your own sequence (empty: the example)", 256, default="")
    marked: str = text("its triggers (empty: all that come again)", 10, default="")
    followed: int = slider("position followed (0: the last that the context tells)", 0, 24, default=0)
    read: str = choice("matrix read", {"W_K1": "W_K¹", "W_K2": "W_K²", "W_O2": "W_O²"}, default="W_K2")
    replaced: str = text("heads to replace, as layer.head", 100, default="1.1")
    by: str = choice("put in their place", REPLACED, default="mean")


HEADS = Config()
ONE_HEAD = replace(HEADS, heads=1)
FIXED = replace(ONE_HEAD, triggers="fixed", steps=400)
ONE_LAYER = replace(FIXED, layers=1, learning_rate=0.005, steps=800)
# Section 3 and Appendix E, with the layer norm that the authors' code has by default: without it their rate diverges
# with embeddings N(0, 1), and with N(0, 1/d) no head had formed after 1000 batches of 64.
FIGURE_2 = Config(
    K=3, T=256, d=128, heads=1, layer_norm=True, optimiser="sgd", learning_rate=0.2, batch=512, steps=1000,
    bfloat16=True,
)  # fmt: skip

# name, title, config, what to see
CLASSROOM = (
    (
        "heads",
        "Two layers of four heads",
        HEADS,
        "Which head does what? One layer shares the work, the other does not.",
    ),
    ("one head", "Two layers of one head", ONE_HEAD, "With a single head a layer, each has its task."),
    ("fixed", "Fixed triggers", FIXED, "A head that knows its triggers looks back for these alone."),
    ("one layer", "One layer fails", ONE_LAYER, "A single layer can count characters, not look back."),
)
PAPER = (
    ("fixed, paper size", "Figure 2: fixed triggers", replace(FIGURE_2, triggers="fixed"),
     "The paper's transformer at its size. How soon does it know its triggers?"),
    ("random, paper size", "Figures 2 and 10: random triggers", replace(FIGURE_2, steps=2000),
     "The same with random triggers: do its memories form as the simplified one's do?"),
)  # fmt: skip
UNTRAINED = (
    ("one layer, paper size", "One layer", replace(FIGURE_2, layers=1), "How far one layer gets."),
    ("one layer, fixed, paper size", "One layer, fixed triggers", replace(FIGURE_2, layers=1, triggers="fixed"),
     "How far one layer gets that may know its triggers."),
    ("figure 11", "Figure 11: four heads", replace(FIGURE_2, heads=4),
     "Which of them look one back, which find what followed?"),
)  # fmt: skip


def _presets(rows: tuple, group: str, seeds: int, shipped: bool) -> tuple[Preset, ...]:
    return tuple(Preset(name, title, config, about, group, seeds, shipped) for name, title, config, about in rows)


PRESETS = (
    *_presets(CLASSROOM, "Classroom", 1, True),
    *_presets(PAPER, "Paper's setting", 1, True),
    *_presets(UNTRAINED, "Paper's setting", 1, False),
)
