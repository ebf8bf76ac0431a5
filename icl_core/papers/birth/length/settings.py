"""What is trained, what is drawn of it, and the settings to begin with."""

from dataclasses import replace

from icl_core.experiment import Preset
from icl_core.knobs import choice, settings, slider
from icl_core.papers.birth.shared import own_text
from icl_core.papers.birth.shared import settings as one
from icl_core.papers.birth.shared.own_text import size_field, text_field
from icl_core.papers.birth.shared.settings import MODEL, REPEATS, TASK, TRAINING

LENGTHS = {"128": "32, 64, 128", "256": "32, 64, 128, 256"}  # by the longest
OPTIMISERS = {"sgd": "SGD", "adamw": "AdamW"}
SCALES = {"sgd": "code", "adamw": "paper"}  # the initial scale with which each forms a head soonest


@settings
class Config:
    """What is trained: the simplified transformer, once for each sequence length, optimiser and seed."""

    lengths: str = choice("sequence lengths, T", LENGTHS, default="128", group=TASK)
    K: int = slider("triggers a sequence, K", 1, 10, default=8, group=TASK)
    text: str = text_field(TASK)
    N: int = size_field(32, TASK)
    d: int = slider("width, d", 32, 256, default=128, step=16, group=MODEL)
    sgd_rate: float = slider("learning rate of SGD", 0.01, 2.0, default=0.3, log=True, group=TRAINING)
    adamw_rate: float = slider("learning rate of AdamW", 0.001, 1.0, default=0.2, log=True, group=TRAINING)
    batch: int = slider("sequences a batch", 16, 512, default=64, step=16, group=TRAINING)
    steps: int = slider("steps", 10, 2000, default=150, step=10, group=TRAINING)
    seed: int = slider("seed", 0, 99, default=0, group=REPEATS)
    seeds: int = slider("number of seeds", 1, 5, default=1, group=REPEATS)

    def check(self) -> None:
        """Refuse what the longest training refuses."""
        training(self, "sgd", lengths_of(self)[-1], 0)

    @property
    def alphabet(self) -> int:
        """How many different characters the text has."""
        return own_text.alphabet(self)


@settings
class View:
    """What is drawn of the trainings."""

    until: str = choice(
        "time until",
        {
            "accuracy": "accuracy is 80%",
            "W_K2": "W_K² recalls half of its pairs",
            "W_K1": "W_K¹ recalls half of its early pairs",
        },
        default="accuracy",
    )
    optimiser_shown: str = choice("optimiser", OPTIMISERS, default="sgd")


def lengths_of(config: Config) -> list[int]:
    """The sequence lengths that a config compares, the shortest first."""
    return [length for length in (32, 64, 128, 256) if length <= int(config.lengths)]


def training(config: Config, optimiser: str, T: int, seed: int) -> one.Config:
    """One of the trainings: of an optimiser at a length, the `seed`-th."""
    return one.Config(
        T=T, K=config.K, text=config.text, N=config.N, d=config.d, batch=config.batch, steps=config.steps,
        optimiser=optimiser, scale=SCALES[optimiser], seed=(config.seed + seed) % 100,
        learning_rate=config.sgd_rate if optimiser == "sgd" else config.adamw_rate,
    )  # fmt: skip


CLASSROOM = Config()

PRESETS = (
    Preset("classroom", "Three lengths", CLASSROOM, "Each doubling of the length: how much longer?", seeds=3),
    Preset("all lengths", "Four lengths, all characters", replace(CLASSROOM, lengths="256", N=65, K=5, steps=600),
           "The vocabulary of the paper, and its length.", group="Beyond the paper", seeds=3, shipped=False),
)  # fmt: skip
