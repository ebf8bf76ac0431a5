"""The settings of the experiment on the paper's formulas."""

from icl_core.contract.experiment import Preset
from icl_core.contract.knobs import settings, slider
from icl_core.machine import device
from icl_core.papers.gdssm.shared.settings import REPEATS, TASK


@settings
class Config:
    """The tasks on which both versions of every formula are measured; the paper's size is f = N =
    10."""

    MAIN = ("f", "N", "r")

    f: int = slider("features, f", 2, 20, default=10, group=TASK)
    N: int = slider("context pairs, N", 2, 40, default=10, group=TASK)
    r: float = slider("scale of x, r", 0.1, 4.0, default=1.0, step=0.1, group=TASK)
    tasks: int = slider("tasks", 1024, 32768, default=16384, step=1024, group=REPEATS)
    seed: int = slider("seed of the tasks", 0, 99, default=0, group=REPEATS)

    def check(self) -> None:
        """Refuse what does not fit the memory: x, y, a product of the two, W, and three
        predictions."""
        a_task = 3 * (self.N + 1) * self.f + self.f**2 + 3 * self.f
        device.check_memory(4 * self.tasks * a_task, f"tasks {self.tasks}, f {self.f}, N {self.N}")


@settings
class View:
    """How the corrections are shown."""

    times: float = slider("length of the step, times the best", -1.0, 3.0, default=1.0, step=0.1)


PRESETS = (
    Preset(
        "paper size",
        "f = N = 10",
        Config(),
        "Every formula as printed, beside one that gives gradient descent.",
        "Paper's setting",
    ),
    Preset(
        "small",
        "Two features",
        Config(f=2, tasks=32768),
        "With two features, Q as printed keeps a quarter of the gain.",
    ),
)
