"""The settings of the constructed model: what is built (Config), what is drawn of it (View), and
the presets."""

from dataclasses import replace

from icl_core.contract.experiment import Preset
from icl_core.contract.knobs import BadSetting, choice, settings, slider, text, toggle
from icl_core.machine import device
from icl_core.papers.birth.shared import own_text
from icl_core.papers.birth.shared.own_text import size_field, text_field
from icl_core.papers.birth.shared.settings import memory
from icl_core.papers.birth.shared.task_knobs import TRIGGERS

TASK = "the task"
BUILT = "the construction"
BESIDE = "the trained model, repetition"
EMBEDDINGS = {
    "random": "random, nearly orthogonal",
    "orthonormal": "orthonormal (needs d ≥ 2N + T)",
}
WIDTHS = (16, 32, 64, 128, 256, 512)  # of the constructions, beside d
SEQUENCES = 256  # held out, on which a construction is evaluated
TALK = {
    "kept": "as in eqs. 7 and 8",
    "within": "exact on its stored pairs",
    "stream": "cleaned, with the least cross-talk",
}


@settings
class Config:
    """What is built; Section 4.2, eqs. 7 and 8."""

    MAIN = ("K", "d", "N", "T", "seeds")

    triggers: str = choice("triggers", TRIGGERS, default="random", group=TASK)
    K: int = slider("triggers per sequence, K", 1, 10, default=5, group=TASK)
    text: str = text_field(TASK)
    N: int = size_field(65, TASK, added=True)
    T: int = slider("sequence length, T", 32, 256, default=64, step=32, group=TASK)
    d: int = slider("width, d", 16, 512, default=128, step=16, group=BUILT)
    logit: float = slider(
        "attention score of a match",
        1.0,
        40.0,
        default=15.0,
        step=0.5,
        group=BUILT,
        help="sets the scale of W_K¹ and W_K²: the higher, the sharper the attention",
    )
    output: float = slider(
        "logit of the output",
        1.0,
        40.0,
        default=10.0,
        step=0.5,
        group=BUILT,
        help="sets the scale of W_O²: the higher, the louder the character attended to",
    )
    embeddings: str = choice("embeddings", EMBEDDINGS, default="random", group=BUILT)
    feed_forward: bool = toggle("bigrams in W_F", default=False, group=BUILT)
    beside: int = slider(
        "steps of the model trained beside it", 0, 600, default=0, step=50, group=BESIDE
    )
    seed: int = slider("seed", 0, 99, default=0, group=BESIDE)
    seeds: int = slider("number of embeddings", 1, 6, default=1, group=BESIDE)

    def check(self) -> None:
        """Refuse what the text cannot give. Orthonormal rows need as many dimensions as there are
        rows; the model trained beside has neither these nor W_F, so it would compare unlike things.
        And refuse what does not fit the memory: an evaluation at the largest width, some sixty
        matrices of it, what the sequences are drawn from, and their logits with all that W_F may
        read."""
        own_text.check(self)
        if self.d < self.least_width:
            raise BadSetting(
                f"d must be at least 2 N + T = {self.least_width} for orthonormal embeddings, got "
                f"{self.d}"
            )
        if self.beside and (self.feed_forward or self.embeddings == "orthonormal"):
            raise BadSetting(
                f"beside must be 0 with W_F or orthonormal embeddings, got {self.beside}"
            )
        widest = WIDTHS[-1]
        drawn = 32 * SEQUENCES * self.T
        logits = 8 * SEQUENCES * self.T * self.N if self.feed_forward else 0
        needed = memory(self.T, widest, 4 * SEQUENCES) + 4 * (60 * widest**2 + 10 * drawn + logits)
        device.check_memory(needed, f"T {self.T}, N {self.N}")

    @property
    def alphabet(self) -> int:
        """How many different characters the text has."""
        return own_text.alphabet(self)

    @property
    def least_width(self) -> int:
        """How many dimensions the embeddings need."""
        return 2 * self.N + self.T if self.embeddings == "orthonormal" else 1


@settings
class View:
    """What is drawn of a constructed model, or asked of it."""

    cross_talk: str = choice("construction", TALK, default="kept")
    memory: str = choice("matrix", {"W_O2": "W_O²", "W_K2": "W_K²", "W_K1": "W_K¹"}, default="W_O2")
    sequence: str = text("your own sequence (empty: an example)", 256, default="")
    marked: str = text("which characters are triggers (empty: all that repeat)", 10, default="")
    sample: int = slider("random sequence no. (0: the example)", 0, 99, default=0)
    length: int = slider("positions shown", 8, 256, default=40)


ORTHONORMAL = Config(feed_forward=True, d=256, embeddings="orthonormal", output=30.0)
PRESETS = (
    Preset(
        "by hand",
        "Constructed, beside a trained model",
        Config(beside=300),
        "The drawer “Cross-talk” cleans one matrix, then all: how much of the gap does each "
        "explain?",
        seeds=6,
    ),
    Preset(
        "by hand, paper size",
        "Constructed, at T = 256",
        Config(T=256, beside=300),
        "There are more positions than dimensions, and the gap is cross-talk all the same.",
        "Paper's setting",
        6,
    ),
    Preset(
        "bigrams fail",
        "Bigrams in W_F, random embeddings",
        Config(feed_forward=True, d=256),
        "W_F should read the current character alone, but reads what W_O² writes, too.",
        seeds=6,
    ),
    Preset(
        "bigrams, orthonormal",
        "Bigrams in W_F, orthonormal embeddings",
        replace(ORTHONORMAL, triggers="fixed"),
        "After triggers the model is right. Everywhere else a uniform guess would do better.",
        seeds=6,
    ),
    Preset(
        "bigrams, orthonormal, random triggers",
        "Orthonormal, random triggers",
        ORTHONORMAL,
        "W_F knows the bigrams of every character, triggers included. W_O² must outweigh it.",
        seeds=6,
    ),
)
