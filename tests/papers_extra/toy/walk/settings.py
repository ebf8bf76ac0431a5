"""What is trained, what is drawn of it, and the settings to begin with."""

from icl_core.contract.experiment import Preset
from icl_core.contract.knobs import settings, slider


@settings
class Config:
    """What is trained."""

    MAIN = ("d", "seeds")

    d: int = slider("inputs d", 1, 64, default=8, help="Number of weights to find.")
    steps: int = slider("training steps", 10, 1_000_000, default=300, log=True)
    rate: float = slider("step size η", 0.001, 10.0, default=0.1, log=True)
    seeds: int = slider("seeds", 1, 16, default=1)
    seed: int = slider("first seed", 0, 1000, default=0)


@settings
class View:
    """What is drawn."""

    snapshot: int = slider("training step shown", 0, 31, default=31)
    seed_shown: int = slider("seed shown", 0, 15, default=0)


PRESETS = (
    Preset("classroom", "In class", Config(), "Eight inputs.", seeds=2),
    Preset(
        "paper",
        "As in the paper",
        Config(d=16, steps=600),
        "Sixteen inputs.",
        group="Paper's setting",
    ),
)
