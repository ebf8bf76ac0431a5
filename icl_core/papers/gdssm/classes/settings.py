"""The settings of the experiment on classes, and what is drawn of it."""

from dataclasses import replace

from icl_core.contract.experiment import Preset
from icl_core.contract.knobs import BadSetting, settings, slider
from icl_core.machine import device
from icl_core.papers.gdssm.shared.settings import (
    TASK,
    TRAINING,
    first_seed,
    number_of_seeds,
    tested_with,
)


@settings
class Config:
    """What is trained: one N-D layer with one decay, on the cross-entropy of its outputs."""

    MAIN = ("f", "N", "K", "seeds")

    f: int = slider("features, f", 2, 20, default=10, group=TASK)
    N: int = slider("context pairs, N", 1, 40, default=10, group=TASK)
    K: int = slider("classes, K", 2, 20, default=3, group=TASK, at_most="f")
    batch: int = slider("tasks per batch", 16, 1024, default=256, step=16, group=TRAINING)
    steps: int = slider("steps", 10, 3000, default=600, step=10, group=TRAINING)
    learning_rate: float = slider(
        "learning rate", 1e-4, 0.2, default=0.02, log=True, group=TRAINING
    )
    seed: int = first_seed()
    seeds: int = number_of_seeds()

    def check(self) -> None:
        """Refuse more classes than a token has entries, and what does not fit the memory."""
        if self.f < self.K:
            raise BadSetting(f"K must be at most f = {self.f}, got {self.K}")
        trained = self.batch * self.N * (self.f + 3) * (20 + 4 * self.seeds)
        what = f"batch {self.batch}, N {self.N}, f {self.f}, seeds {self.seeds}"
        device.check_memory(4 * (trained + 2 * tested_with(self.f, self.N)), what)


@settings
class View:
    """What is drawn of the trained layer."""

    prompt: int = slider("prompt", 0, 99, default=0)


SIZE = Config()

PRESETS = (
    Preset(
        "three classes",
        "Three classes, f = N = 10",
        SIZE,
        "The label is one of three classes. Does the layer take a step on the cross-entropy?",
        "Beyond the paper",
        seeds=3,
    ),
    Preset(
        "ten classes",
        "Ten classes, f = N = 10",
        replace(SIZE, K=10),
        "As many classes as a token has entries, and as many examples.",
        "Beyond the paper",
        seeds=3,
    ),
)
