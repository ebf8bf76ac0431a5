"""The settings of the experiment on directly learned first-order methods."""

from icl_core import device
from icl_core.knobs import choice, settings, slider, text
from icl_core.number_lists import whole_numbers
from icl_core.papers.memformers.shared.settings import Config as Model
from icl_core.papers.memformers.shared.settings import memory, would_fit
from icl_core.papers.memformers.shared.task import SPECTRA, eigenvalues_of

TASK, MODEL, TRAINING, REPEATS = "the task", "the method", "the training", "repetition"
MEMORY = {
    "learned shared": "Λ_i, shared by all steps (authors' code)",
    "learned": "Λ_i^k, free for every step (eq. 1.1)",
}


@settings
class Config:
    """What is trained; Section 5, Figure 11, Theorem 5.1. One method for every number of prompts and of steps."""

    memory: str = choice("coefficients", MEMORY, default="learned shared", group=MODEL)
    layers: int = slider("steps of the method, up to L", 1, 6, default=4, group=MODEL)
    sizes: str = text("numbers of prompts learned from", 60, default="10, 100, 1000", group=TRAINING)
    steps: int = slider("steps of training", 10, 5000, default=1000, step=10, group=TRAINING)
    rate: float = slider("learning rate", 0.001, 1.0, default=0.05, log=True, group=TRAINING)
    d: int = slider("dimension d", 2, 20, default=5, group=TASK)
    n: int = slider("examples in a prompt, n", 2, 100, default=20, group=TASK, help="below d: underdetermined")
    spectrum: str = choice("eigenvalues of Σ", SPECTRA, default="isotropic", group=TASK)
    condition: float = slider("condition number", 1.0, 10_000.0, default=16.0, log=True, group=TASK)
    decay: float = slider("decay", 0.2, 5.0, default=1.0, log=True, group=TASK)
    own: str = text("own eigenvalues", 200, default="1, 1, 1/4, 1/16, 1", group=TASK, help="d numbers above zero")
    seed: int = slider("seed", 0, 99, default=0, group=REPEATS)
    seeds: int = slider("number of seeds", 1, 5, default=1, group=REPEATS)

    def check(self) -> None:
        """Refuse a list that holds no numbers of prompts, a spectrum that is none, and what does not fit the memory."""
        sizes_of(self)
        largest = model_of(self, max(sizes_of(self)))
        eigenvalues_of(largest)
        what = f"{largest.batch} prompts, d {self.d}, n {self.n}"
        device.check_memory(memory(largest), f"{what}{would_fit(largest)}")


def sizes_of(config: Config) -> list[int]:
    """The numbers of prompts, ascending, each once."""
    return whole_numbers("sizes", config.sizes, 6, 1, 20_000)


def model_of(config: Config, prompts: int | None) -> Model:
    """The training on a number of prompts, or (None) on fresh ones at every step: what endlessly many would give."""
    names = ("layers", "steps", "rate", "d", "n", "spectrum", "condition", "decay", "own", "seed", "seeds")
    shared = {name: getattr(config, name) for name in names}
    kept = {"batches": "fixed", "batch": prompts} if prompts else {"batches": "fresh"}
    return Model(variant=config.memory, beside="none", **kept, **shared)


@settings
class View:
    """What is drawn of the methods."""

    steps_shown: int = slider("steps of the method", 1, 6, default=2)
