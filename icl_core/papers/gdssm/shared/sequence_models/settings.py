"""How a model of sequences is trained beside others: the task, the sizes, the training."""

from icl_core import device
from icl_core.knobs import choice, settings, slider
from icl_core.papers.gdssm.shared.settings import MODEL, REPEATS, TASK, TRAINING

LEARNING_RATES = (1e-3, 3e-3, 1e-2, 3e-2)  # tried with every model alike
TOKENS = {"1-D": "1-D: [x y, next x], scalar labels", "N-D": "N-D: x, y, x, y, …, vector labels"}


@settings
class Config:
    """What is trained; Figures 4 C (1-D) and 6 (N-D). Every model reads the same tokens in the same order and trains
    alike: the rate is the best of all that were tried for a while with the first seed."""

    model: str = choice("tokens", TOKENS, default="1-D", group=TASK)
    f: int = slider("features, f", 1, 20, default=3, group=TASK)
    N: int = slider("context pairs, N", 1, 20, default=5, group=TASK)
    parameters: int = slider(
        "parameters of the others", 1000, 8000, default=4000, step=500, group=MODEL,
        help="the GD-SSM has 14 to 2,000, too few for any of the others at f = 10",
    )  # fmt: skip
    batch: int = slider("tasks a batch", 16, 512, default=64, step=16, group=TRAINING)
    steps: int = slider("steps", 10, 20000, default=300, log=True, group=TRAINING)
    tuning: int = slider("steps for each rate tried", 10, 20000, default=60, log=True, group=TRAINING)
    seed: int = slider("seed", 0, 99, default=0, group=REPEATS)
    seeds: int = slider("number of seeds", 1, 5, default=1, group=REPEATS)

    def check(self) -> None:
        """Refuse what does not fit the memory: the hidden numbers of the widest model at every token, for all seeds or
        all learning rates at once."""
        rows = max(self.seeds, len(LEARNING_RATES))
        numbers = 40 * self.parameters**0.5 * rows * self.batch * (2 * self.N + 1) * (self.N + 8)
        what = f"batch {self.batch}, N {self.N}, parameters {self.parameters}, seeds {self.seeds}"
        device.check_memory(int(4 * numbers), what)
