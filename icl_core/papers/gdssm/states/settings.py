"""The settings of the experiment on update rules: the task, how each rule is trained in the
GD-SSM's window, and what is drawn of it."""

from dataclasses import replace

from icl_core.contract.experiment import Preset
from icl_core.contract.knobs import choice, settings, slider, toggle
from icl_core.contract.seeds import seed_shown_knob
from icl_core.in_context_regression.rules import RULES
from icl_core.machine import device
from icl_core.papers.gdssm.shared.settings import (
    TASK,
    TRAINING,
    first_seed,
    number_of_seeds,
)


@settings
class Config:
    """What is computed: every rule in closed form, and every rule trained in the window. The
    paper's size is f = N = 10, without drift."""

    MAIN = ("f", "N", "drift", "seeds")

    f: int = slider("features, f", 2, 20, default=3, group=TASK)
    N: int = slider("context pairs, N", 2, 40, default=5, group=TASK)
    drift: float = slider(
        "drift a pair, ρ",
        0.0,
        0.8,
        default=0.0,
        step=0.05,
        group=TASK,
        help="W ← √(1 − ρ²) W + ρ × fresh numbers after every pair",
    )
    batch: int = slider("tasks per batch", 16, 1024, default=256, step=16, group=TRAINING)
    steps: int = slider("steps", 10, 5000, default=300, step=10, group=TRAINING)
    learning_rate: float = slider(
        "learning rate", 1e-3, 0.1, default=0.02, log=True, group=TRAINING
    )
    seed: int = first_seed()
    seeds: int = number_of_seeds()
    recent: bool = toggle(
        "recent rules too",
        default=False,
        group=TASK,
        added=True,
        help="Kimi Linear, RWKV-7, DeltaProduct, Titans, TTT and ATLAS, as written",
    )
    train_recent: bool = toggle(
        "train KDA and DeltaProduct",
        default=False,
        group=TASK,
        added=True,
        help="as layers that read the window, on the same tasks and where half the columns drift",
    )

    def check(self) -> None:
        """Refuse what does not fit the memory: of every pair and seed the state and two products of
        its shape, which automatic differentiation keeps, and twice that for two matrices."""
        trained = self.N * self.seeds * self.batch * self.f**2 * 8
        tested = self.seeds * 2**12 * self.f**2 * 8
        what = f"batch {self.batch}, N {self.N}, f {self.f}, seeds {self.seeds}"
        device.check_memory(4 * (trained + tested), what)


@settings
class View:
    """What is drawn of the rules."""

    snapshot: int = slider("training step", 0, 31, default=31)
    seed_shown: int = seed_shown_knob()
    rule: str = choice("rule", {rule.id: rule.name for rule in RULES.values()}, default="delta")
    pairs_a_batch: int = slider("batch size, b", 1, 40, default=1, at_most="N")
    drifting: str = choice(
        "what drifts",
        {"all": "all of W", "half": "columns of half the features"},
        default="half",
        shown_if="recent",
    )


PAPER = Config(f=10, N=10, steps=600)
PRESETS = (  # first the one in which no training is left stuck
    Preset(
        "paper size",
        "f = N = 10, nothing drifts",
        replace(PAPER, train_recent=True),
        "The paper's task: what does a state of a hundred numbers lose if it corrects and does not "
        "only add?",
        "Paper's setting",
        seeds=3,
    ),
    Preset(
        "classroom",
        "In class: f = 3, N = 5",
        Config(),
        "Some ten numbers a rule, trained in seconds: do they become the rule as it is written?",
        "Classroom",
        seeds=3,
    ),
    Preset(
        "drift",
        "W drifts by 0.3 a pair, N = 20",
        replace(PAPER, N=20, drift=0.3, batch=128),
        "What is old is wrong by now. Which rules forget, and does training find how fast?",
        "Figures",
        seeds=3,
    ),
    Preset(
        "recent",
        "Recent rules where W drifts, f = 6, N = 20",
        Config(f=6, N=20, drift=0.3, batch=128, recent=True),
        "Some columns of W drift and others stay. Who forgets the ones and keeps the others?",
        "Beyond the paper",
    ),
)
