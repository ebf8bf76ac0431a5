"""The settings of the experiment on trained learners."""

from icl_core.contract.experiment import Preset
from icl_core.contract.knobs import settings, slider, text
from icl_core.machine import device
from icl_core.papers.learners.shared import typed_points
from icl_core.papers.learners.shared.settings import REPEATS, TASK, TRAINING, HomeConfig

SHOWN = 12  # prompts whose answers are kept
TESTED_ON = 500  # prompts
TUNED_ON = 1000  # prompts
LARGEST_D = 5  # beyond this and the next training takes hours
LARGEST_N = 20
FEWEST = 10  # training steps
BYTES = 900  # a token, prompt and hidden number, of the widest model with its gradients


@settings
class Config(HomeConfig):
    """The prompts, and how long every learner is trained on them."""

    MAIN = ("d", "n", "noise", "steps")

    d: int = slider("features, d", 1, LARGEST_D, default=2, group=TASK)
    n: int = slider("pairs, n", 1, LARGEST_N, default=10, group=TASK)
    batch: int = slider("prompts per batch", 16, 512, default=128, step=16, group=TRAINING)
    steps: int = slider("training steps", FEWEST, 20_000, default=2000, log=True, group=TRAINING)
    seed: int = slider("seed", 0, 99, default=0, group=REPEATS)

    def check(self) -> None:
        """Refuse what does not fit the memory."""
        tokens = max(self.batch, TESTED_ON) * (2 * self.n + 1)
        hidden = 2 * self.d + self.n + 1
        what = f"batch {self.batch}, n {self.n}, d {self.d}"
        device.check_memory(BYTES * tokens * hidden, what)


@settings
class View:
    """Which prompt is shown, and when."""

    snapshot: int = slider("training step", 0, 23, default=23)
    prompt: int = slider("prompt", 0, SHOWN - 1, default=0)
    points: str = text("your own pairs", 2000, default="")
    query: str = text("your own query", 200, default="")

    def check(self) -> None:
        """Refuse pairs that are none, and a query that is none."""
        typed_points.pairs(self.points)
        typed_points.query(self.query)


PRESETS = (
    Preset(
        "two",
        "Two features, ten pairs",
        Config(condition=4.0),
        "Twelve models learn the same thing from the same prompts. What does each come to do?",
        "Classroom",
    ),
    Preset(
        "long",
        "The same, five times as long",
        Config(condition=4.0, steps=10_000),
        "Who was still learning?",
        "Beyond the paper",
        shipped=False,
    ),
    Preset(
        "twenty pairs",
        "Two features, twenty pairs",
        Config(n=20, condition=4.0),
        "Twice as many pairs: who makes something of them?",
        "Beyond the paper",
    ),
    Preset(
        "five features",
        "Five features, ten pairs",
        Config(d=5, condition=4.0),
        "Twice as many pairs as features: who still learns in as many steps?",
        "Beyond the paper",
    ),
    Preset(
        "five",
        "d = 5, n = 20, isotropic",
        Config(d=5, n=20, noise=0.0, covariance="isotropic"),
        "More features, more tokens, as many steps: who still learns?",
        "Beyond the paper",
    ),
)
