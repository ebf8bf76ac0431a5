"""The settings of the experiment on the number of training tasks."""

from typing import ClassVar

from icl_core.contract.experiment import Preset
from icl_core.contract.knobs import settings, slider
from icl_core.contract.seeds import seed_shown_knob
from icl_core.machine import device

TASK, TRAINING, REPEATS = "the task", "the training", "repetition"
MOST = 1024  # training tasks
PROMPTS = 2000  # on which errors of Bayes over the training tasks are measured


@settings
class Config:
    """The task, and how many prompts one layer is fitted to."""

    MAIN = ("d", "n", "noise", "prompts", "seeds")

    trains: ClassVar[bool] = False

    d: int = slider("features, d", 2, 24, default=8, group=TASK)
    n: int = slider("pairs, n", 2, 64, default=16, group=TASK)
    noise: float = slider("noise, τ", 0.1, 2.0, default=0.5, step=0.1, group=TASK)
    prompts: int = slider(
        "training prompts",
        256,
        65_536,
        default=16_384,
        log=True,
        group=TRAINING,
        help="those to which the layer is fitted; its optimum has all that there are",
    )
    seed: int = slider("seed", 0, 99, default=0, group=REPEATS)
    seeds: int = slider("seeds", 1, 5, default=1, group=REPEATS)

    @property
    def counts(self) -> list[int]:
        """The numbers of training tasks: powers of two, and those around d."""
        powers = {2**exponent for exponent in range(MOST.bit_length())}
        return sorted(powers | {self.d, max(1, self.d // 2), 2 * self.d})

    def check(self) -> None:
        """Refuse what does not fit the memory: of every training prompt the products that are
        fitted, and its covariates one and a half times."""
        fitted = self.prompts * self.d**2
        drawn = 3 * self.prompts * self.n * self.d // 2
        device.check_memory(8 * (fitted + drawn), f"{self.prompts} prompts, d {self.d}")


@settings
class View:
    """Which number of training tasks is shown."""

    snapshot: int = slider("training tasks", 0, 15, default=15)
    seed_shown: int = seed_shown_knob()


PRESETS = (
    Preset(
        "eight",
        "Eight features, sixteen pairs",
        Config(),
        "With few training tasks the layer knows these tasks. When does it learn to learn?",
        "Classroom",
        seeds=5,
    ),
    Preset(
        "few prompts",
        "The same from 512 prompts",
        Config(prompts=512),
        "The layer has 64 numbers to fit. Does it still come to the identity?",
        "Beyond the paper",
        seeds=5,
    ),
    Preset(
        "long",
        "Twenty features, sixty pairs",
        Config(d=20, n=60, prompts=8192),
        "More features need more tasks: how many?",
        "Beyond the paper",
        seeds=3,
    ),
)
