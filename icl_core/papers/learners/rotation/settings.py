"""The settings of the experiment that takes Σ away."""

from typing import ClassVar

from icl_core.contract.experiment import Preset
from icl_core.contract.knobs import BadSetting, choice, settings, slider
from icl_core.in_context_regression.home import COVARIANCES, Home
from icl_core.machine import device
from icl_core.papers.learners.shared.settings import METHOD, REPEATS, TASK

NUMBERS = 4  # numbers of the size of all S, held at once


@settings
class Config:
    """The prompts, and up to how many layers methods are compared."""

    MAIN = ("d", "n", "layers")

    seeds: ClassVar[int] = 1
    trains: ClassVar[bool] = False

    d: int = slider("features, d", 2, 8, default=5, group=TASK)
    n: int = slider("pairs, n", 2, 64, default=20, group=TASK)
    covariance: str = choice("eigenvalues of Σ", COVARIANCES, default="uneven", group=TASK)
    condition: float = slider(
        "condition number of Σ",
        1.0,
        1000.0,
        default=16.0,
        log=True,
        group=TASK,
        shown_if="is_narrow",
    )
    layers: int = slider("layers, up to", 1, 6, default=5, group=METHOD)
    prompts: int = slider("prompts, as a power of 2", 10, 16, default=13, group=REPEATS)
    seed: int = slider("seed of the prompts", 0, 99, default=0, group=REPEATS)

    @property
    def is_narrow(self) -> bool:
        """Whether the eigenvalues follow from a condition number."""
        return self.covariance == "narrow"

    @property
    def home(self) -> Home:
        """The distribution, without noise."""
        return Home(self.d, self.n, 0.0, self.covariance, False, "inverse", self.condition)

    def check(self) -> None:
        """Refuse fewer pairs than features, where S is singular, and what does not fit the
        memory."""
        if self.n < self.d:
            raise BadSetting(f"n must be at least d, {self.d}, got {self.n}")
        numbers = NUMBERS * 2**self.prompts * self.d**2 * (self.layers + 1)
        device.check_memory(8 * numbers, f"2^{self.prompts} prompts, d {self.d}")


@settings
class View:
    """Up to which layer things are shown."""

    layer: int = slider("layers", 1, 6, default=4, at_most="layers")


PRESETS = (
    Preset(
        "uneven",
        "The Memformers' eigenvalues: d = 5, n = 20",
        Config(),
        "A trained linear transformer knows Σ. What is left of its lead if nobody can?",
        "Paper's setting",
    ),
    Preset(
        "narrow",
        "From 1 down to 1/64",
        Config(covariance="narrow", condition=64.0),
        "The more uneven the directions are, the more there is to know.",
        "Beyond the paper",
    ),
    Preset(
        "isotropic",
        "All directions equal",
        Config(covariance="isotropic"),
        "Where Σ = I there is nothing to know, and nothing to lose.",
        "Beyond the paper",
    ),
)
