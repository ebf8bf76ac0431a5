"""The settings of the experiment on directly learned first-order methods, its view and
its presets."""

from typing import Any

from icl_core.contract.experiment import Preset
from icl_core.contract.knobs import choice, settings, slider, text
from icl_core.contract.settings_io import whole_numbers
from icl_core.papers.memformers.shared.settings import (
    AUTHORS_TRAINING,
    PROTOCOLS,
    REPEATS,
    TASK,
    TRAINING,
    Model,
    Task,
    task_of,
)
from icl_core.papers.memformers.shared.task import SPECTRA

METHOD = "the method"
MEMORY = {
    "learned shared": "Λ_i, shared by all steps (authors' code)",
    "learned": "Λ_i^k, free for every step (eq. 1.1)",
}


PROMPTS = {
    "fixed": "of every seed its own",
    "authors": "the authors' own (torch's seed 999; their U is that of seed 1)",
}
FEWEST = 10  # prompts of the authors
LONGER = 5  # times as long as from ten prompts the authors train on more


@settings
class Config(Task):
    """What is trained; Section 5, Figure 11, Theorem 5.1. One method for every number of prompts
    and of steps."""

    MAIN = ("d", "n", "layers", "condition", "seeds")

    FIRST = ("memory", "layers", "sizes", "protocol", "steps", "learning_rate")

    memory: str = choice("coefficients", MEMORY, default="learned shared", group=METHOD)
    layers: int = slider("steps of the method, up to L", 1, 6, default=4, group=METHOD)
    sizes: str = text(
        "numbers of prompts to learn from", 60, default="10, 100, 1000", group=TRAINING
    )
    batches: str = choice(
        "prompts",
        PROMPTS,
        default="fixed",
        group=TRAINING,
        help="on the authors' own, more than ten are trained on five times as long",
    )
    protocol: str = choice("minimised", PROTOCOLS, default="ours", group=TRAINING)
    steps: int = slider("steps of training", 10, 5000, default=1000, step=10, group=TRAINING)
    learning_rate: float = slider(
        "learning rate", 0.001, 1.0, default=0.05, log=True, group=TRAINING, was="rate"
    )
    spectrum: str = choice("eigenvalues of Σ", SPECTRA, default="isotropic", group=TASK)
    seed: int = slider("seed", 0, 99, default=0, group=REPEATS)
    seeds: int = slider("number of seeds", 1, 5, default=1, group=REPEATS)

    def check(self) -> None:
        """Refuse a list that holds no numbers of prompts, a spectrum that is none, and what does
        not fit the memory."""
        for prompts in (max(sizes_of(self)), None):
            model_of(self, prompts)


def sizes_of(config: Config) -> list[int]:
    """The numbers of prompts, ascending, each once."""
    return whole_numbers("sizes", config.sizes, 6, 1, 20_000)


def model_of(config: Config, prompts: int | None) -> Model:
    """The training on a number of prompts; or (None) on fresh ones at every step, which is what
    endlessly many would give, always minimised as ours is."""
    own = {name: getattr(config, name) for name in ("layers", "steps", "seed", "seeds")}
    if prompts is None:
        return Model(variant=config.memory, batches="fresh", **own, **task_of(config))
    kept = {"batches": config.batches, "batch": prompts, "learning_rate": config.learning_rate}
    if config.batches == "authors" and prompts > FEWEST:
        own["steps"] *= LONGER
    trained = (
        AUTHORS_TRAINING | {"initial": 1e-5} if config.protocol == "authors" else {}
    )  # they start at zero
    return Model(variant=config.memory, **kept, **own, **trained, **task_of(config))


@settings
class View:
    """What is drawn of the methods."""

    steps_shown: int = slider("steps of the method", 1, 6, default=2)


# their gradients are sums over 19 examples: 0.01 there is 0.19 here
AUTHORS: dict[str, Any] = {
    "protocol": "authors",
    "learning_rate": 0.19,
    "n": 19,
    "sizes": "10, 50, 100, 1000",
    "steps": 1000,
}

PRESETS = (
    Preset(
        "figure 11",
        "The authors' protocol",
        Config(**AUTHORS),
        "On its own ten prompts the method beats conjugate gradient; on fresh ones it fails. "
        "Rings are the paper's points.",
        "Figures",
        seeds=5,
    ),
    Preset(
        "figure 11, their prompts",
        "The authors' protocol and prompts",
        Config(**AUTHORS, batches="authors", seed=1),
        "The very prompts of Figure 11: the rings are to be met.",
        "Figures",
    ),
    Preset(
        "to the end",
        "From 10, 100 and 1000 prompts",
        Config(),
        "Trained to the end, on all 20 examples of each prompt.",
        seeds=5,
    ),
    Preset(
        "free",
        "Λ free for every step",
        Config(memory="learned"),
        "There is more to learn: it takes more prompts, and gains more.",
        seeds=5,
    ),
    Preset(
        "how many",
        "How many prompts are enough",
        Config(layers=2, sizes="3, 10, 30, 100, 300, 1000"),
        "How fast does the excess fall with the number of prompts? A few rare ones rule its mean.",
        seeds=5,
    ),
)
