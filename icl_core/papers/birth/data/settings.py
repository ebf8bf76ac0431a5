"""What is trained, what is drawn of it, and the settings to begin with."""

from dataclasses import dataclass, replace

from icl_core.contract.experiment import Preset
from icl_core.contract.knobs import choice, settings, slider
from icl_core.papers.birth.shared import settings as one
from icl_core.papers.birth.shared.settings import MODEL, REPEATS, SCALES, TASK, TRAINING


@dataclass(frozen=True)
class Data:
    """How the sequences of one training are drawn."""

    label: str
    triggers: str
    K: int
    outputs: str = "uniform"


DATA = {  # by id
    "frequent": Data("1 fixed, frequent", "fixed", 1),
    "rare": Data("5 fixed, rare", "fixed rare", 5),
    "random_1": Data("1 random", "random", 1),
    "random_3": Data("3 random", "random", 3),
    "random_5": Data("5 random", "random", 5),
    "bigram": Data("3 random, bigram outputs", "random", 3, "bigram"),
}
# the two trainings that differ in nothing but their outputs
OUTPUTS = {
    "random_3": "uniform",
    "bigram": "bigram",
}


@settings
class Config:
    """What is trained: the simplified transformer on all positions, once for each kind of data and
    each seed."""

    MAIN = ("d", "N", "T", "seeds")

    N: int = slider("vocabulary, N", 16, 65, default=65, group=TASK)
    T: int = slider("sequence length, T", 32, 256, default=64, step=32, group=TASK)
    d: int = slider("width, d", 32, 256, default=128, step=16, group=MODEL)
    scale: str = choice("initial scale", SCALES, default="code", group=MODEL)
    learning_rate: float = slider("learning rate", 0.01, 2.0, default=1.0, log=True, group=TRAINING)
    batch: int = slider("sequences per batch", 16, 512, default=64, step=16, group=TRAINING)
    steps: int = slider("steps", 10, 2000, default=300, step=10, group=TRAINING)
    seed: int = slider("seed", 0, 99, default=0, group=REPEATS)
    seeds: int = slider("seeds", 1, 5, default=1, group=REPEATS)

    def check(self) -> None:
        """Refuse what one of the trainings refuses."""
        training(self, "random_5", 0)


@settings
class View:
    """What is drawn of the trainings."""

    data_shown: str = choice(
        "data", {name: data.label for name, data in DATA.items()}, default="random_3"
    )


def training(config: Config, name: str, seed: int) -> one.Config:
    """Return the settings of one of the trainings: on the data called `name`, the `seed`-th."""
    data = DATA[name]
    return one.Config(
        triggers=data.triggers,
        K=data.K,
        outputs=data.outputs,
        feed_forward=True,
        positions="all",
        optimiser="sgd",
        **one.of_seed(config, seed, "N", "T", "d", "scale", "learning_rate", "batch", "steps"),
    )


CLASSROOM = Config()

PRESETS = (
    Preset(
        "classroom",
        "Five kinds of triggers",
        CLASSROOM,
        "Which triggers let the head form soonest? A sixth training, on bigram outputs, is in a "
        "drawer.",
        seeds=3,
    ),
    Preset(
        "paper size",
        "Five kinds of triggers, T = 256",
        replace(CLASSROOM, T=256, batch=512, steps=600),
        "Figures 4 to 7 at their own size. Initial weights as in the authors' code.",
        group="Paper's setting",
        seeds=3,
    ),
)
