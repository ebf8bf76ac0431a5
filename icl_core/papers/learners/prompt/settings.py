"""The settings of the page on one prompt: the distribution that is home, and the prompt that is
shown."""

from typing import ClassVar

from icl_core.contract.experiment import Preset
from icl_core.contract.knobs import choice, settings, slider, text, toggle
from icl_core.machine import device
from icl_core.papers.learners.shared import typed_points
from icl_core.papers.learners.shared.settings import METHOD, REPEATS, HomeConfig

TUNED_ON, TESTED_ON, BROKEN_ON = 1000, 1000, 400  # prompts
NUMBERS = 40  # numbers of the size of a prompt's weights for every label, held at once

# which learners are drawn together
GROUPS = {
    "main": "one of each kind",
    "steps": "steps on all pairs",
    "states": "rules for a state",
    "solutions": "those that solve",
    "recent": "recent rules",
}
MEMBERS = {
    "main": ("sum", "gd", "cg", "delta", "unit", "recursive", "bayes"),
    "steps": ("sum", "gd", "momentum", "nesterov", "cg", "gd-sigma", "cg-sigma", "bayes"),
    "states": (
        *("sum", "decayed", "delta", "unit", "longhorn", "gated", "kda"),
        *("delta-sigma", "recursive"),
    ),
    "solutions": ("ridge", "squares", "recursive", "cg", "bayes"),
    "recent": ("unit", "titans", "ttt", "omega", "product", "rwkv7", "mesa", "bayes"),
}
CHANGED = {
    "scale": "scale of x, α",
    "noise": "noise in the labels, τ",
    "condition": "condition number of Σ",
    "length": "pairs in the prompt",
    "sparsity": "features that matter",
}


@settings
class Config(HomeConfig):
    """The distribution of prompts for which every learner is tuned."""

    MAIN = ("d", "n", "noise", "steps")

    seeds: ClassVar[int] = 1
    trains: ClassVar[bool] = False

    steps: int = slider("steps, L", 1, 16, default=2, group=METHOD)
    recent: bool = toggle(
        "recent rules too",
        default=False,
        group=METHOD,
        added=True,
        help="Kimi Linear, RWKV-7, DeltaProduct, Titans, TTT, ATLAS, MesaNet",
    )
    reach: int = slider(
        "chunk, window, steps a pair, c",
        2,
        8,
        default=4,
        group=METHOD,
        shown_if="recent",
        added=True,
        help="of TTT, of ATLAS and of DeltaProduct",
    )
    seed: int = slider("seed of the prompts", 0, 99, default=0, group=REPEATS)

    def check(self) -> None:
        """Refuse what does not fit the memory: of every prompt, the weights after every pair for a
        unit vector of labels at each."""
        numbers = NUMBERS * TESTED_ON * self.n**2 * self.d
        device.check_memory(8 * numbers, f"n {self.n}, d {self.d}")


@settings
class View:
    """The prompt that is shown, and which learners read it."""

    snapshot: int = slider("pairs read", 0, 64, default=64)
    prompt: int = slider("prompt", 0, 999, default=5)
    scale: float = slider(
        "scale of x, α",
        0.25,
        4.0,
        default=1.0,
        log=True,
        help="of a sampled prompt, whose w* and noise stay; your own pairs stay as they are",
    )
    points: str = text("your own pairs", 2000, default="")
    group: str = choice("learners", GROUPS, default="main")
    changed: str = choice("what is changed", CHANGED, default="scale")

    def check(self) -> None:
        """Refuse pairs that are none."""
        typed_points.pairs(self.points)


PRESETS = (
    Preset(
        "two",
        "Two features, ten pairs",
        Config(condition=4.0),
        "Every learner's weights are a point of a plane. Who goes where as the pairs come in?",
        "Classroom",
    ),
    Preset(
        "isotropic",
        "d = 5, n = 20, isotropic",
        Config(d=5, n=20, noise=0.0, covariance="isotropic", steps=4),
        "Without noise and with equal directions the loss of one step is known: 1 − n/(n + d + 1).",
        "Figures",
    ),
    Preset(
        "memformers",
        "The Memformers' prompts: d = 5, n = 20",
        Config(d=5, n=20, noise=0.0, covariance="uneven", target="inverse", steps=4),
        "Directions are unequal, and w* is large where x is small. What is Σ⁻¹ worth?",
        "Paper's setting",
    ),
    Preset(
        "rotated",
        "The same, rotated in every prompt",
        Config(d=5, n=20, noise=0.0, covariance="uneven", rotated=True, steps=4),
        "Nothing can be known of Σ before a prompt is read. What is left of the lead?",
        "Beyond the paper",
    ),
    Preset(
        "short",
        "Fewer pairs than features: d = 8, n = 6",
        Config(d=8, n=6, noise=0.5, covariance="isotropic", steps=4),
        "The pairs do not determine w*. Who guesses best?",
        "Beyond the paper",
    ),
    Preset(
        "recent",
        "Recent rules: twice as many pairs as features",
        Config(d=5, n=10, covariance="isotropic", steps=4, recent=True),
        "Ten pairs of five features. Which of the rules of 2024 and 2025 comes near Bayes?",
        "Beyond the paper",
        view={"group": "recent"},
    ),
    Preset(
        "recent-few",
        "Recent rules: as many pairs as features",
        Config(d=5, n=5, covariance="isotropic", steps=4, recent=True),
        "Five pairs just determine w*. Who makes the most of each?",
        "Beyond the paper",
        view={"group": "recent"},
    ),
    Preset(
        "recent-uneven",
        "Recent rules on the Memformers' prompts",
        Config(d=5, n=20, noise=0.0, covariance="uneven", target="inverse", steps=4, recent=True),
        "Directions are unequal. What is a rate or a decay of each channel's own worth?",
        "Beyond the paper",
        view={"group": "recent"},
    ),
)
