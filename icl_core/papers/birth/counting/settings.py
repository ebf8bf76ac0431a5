"""What is trained, what is drawn of it, and the settings to begin with."""

from dataclasses import replace

from icl_core.contract.experiment import Preset
from icl_core.contract.knobs import choice, settings, slider, text, toggle
from icl_core.contract.seeds import HELD, seed_shown_knob
from icl_core.machine import device

# the groups of settings
TASK = "the task"
MODEL = "the model"
TRAINING = "the training"
REPEATS = "repetition"
CHAINS = {
    "dirichlet": "any, rows from Dirichlet(1)",
    "balanced": "balanced: all states equally often",
}
EVALUATED = 512  # held-out sequences at the end
LONGEST = 24  # states that a small map can name


@settings
class Config:
    """What is trained."""

    MAIN = ("k", "d", "T", "layers", "seeds")

    k: int = slider("states, k", 2, 8, default=3, group=TASK)
    T: int = slider("sequence length, T", 32, 256, default=64, step=32, group=TASK)
    chains: str = choice("chains", CHAINS, default="dirichlet", group=TASK)
    d: int = slider("width, d", 8, 128, default=32, step=8, group=MODEL)
    layers: int = slider("layers", 1, 2, default=2, group=MODEL)
    learning_rate: float = slider(
        "learning rate", 0.0005, 0.1, default=0.004, log=True, group=TRAINING
    )
    batch: int = slider("sequences per batch", 16, 256, default=64, step=16, group=TRAINING)
    steps: int = slider("steps", 10, 2000, default=200, step=10, group=TRAINING)
    seed: int = slider("seed", 0, 99, default=0, group=REPEATS)
    seeds: int = slider("seeds", 1, 5, default=1, group=REPEATS)

    def check(self) -> None:
        """Refuse what does not fit the memory: in training six T × T maps a sequence and layer, and
        ten of its streams; and of the sequences at the end one map a layer and what a softmax takes
        beside it, five in all."""
        training = self.batch * self.layers * (6 * self.T + 10 * self.d)
        evaluation = EVALUATED * (5 * self.T + 10 * self.d)
        device.check_memory(
            4 * self.seeds * self.T * (training + evaluation),
            f"batch {self.batch}, T {self.T}, seeds {self.seeds}",
        )


@settings
class View:
    """What is drawn of a trained model, or asked of it."""

    snapshot: int = slider("training step", 0, 31, default=31)
    seed_shown: int = seed_shown_knob(HELD)
    sequence: str = text("your own sequence (empty: a random one)", LONGEST, default="")
    sample: int = slider("random sequence no.", 0, 99, default=0)
    position: int = slider("position of the prediction", 1, LONGEST, default=LONGEST)
    single_seeds: bool = toggle("single seeds", default=False)


CLASSROOM = Config()
LONGER = replace(CLASSROOM, T=128)

PRESETS = (
    Preset(
        "classroom",
        "Three states in 200 steps",
        CLASSROOM,
        "Watch the shading change twice.",
        seeds=3,
    ),
    Preset(
        "one layer",
        "One layer stays at single states",
        replace(CLASSROOM, layers=1, steps=400),
        "It learns unigrams and stays there.",
        seeds=3,
    ),
    Preset(
        "balanced",
        "Chains whose single states tell nothing",
        replace(CLASSROOM, chains="balanced", steps=400),
        "All states occur equally often. Do the bigrams come sooner?",
        seeds=3,
    ),
    Preset(
        "more states",
        "Eight states",
        replace(CLASSROOM, k=8, steps=400),
        "Single states now tell little. Which stage is left out?",
        seeds=3,
    ),
    Preset(
        "longer",
        "Sequences twice as long",
        LONGER,
        "Longer sequences tell more of a chain.",
        seeds=3,
    ),
)
