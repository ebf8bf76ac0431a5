"""The settings of the experiment on the theorems: sizes, what is drawn, and presets."""

from typing import ClassVar

from icl_core.contract.experiment import Preset
from icl_core.contract.knobs import choice, settings, slider
from icl_core.machine import device
from icl_core.papers.memformers.shared.settings import MODEL, REPEATS, TASK, Task, check_spectrum

AT_ONCE = 2**21  # numbers of attention held at a time
# every method that is put into tokens: its name, and the model that it is put into
METHODS = {
    "cgd": "CGD, each prompt's own α, γ",
    "cgd-gamma": "CGD, written as Γ",
    "momentum": "heavy ball, one α, γ for all",
    "nesterov": "Nesterov, as Γ",
    "any": "any numbers in eq. 1.1, as Γ",
    "diagonal": "any diagonal matrices, d registers",
}

# Lemma 2.1 has no coefficients but a matrix for each layer: it is checked beside the methods.
LEMMA = "lemma"


@settings
class Config(Task):
    """The sizes at which the theorems are checked; d = 5, n = 20 and four layers are
    the paper's."""

    MAIN = ("d", "n", "layers", "condition", "heads")
    FIRST = ("layers",)

    sigma2: ClassVar[float] = 1.0
    seeds: ClassVar[int] = 1

    d: int = slider("features, d", 2, 12, default=5, group=TASK)
    n: int = slider(
        "examples per prompt, n", 2, 60, default=20, group=TASK, help="below d: underdetermined"
    )
    layers: int = slider("layers L", 1, 8, default=4, group=MODEL)
    heads: int = slider("heads H, in the count", 1, 8, default=1, group=MODEL)
    prompts: int = slider("prompts for the identities", 8, 512, default=128, group=REPEATS)
    pool: int = slider(
        "prompts for the gradient, as a power of 2", 14, 18, default=17, group=REPEATS
    )
    seed: int = slider("seed of prompts and U", 0, 99, default=0, group=REPEATS)

    def check(self) -> None:
        """Refuse a spectrum that is none, and what does not fit the memory: S of the prompts four
        times, or before that of the tokens held at once some twenty registers of the size of their
        attention."""
        check_spectrum(self)
        tokens = min(AT_ONCE, self.prompts * self.d * (self.n + 1) ** 2 * self.layers)
        pool = 4 * 2**self.pool * self.d**2
        attention = 20 * tokens
        what = (
            f"2^{self.pool} prompts"
            if pool > attention
            else f"layers {self.layers}, n {self.n}, {self.prompts} prompts"
        )
        device.check_memory(8 * max(pool, attention), f"{what}, d {self.d}")


@settings
class View:
    """How the theorems are shown."""

    prompt: int = slider("prompt", 0, 11, default=0)
    method: str = choice("method", METHODS, default="nesterov")
    batch: int = slider("test prompts B", 1, 1000, default=20, log=True)


PRESETS = (
    Preset(
        "identities",
        "The paper's size",
        Config(),
        "What the theorems say, exact to rounding, and what they do not say.",
        "Paper's setting",
    ),
    Preset(
        "ten",
        "Ten dimensions, six layers",
        Config(d=10, n=30, layers=6, pool=15),
        "The same identities at another size.",
        "Beyond the paper",
    ),
)
