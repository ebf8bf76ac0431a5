"""The settings of the experiment on sizes: which are trained, and what is drawn of them."""

from icl_core.contract.experiment import Preset
from icl_core.contract.knobs import choice, settings, slider, text, toggle
from icl_core.contract.settings_io import whole_numbers
from icl_core.machine import device
from icl_core.papers.gdssm.shared.settings import (
    MODEL,
    MODELS,
    REPEATS,
    TASK,
    TRAINING,
    tested_with,
)
from icl_core.papers.gdssm.shared.settings import Config as Layer

# the number of examples at which dimensions are tried, and of dimensions at which examples are
BASE = 10


@settings
class Config:
    """What is trained; Figures 1 C and 2 C. A layer for every N at f = 10, and for every f at N =
    10."""

    MAIN = ("pairs", "features", "seeds")

    model: str = choice("model", MODELS, default="N-D", group=MODEL)
    pairs: str = text("context pairs N, at f = 10", 40, default="5, 10, 20, 40", group=TASK)
    features: str = text("features f, at N = 10", 40, default="5, 10, 20", group=TASK)
    batch: int = slider("tasks per batch", 16, 2048, default=256, step=16, group=TRAINING)
    steps: int = slider("steps", 10, 2000, default=300, step=10, group=TRAINING)
    learning_rate: float = slider(
        "learning rate", 1e-4, 0.2, default=0.02, log=True, group=TRAINING, was="rate"
    )
    seed: int = slider("seed", 0, 99, default=0, group=REPEATS)
    seeds: int = slider("seeds", 1, 5, default=1, group=REPEATS)

    def check(self) -> None:
        """Refuse lists that hold no sizes, and what does not fit the memory: every layer by itself;
        and, as what one test set leaves free is no place for the next, larger one, all of them
        together."""
        for f, N in sizes_of(self):
            layer_of(self, f, N)
        device.check_memory(
            4 * sum(tested_with(f, N) for f, N in sizes_of(self)), "all sizes together"
        )


def sizes_of(config: Config) -> list[tuple[int, int]]:
    """Return every (f, N) that is trained, each once: first those of equal f."""
    pairs = whole_numbers("pairs", config.pairs, 6, 1, 80)
    features = whole_numbers("features", config.features, 5, 1, 40)
    return list(dict.fromkeys([*((BASE, N) for N in pairs), *((f, BASE) for f in features)]))


def layer_of(config: Config, f: int, N: int) -> Layer:
    """Return the training of one size."""
    shared = {
        name: getattr(config, name)
        for name in ("model", "batch", "steps", "learning_rate", "seed", "seeds")
    }
    return Layer(f=f, N=N, **shared)


@settings
class View:
    """What is drawn of the sizes."""

    relative: bool = toggle("as a share of predicting zero", default=False)


PRESETS = (
    Preset(
        "N-D",
        "Figure 2 C: vector labels",
        Config(),
        f"All lie on the closed form. Either f or N is {BASE}.",
        "Figures",
        seeds=5,
    ),
    Preset(
        "to forty",
        "Figure 2 C, to forty features",
        Config(features="5, 10, 20, 30, 40"),
        "Twice as many features, towards the fifty of the authors: do all stay on the closed form?",
        "Figures",
        seeds=5,
    ),
    Preset(
        "1-D",
        "Figure 1 C: scalar labels",
        Config(model="1-D", batch=1024, learning_rate=0.01, steps=600),
        "One label per task instead of f, so training needs more tasks to come as close.",
        "Figures",
        seeds=5,
    ),
)
