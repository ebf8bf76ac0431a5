"""The settings of the experiment on directly learned first-order methods, its view and
its presets."""

from typing import Any

from icl_core.contract.experiment import Preset
from icl_core.contract.knobs import BadSetting, choice, settings, slider, text
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
    "memformer scalar": "a CGD-like Memformer, A = a I (Figures 5 to 7)",
    "memformer full": "a CGD-like Memformer, a full matrix A for each layer",
}
# of the Memformers among them, the preconditioner
MEMFORMERS = {"memformer scalar": "scalar", "memformer full": "full"}
PROMPTS = {
    "gaussian": "Gaussian x and w* (the paper's)",
    "spheres": "x and w* on spheres, so that the loss is bounded",
}
DRAWN = {
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

    memory: str = choice("what is learned", MEMORY, default="learned shared", group=METHOD)
    layers: int = slider("steps of the method, up to L", 1, 6, default=4, group=METHOD)
    sizes: str = text(
        "numbers of prompts to learn from", 60, default="10, 100, 1000", group=TRAINING
    )
    batches: str = choice(
        "prompts drawn",
        DRAWN,
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
    prompts: str = choice("prompts", PROMPTS, default="gaussian", group=TASK, added=True)
    seed: int = slider("seed", 0, 99, default=0, group=REPEATS)
    seeds: int = slider("seeds", 1, 5, default=1, group=REPEATS)

    def check(self) -> None:
        """Refuse a list that holds no numbers of prompts, a spectrum that is none, a Memformer or
        the authors' draw on bounded prompts, and what does not fit the memory."""
        if self.prompts != "gaussian" and self.memory in MEMFORMERS:
            raise BadSetting(f"prompts must be gaussian for a Memformer, got {self.prompts}")
        if self.prompts != "gaussian" and self.batches == "authors":
            raise BadSetting(f"prompts must be gaussian as the authors drew, got {self.prompts}")
        for prompts in (max(sizes_of(self)), None):
            model_of(self, prompts)


def sizes_of(config: Config) -> list[int]:
    """Return the numbers of prompts, ascending, each once."""
    return whole_numbers("sizes", config.sizes, 7, 1, 20_000)


def model_of(config: Config, prompts: int | None) -> Model:
    """Return the training on a number of prompts; or (None) on fresh ones at every step, which is
    what endlessly many would give, always minimised as ours is."""
    own = {name: getattr(config, name) for name in ("layers", "steps", "seed", "seeds")}
    own["variant"] = config.memory
    if config.memory in MEMFORMERS:
        own |= {"variant": "cgd", "preconditioner": MEMFORMERS[config.memory]}
    if prompts is None:
        return Model(batches="fresh", **own, **task_of(config))
    batch = {"batches": config.batches, "batch": prompts, "learning_rate": config.learning_rate}
    if config.batches == "authors" and prompts > FEWEST:
        own["steps"] *= LONGER
    trained: dict[str, Any] = {}
    if config.protocol == "authors":
        # The authors' Λ start at zero, their A close to it.
        initial = 1e-4 if config.memory in MEMFORMERS else 1e-5
        trained = {**AUTHORS_TRAINING, "initial": initial}
        trained |= {"coordinates": "authors"} if config.memory in MEMFORMERS else {}
    return Model(**batch, **own, **trained, **task_of(config))


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

# Their training of Figures 5 to 7, and the batch sizes from theirs, 1 and 10, on.
BATCH_SIZES: dict[str, Any] = {
    "protocol": "authors",
    "learning_rate": 0.01,
    "spectrum": "paper",
    "sizes": "1, 3, 10, 30, 100, 300, 1000",
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
    Preset(
        "batch size",
        "A Memformer with A = aI, batches of 1 to 1000",
        Config(memory="memformer scalar", **BATCH_SIZES),
        "Figures 5 and 6 have batches of 1 and 10. Up to which size is the model ahead of "
        "conjugate gradient on its own prompts, and is it ever on fresh ones?",
        "Beyond the paper",
        seeds=5,
    ),
    Preset(
        "batch size, full A",
        "A Memformer with full A, batches of 1 to 1000",
        Config(memory="memformer full", **BATCH_SIZES),
        "With matrices to learn it is ahead on its own prompts at every size; on fresh ones the "
        "gap closes at 1000.",
        "Beyond the paper",
        seeds=5,
    ),
    Preset(
        "bounded prompts",
        "Theorem 5.1: a bounded loss",
        Config(prompts="spheres", layers=2, sizes="30, 100, 300, 1000, 3000, 10000"),
        "x and w* lie on spheres, so that the loss is bounded, as the theorem asks. Does the "
        "excess vanish?",
        "Paper's setting",
        seeds=5,
    ),
)
