"""What is trained and sampled, what is drawn of it, and the settings to begin with."""

from dataclasses import replace

from icl_core.contract.experiment import Preset
from icl_core.contract.knobs import choice, settings, slider
from icl_core.machine import device
from icl_core.papers.birth.shared import settings as one
from icl_core.papers.birth.shared.settings import MODEL, REPEATS, SCALES, TASK, TRAINING

WIDTHS = {"128": "16, 32, 64, 128", "512": "16, 32, 64, 128, 256, 512"}  # by the largest
# learning rates that are tried, as multiples of the fixed one
FACTORS = (1 / 16, 1 / 4, 1.0, 4.0, 16.0, 64.0, 128.0, 256.0, 512.0)
NUMBERS = (1, 2, 4, 8, 16, 32, 64)  # of batches from which the one-step memory is estimated
ONE_STEP = "the one step"


@settings
class Config:
    """What is computed: W_O2 trained alone at several widths and learning rates, and the one-step
    memory."""

    MAIN = ("widths", "K", "N", "T", "seeds")

    widths: str = choice("widths, d", WIDTHS, default="512", group=MODEL)
    K: int = slider("triggers per sequence, K", 1, 10, default=5, group=TASK)
    N: int = slider("vocabulary, N", 16, 65, default=65, group=TASK)
    T: int = slider("sequence length, T", 32, 256, default=64, step=32, group=TASK)
    scale: str = choice("initial scale", SCALES, default="code", group=MODEL)
    learning_rate: float = slider(
        "fixed learning rate", 0.01, 2.0, default=0.2, log=True, group=TRAINING
    )
    batch: int = slider("sequences per batch", 16, 512, default=64, step=16, group=TRAINING)
    steps: int = slider("steps", 10, 600, default=100, step=10, group=TRAINING)
    one_step_T: int = slider(
        "sequence length in the one step", 32, 256, default=256, step=32, group=ONE_STEP
    )
    seed: int = slider("seed", 0, 99, default=0, group=REPEATS)
    seeds: int = slider("seeds", 1, 5, default=1, group=REPEATS)

    def check(self) -> None:
        """Refuse what the training at the largest width refuses, and what does not fit the memory.

        At the positions in context, about 3 K / (3 K + N) of all, what W_O2 reads is held four
        times; and fourteen times in the scratch memory that the products keep, as their shapes
        change with the number of these positions.
        """
        d = widths_of(self)[-1]
        training(self, d, 0)
        in_context = self.batch * self.T * 3 * self.K / (3 * self.K + self.N)  # positions
        at_positions = int(4 * in_context * (18 * d + 3 * len(FACTORS) * self.N))  # bytes
        needed = at_positions + one.memory(self.T, d, self.batch)
        device.check_memory(needed, f"batch {self.batch}, T {self.T}, K {self.K}")


@settings
class View:
    """What is drawn of them."""

    width_shown: str = choice("width, d", tuple(WIDTHS["512"].split(", ")), default="128")
    batches_shown: str = choice("batches", tuple(map(str, NUMBERS)), default="16")


def widths_of(config: Config) -> list[int]:
    """Return the widths that a config compares, the smallest first."""
    return [int(d) for d in WIDTHS[config.widths].split(", ")]


def training(config: Config, d: int, seed: int) -> one.Config:
    """Return the model and task of one width, the `seed`-th: nothing but W_O2 will learn."""
    return one.Config(
        triggers="random",
        d=d,
        optimiser="sgd",
        **one.of_seed(config, seed, "K", "N", "T", "scale", "learning_rate", "batch", "steps"),
    )


CLASSROOM = Config()

PRESETS = (
    Preset(
        "classroom",
        "Six widths",
        CLASSROOM,
        "How many dimensions does a memory of 65 pairs need?",
        seeds=5,
    ),
    Preset(
        "paper size",
        "Six widths, T = 256",
        replace(CLASSROOM, T=256, batch=512),
        "Figure 8 at its own size. Initial weights as in the authors' code.",
        group="Paper's setting",
        seeds=5,
    ),
)
