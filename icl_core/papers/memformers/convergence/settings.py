"""The settings of the experiment on convergence to Σ⁻¹: what is trained, what is drawn of it, and
presets."""

from typing import ClassVar

from icl_core.contract.experiment import Preset
from icl_core.contract.knobs import choice, settings, slider
from icl_core.contract.seeds import seed_shown_knob
from icl_core.papers.memformers.shared.settings import (
    COORDINATES,
    MODEL,
    READINGS,
    REPEATS,
    TRAINING,
    Training,
)

MODELS = {"linear": "linear transformer, no memory", "lfom": "LFOM Memformer"}


@settings
class Config(Training):
    """What is trained; Appendix D. The paper's size is three layers and batches of 20,000."""

    MAIN = ("d", "n", "layers", "condition", "seeds")
    FIRST = ("variant", "layers")

    preconditioner: ClassVar[str] = "full"
    heads: ClassVar[int] = 1

    variant: str = choice("model", MODELS, default="linear", group=MODEL)
    layers: int = slider("layers L", 1, 6, default=3, group=MODEL)
    steps: int = slider("steps", 10, 30_000, default=3000, step=10, group=TRAINING)
    learning_rate: float = slider(
        "learning rate", 0.001, 1.0, default=0.1, log=True, group=TRAINING, was="rate"
    )
    coordinates: str = choice(
        "learned in coordinates", COORDINATES, default="original", group=TRAINING
    )
    seeds: int = slider("seeds", 1, 5, default=1, group=REPEATS, help="each has a U of its own")


@settings
class View:
    """What is drawn of the preconditioners."""

    snapshot: int = slider("training step", 0, 31, default=31)
    layer: int = slider("layer", 1, 6, default=1)
    seed_shown: int = seed_shown_knob()
    prompt: int = slider("prompt", 0, 99, default=0)
    reading: str = choice("layer by layer", READINGS, default="attention")


PRESETS = (
    Preset(
        "sigma",
        "Three layers find Σ⁻¹",
        Config(),
        "Watch noise turn into the identity, layer by layer.",
        seeds=5,
    ),
    Preset(
        "figures 18 to 21",
        "As in the paper: batches of 20,000",
        Config(
            batches="resampled",
            batch=20_000,
            learning_rate=0.02,
            schedule="halved",
            beta_1=0.99,
            beta_2=0.9,
            objective="mean",
            coordinates="authors",
            initial=1e-4,
            clip=0.01,
            steps=30_000,
        ),
        "A new batch every 100 steps, gradients clipped at 0.01, the learning rate halved every "
        "2,000 steps.",
        "Figures",
        seeds=5,
    ),
    Preset(
        "whitened",
        "In whitened coordinates",
        Config(coordinates="whitened", steps=1000, learning_rate=0.05),
        "No direction is harder than another, and all are learned at one pace.",
        seeds=5,
    ),
    Preset(
        "harder spectrum",
        "Condition number 100",
        Config(spectrum="geometric", condition=100.0, steps=6000),
        "Directions of small variance are learned late; some seeds do not get there in this "
        "training.",
        seeds=5,
    ),
)
