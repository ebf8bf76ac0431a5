"""What is simulated and learned, what is drawn of it, and the settings to begin with."""

from dataclasses import replace

from icl_core.contract.experiment import Preset
from icl_core.contract.knobs import BadSetting, choice, settings, slider
from icl_core.contract.seeds import HELD, seed_shown_knob

# the groups of settings
LEARNED = "the learned memory"
FREQUENCIES = "frequencies"
REPEATS = "repetition"
FORMS = {"full": "one matrix W", "norm": "W, layer norm", "factorised": "U V", "mlp": "MLP"}
HEADS = 8


@settings
class Config:
    """What is simulated, for a range of widths and numbers of pairs, and the memory that is
    learned."""

    MAIN = ("d", "N", "exponent", "seeds")

    exponent: float = slider(
        "exponent of Zipf's law",
        0.5,
        2.0,
        default=1.0,
        step=0.25,
        group=FREQUENCIES,
        help="the pair of rank r comes up in proportion to 1 / r to this power",
    )
    N: int = slider("pairs to learn", 16, 128, default=64, step=16, group=LEARNED)
    d: int = slider("width of the learned memory, d", 32, 256, default=128, step=32, group=LEARNED)
    learning_rate: float = slider("learning rate", 1.0, 20.0, default=10.0, log=True, group=LEARNED)
    steps: int = slider("steps", 10, 1000, default=200, step=10, group=LEARNED)
    seed: int = slider("seed", 0, 99, default=0, group=REPEATS)
    seeds: int = slider("seeds", 1, 5, default=1, group=REPEATS)

    def check(self) -> None:
        """Refuse more pairs than dimensions: strengths can be read off a matrix only if its pairs
        are linearly independent."""
        if self.d < self.N:
            raise BadSetting(
                f"N must be at most d = {self.d}, so that strengths can be read off W, got {self.N}"
            )


@settings
class View:
    """Which memory is shown, and of how many pairs."""

    snapshot: int = slider("training step", 0, 31, default=31)
    seed_shown: int = seed_shown_knob(HELD)
    width: int = slider("width of the vectors, d", 16, 256, default=64, log=True)
    pairs: int = slider("stored pairs, P", 4, 1024, default=128, log=True)
    form: str = choice("form of the memory", FORMS, default="full")
    rank: int = slider("inner width of U V, d′", 4, 256, default=32, log=True, help="at most d")
    taken: int = slider(f"heads taken away, of {HEADS}", 0, HEADS - 1, default=0)
    threshold: float = slider("threshold of the MLP, b", 0.0, 1.2, default=0.75, step=0.05)
    members: int = slider("vectors in a set", 1, 3, default=2)


CLASSROOM = Config()

PRESETS = (
    Preset(
        "classroom",
        "Pairs, forms, frequencies",
        CLASSROOM,
        "Move the number of pairs: when do they mix up?",
        seeds=5,
    ),
    Preset(
        "tight",
        "As many pairs as dimensions",
        replace(CLASSROOM, d=64),
        "The learned memory has half the width: how long do rare pairs wait?",
        seeds=5,
    ),
    Preset(
        "steep",
        "Steeper frequencies",
        replace(CLASSROOM, exponent=1.5, steps=400),
        "Most pairs now hardly ever come up. What is left for them?",
        "Beyond the paper",
        seeds=5,
    ),
)
