"""The settings of the experiment on prompts whose noise nobody knows."""

from typing import ClassVar

from icl_core.contract.experiment import Preset
from icl_core.contract.knobs import settings, slider
from icl_core.machine import device
from icl_core.papers.learners.shared.settings import REPEATS, TASK, TRAINING

LEVELS = 14  # noises at which models are measured, the first of them zero
SHOWN = 2  # the noise at which the page opens: there the models differ most
BATCH = 128  # prompts of a training step
TESTED_ON = 2000  # prompts of every noise
NUMBERS = 25  # numbers of the size of a prompt's matrix, held at once for every model


@settings
class Config:
    """The prompts, and how the models are trained on them."""

    MAIN = ("d", "n", "noise", "layers", "seeds")

    trains: ClassVar[bool] = True

    d: int = slider("features, d", 2, 10, default=5, group=TASK)
    n: int = slider("pairs, n", 2, 64, default=20, group=TASK)
    noise: int = slider(
        "largest noise, % of the labels",
        10,
        300,
        default=130,
        step=10,
        group=TASK,
        help="each prompt has a noise of its own, uniform from zero to this; 100% is the size of "
        "the labels without it, √d",
    )
    layers: int = slider("layers", 1, 5, default=3, group=TRAINING)
    steps: int = slider("steps", 10, 5000, default=600, log=True, group=TRAINING)
    learning_rate: float = slider(
        "learning rate", 0.001, 0.1, default=0.04, log=True, group=TRAINING
    )
    seed: int = slider("seed", 0, 99, default=0, group=REPEATS)
    seeds: int = slider("seeds", 1, 5, default=1, group=REPEATS)

    @property
    def percents(self) -> list[int]:
        """The noises at which models are measured, in per cent of the labels."""
        return [round(self.noise * level / (LEVELS - 1)) for level in range(LEVELS)]

    @property
    def largest(self) -> float:
        """The largest standard deviation of the noise, τ."""
        return self.tau(self.noise)

    @property
    def label_size(self) -> float:
        """The root mean square of labels over all prompts, √(d (1 + ρ²/3)) for noises up to ρ."""
        return (self.d * (1 + (self.noise / 100) ** 2 / 3)) ** 0.5

    def tau(self, percent: float) -> float:
        """Return the standard deviation of a noise given in per cent of the labels."""
        return percent / 100 * self.d**0.5

    def check(self) -> None:
        """Refuse what does not fit the memory: the matrices of all models on the test prompts."""
        numbers = NUMBERS * TESTED_ON * self.seeds * self.layers * (self.d + 1) ** 2
        device.check_memory(8 * numbers, f"d {self.d}, layers {self.layers}")


@settings
class View:
    """Which noise is shown."""

    snapshot: int = slider("noise", 0, LEVELS - 1, default=SHOWN)


PRESETS = (
    Preset(
        "five",
        "Five features, twenty pairs",
        Config(),
        "Each prompt has a noise of its own. Does a memory of past gradients help to find it?",
        "Classroom",
        seeds=5,
    ),
    Preset(
        "four layers",
        "The same with four layers",
        Config(layers=4, steps=1500),
        "How near does one more layer come to ridge that knows the noise?",
        "Beyond the paper",
        seeds=3,
    ),
    Preset(
        "ten",
        "Ten features, twenty pairs",
        Config(d=10, steps=1500),
        "Fewer pairs for each feature: noise is harder to tell from a task.",
        "Beyond the paper",
        seeds=3,
    ),
)
