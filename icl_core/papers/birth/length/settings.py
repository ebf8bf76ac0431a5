"""What is trained, what is drawn of it, and the settings to begin with."""

from dataclasses import replace

from icl_core.contract.experiment import Preset
from icl_core.contract.knobs import choice, settings, slider, toggle
from icl_core.papers.birth.shared import own_text
from icl_core.papers.birth.shared import settings as one
from icl_core.papers.birth.shared.full import settings as whole
from icl_core.papers.birth.shared.own_text import size_field, text_field
from icl_core.papers.birth.shared.settings import MODEL, REPEATS, TASK, TRAINING

LENGTHS = {"128": "32, 64, 128", "256": "32, 64, 128, 256"}  # by the longest
FULL = (
    "everything learns, with feed-forward layers and layer norm, and the loss counts all positions"
)
OPTIMISERS = {"sgd": "SGD", "adamw": "AdamW"}
SCALES = {"sgd": "code", "adamw": "paper"}  # the initial scale with which each forms a head soonest


@settings
class Config:
    """What is trained: a transformer, once for each sequence length, optimiser and seed."""

    MAIN = ("lengths", "K", "d", "N", "seeds")

    lengths: str = choice("sequence lengths, T", LENGTHS, default="128", group=TASK)
    K: int = slider("triggers per sequence, K", 1, 10, default=8, group=TASK)
    text: str = text_field(TASK)
    N: int = size_field(32, TASK)
    full: bool = toggle("the full transformer", default=False, added=True, group=MODEL, help=FULL)
    d: int = slider("width, d", 32, 256, default=128, step=16, group=MODEL)
    sgd_rate: float = slider(
        "learning rate of SGD", 0.01, 2.0, default=0.3, log=True, group=TRAINING
    )
    adamw_rate: float = slider(
        "learning rate of AdamW",
        0.001,
        1.0,
        default=0.2,
        log=True,
        shown_if="simplified",
        group=TRAINING,
    )
    full_rate: float = slider(
        "learning rate of AdamW",
        1e-4,
        0.1,
        default=0.004,
        log=True,
        added=True,
        shown_if="full",
        group=TRAINING,
    )
    batch: int = slider("sequences per batch", 16, 512, default=64, step=16, group=TRAINING)
    steps: int = slider("steps", 10, 2000, default=150, step=10, group=TRAINING)
    seed: int = slider("seed", 0, 99, default=0, group=REPEATS)
    seeds: int = slider("number of seeds", 1, 5, default=1, group=REPEATS)

    def check(self) -> None:
        """Refuse what the longest training refuses."""
        training(self, "sgd", lengths_of(self)[-1], 0)

    @property
    def simplified(self) -> bool:
        """Whether only the memories learn."""
        return not self.full

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


def training(config: Config, optimiser: str, T: int, seed: int) -> one.Config | whole.Config:
    """One of the trainings: of an optimiser at a length, the `seed`-th."""
    shared = one.of_seed(config, seed, "K", "text", "N", "d", "batch", "steps")
    shared |= {"T": T, "optimiser": optimiser}
    adamw = config.full_rate if config.full else config.adamw_rate
    rate = config.sgd_rate if optimiser == "sgd" else adamw
    if config.full:
        return whole.Config(**shared, learning_rate=rate, heads=1, layer_norm=True)
    return one.Config(**shared, learning_rate=rate, scale=SCALES[optimiser])


CLASSROOM = Config()

WHOLE = replace(CLASSROOM, full=True, d=64, batch=32, steps=320)
ALL = {"lengths": "256", "N": 65, "K": 5}
BEYOND = "Beyond the paper"

PRESETS = (
    Preset("classroom", "Three lengths", CLASSROOM, "Each doubling of the length: how much "
                                                    "longer?", seeds=3),
    Preset("full", "Three lengths, full transformer", WHOLE, "Where everything learns: does the "
                                                             "length matter?",
           seeds=3),
    Preset("all lengths", "Four lengths, all characters", replace(CLASSROOM, steps=600, **ALL),
           "The vocabulary of the paper, and its length.", group=BEYOND, seeds=3),
    Preset("full, four lengths", "Four lengths, full transformer", replace(WHOLE, lengths="256"),
           "Up to the paper's length, where everything learns.", group=BEYOND, seeds=3),
)  # fmt: skip
