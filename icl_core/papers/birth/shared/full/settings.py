"""The settings of the full transformer's training."""

from icl_core.contract.knobs import BadSetting, choice, settings, slider, toggle
from icl_core.machine import device
from icl_core.papers.birth.shared import own_text
from icl_core.papers.birth.shared.settings import (
    MODEL,
    OPTIMISERS,
    POSITIONS,
    REPEATS,
    SCALES,
    TRAINING,
    TaskConfig,
)
from icl_core.training import loop

EVALUATIONS = 5, 20  # steps between evaluations at first, and how many of these


@settings
class Config(TaskConfig):
    """The full transformer and its training; Section 3 and Appendix E. The paper's size is d = 128,
    T = 256, batches of 512."""

    MAIN = ("K", "d", "layers", "heads", "seeds")

    d: int = slider("width, d", 16, 512, default=64, step=16, group=MODEL)
    layers: int = slider(
        "layers",
        1,
        4,
        default=2,
        group=MODEL,
        help="a model of one layer cannot look at the previous character",
    )
    heads: int = slider(
        "heads per layer", 1, 8, default=4, group=MODEL, help="each is d / heads wide"
    )
    mlp: bool = toggle("feed-forward, 4d wide, ReLU", default=True, group=MODEL)
    layer_norm: bool = toggle(
        "layer norm", default=False, group=MODEL, help="before each part, and before W_U"
    )
    scale: str = choice("initial scale", SCALES, default="code", group=MODEL)
    frozen: bool = toggle(
        "embeddings frozen", default=False, group=TRAINING, help="W_E, the positions and W_U"
    )
    positions: str = choice("loss on", POSITIONS, default="all", group=TRAINING)
    optimiser: str = choice("optimiser", OPTIMISERS, default="adamw", group=TRAINING)
    learning_rate: float = slider(
        "learning rate", 0.0001, 2.0, default=0.004, log=True, group=TRAINING
    )
    batch: int = slider("sequences per batch", 16, 512, default=32, step=16, group=TRAINING)
    steps: int = slider("steps", 10, 6000, default=800, step=10, group=TRAINING)
    bfloat16: bool = toggle(
        "products in bfloat16",
        default=False,
        group=TRAINING,
        help="rounded to three digits, twice as fast at the paper's size; what is added up is not "
        "rounded",
    )
    seed: int = slider("seed", 0, 99, default=0, group=REPEATS)
    seeds: int = slider("seeds", 1, 5, default=1, group=REPEATS)

    def check(self) -> None:
        """Refuse a task that the text does not allow, heads of unequal width, and what does not fit
        the memory.

        The memory holds, of the sequences computed at once, ten maps of every head and the streams,
        and half as much again that is held but not in use (`icl_core.machine.malloc`); the weights
        with their optimiser's state, and those of every evaluation.
        """
        own_text.check(self)
        if self.d % self.heads:
            raise BadSetting(f"heads must divide the width, {self.d}, got {self.heads}")
        at_once = max(1, 2**11 // self.T)  # sequences
        maps = 6 * at_once * self.T * self.layers * (10 * self.heads * self.T + 8 * self.d)
        kept = 8 + len(loop.evaluations(self.steps, *EVALUATIONS))
        needed = maps + 4 * kept * self.parameters + 4 * 16 * self.batch * self.T
        device.check_memory(needed, f"batch {self.batch}, T {self.T}, d {self.d}")

    @property
    def parameters(self) -> int:
        """The number of parameters, without those of layer norm."""
        return (4 + 8 * self.mlp) * self.layers * self.d**2 + (2 * self.N + self.T) * self.d
