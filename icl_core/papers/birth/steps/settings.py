"""What is computed, what is drawn of it, and the settings to begin with."""

from dataclasses import replace

from icl_core.contract.experiment import Preset
from icl_core.contract.knobs import choice, settings, slider, text
from icl_core.contract.seeds import HELD, seed_shown_knob
from icl_core.machine import device

# the groups of settings
TASK = "the task, the model"
STEPS = "the three steps"
REPEATS = "repetition"
SETUPS = {
    "proof": "the proof's: uniform characters, simplified model",
    "whole": "Shakespeare, the whole model of Section 4.2",
}
SIGNS = {"W_O2": "W_O²", "W_K2": "W_K²", "W_K1": "W_K¹"}
THEN = "-"  # between the matrices of an order
ORDERS = {
    "W_O2-W_K2-W_K1": "W_O², W_K², W_K¹ (Theorem 3)",
    "W_O2-W_K1-W_K2": "W_O², W_K¹, W_K²",
    "W_K2-W_O2-W_K1": "W_K², W_O², W_K¹",
    "W_K2-W_K1-W_O2": "W_K², W_K¹, W_O²",
    "W_K1-W_O2-W_K2": "W_K¹, W_O², W_K²",
    "W_K1-W_K2-W_O2": "W_K¹, W_K², W_O²",
}
THEOREM = "W_O2-W_K2-W_K1"
WAYS = {"batch": "measured on a batch", "exact": "exact, by the proof's formulas"}
LEMMAS = {
    "1": "Lemma 1: pairs",
    "2": "Lemma 2: noisy inputs",
    "4": "Lemma 4: W_K²",
    "5": "Lemma 5: W_K¹",
}
CHECKED = 192  # sequences on which the lemmas are checked
LONGEST = 24  # characters that a small map can name


@settings
class Config:
    """What is computed; Theorem 3, Appendix B.3."""

    MAIN = ("d", "N", "T", "seeds")

    setup: str = choice("setting", SETUPS, default="proof", group=TASK)
    N: int = slider(
        "vocabulary, N",
        16,
        65,
        default=65,
        group=TASK,
        help="characters, all equally frequent in the proof",
    )
    T: int = slider("sequence length, T", 8, 64, default=16, step=8, group=TASK)
    d: int = slider("width, d", 32, 512, default=512, step=32, group=TASK)
    order: str = choice("order of the steps", ORDERS, default=THEOREM, group=STEPS)
    eta_O2: float = slider(
        "step size of W_O²", 1.0, 1e6, default=2e3, log=True, group=STEPS,
        help="near zero the gradients are tiny, so the steps are large; too large, and the next "
             "gradient is spoilt",
    )  # fmt: skip
    eta_K2: float = slider("step size of W_K²", 1.0, 1e9, default=3e7, log=True, group=STEPS)
    eta_K1: float = slider("step size of W_K¹", 1.0, 1e9, default=1e6, log=True, group=STEPS)
    batch: int = slider("sequences per step", 500, 40_000, default=20_000, step=500, group=STEPS)
    seed: int = slider("seed", 0, 99, default=0, group=REPEATS)
    seeds: int = slider("seeds", 1, 5, default=1, group=REPEATS)

    @property
    def rates(self) -> dict[str, float]:
        """Return the step size of each matrix."""
        return {"W_O2": self.eta_O2, "W_K2": self.eta_K2, "W_K1": self.eta_K1}

    def check(self) -> None:
        """Refuse what does not fit the memory: the expectations of pairs of tokens, the batch, and
        the streams of the sequences on which lemmas are checked, five of them in float64."""
        pairs = 8 * 4 * (self.T * self.N) ** 2 if self.setup == "proof" else 0
        held = 4 * 12 * self.batch * (self.T + self.N if self.setup == "proof" else 16 * self.T)
        checked = 8 * 5 * CHECKED * self.T * self.d if self.setup == "proof" else 0
        device.check_memory(pairs + held + checked, f"batch {self.batch}, T {self.T}, N {self.N}")


@settings
class View:
    """What is drawn of the steps."""

    snapshot: int = slider("steps taken", 0, 3, default=3)
    seed_shown: int = seed_shown_knob(HELD)
    way: str = choice("gradients", WAYS, default="batch")
    matrix: str = choice("matrix", SIGNS, default="W_K2")
    lemma: str = choice("lemma", LEMMAS, default="4")
    sequence: str = text("your own sequence (empty: a random one)", LONGEST, default="")
    sample: int = slider("random sequence no.", 0, 99, default=0)


CLASSROOM = Config()
PRESETS = (
    Preset("three steps", "Theorem 3 in three steps", CLASSROOM, "Which of the three could be "
                                                                 "left out?", seeds=5),
    Preset("wrong order", "From the input up", replace(CLASSROOM, order="W_K1-W_K2-W_O2"),
           "The same three steps, the other way round. What is left to learn from?", seeds=3),
    Preset("narrow", "Too little room, d = 128", replace(CLASSROOM, d=128),
           "The theorem wants vectors that are nearly orthogonal. These are less so.", seeds=3),
    Preset("whole model", "Three steps on Shakespeare",
           Config(setup="whole", T=64, d=128, batch=2000, eta_O2=300.0, eta_K2=1e5, eta_K1=1e5),
           "The whole model on real characters: the theorem does not speak of this. Is it far off?",
           "Beyond the paper", seeds=3),
)  # fmt: skip
