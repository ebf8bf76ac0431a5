"""The settings of the experiment on width and tasks: which models are trained how wide, and what is
drawn of it."""

from icl_core.contract.experiment import Preset
from icl_core.contract.knobs import BadSetting, choice, settings, slider, text
from icl_core.contract.settings_io import numbers, pieces
from icl_core.papers.gdssm.shared.sequence_models import MODELS
from icl_core.papers.gdssm.shared.sequence_models.settings import (
    NORMS,
    TOKENS,
    Setting,
    bias_knob,
)
from icl_core.papers.gdssm.shared.settings import MODEL, REPEATS, TASK, TRAINING

ALL = "all"
BASELINES = tuple(model.id for model in MODELS.values() if model.baseline)


@settings
class Config:
    """What is trained: every model at every width, as its authors build it, at one rate. The rate
    warms up over a twentieth of the steps and falls to zero along a cosine."""

    MAIN = ("f", "N", "widths", "seeds")

    model: str = choice("tokens", TOKENS, default="1-D", group=TASK)
    f: int = slider("features, f", 1, 20, default=3, group=TASK)
    N: int = slider("context pairs, N", 1, 20, default=5, group=TASK)
    widths: str = text("widths, times 2f + N + 1", 40, default="1/2, 1, 2", group=MODEL)
    models: str = text(
        "models", 100, default=ALL, group=MODEL, help=f"{ALL}, or some of {', '.join(BASELINES)}"
    )
    norm: str = choice("norm before each block", NORMS, default="authors", group=MODEL)
    batch: int = slider("tasks per batch", 16, 1024, default=64, step=16, group=TRAINING)
    steps: int = slider("steps", 10, 20000, default=400, log=True, group=TRAINING)
    learning_rate: float = slider(
        "learning rate", 1e-4, 3e-2, default=3e-3, log=True, group=TRAINING
    )
    seed: int = slider("seed", 0, 99, default=0, group=REPEATS)
    seeds: int = slider("seeds", 1, 5, default=1, group=REPEATS)
    bias: bool = bias_knob()

    def check(self) -> None:
        """Refuse lists that hold no widths or models, and what does not fit the memory."""
        chosen(self)
        settings_of(self)


def chosen(config: Config) -> tuple[str, ...]:
    """Return the ids of the models that are trained beside the GD-SSM, in the order of the table.
    Raises `BadSetting` where the list names none or one that is not there."""
    names = pieces(config.models.lower())
    if names == [ALL]:
        return BASELINES
    unknown = [name for name in names if name not in BASELINES]
    if unknown or not names:
        choices = f"{ALL}, or some of {', '.join(BASELINES)}"
        raise BadSetting(f"models must be {choices}, got {', '.join(unknown)!r:.60}")
    return tuple(name for name in BASELINES if name in names)


def settings_of(config: Config) -> list[Setting]:
    """Return how the models of each width are trained, the narrowest first, each width once. Raises
    `BadSetting`."""
    shared = {
        name: getattr(config, name)
        for name in ("model", "f", "N", "norm", "batch", "steps", "seed", "seeds", "bias")
    }
    factors = sorted(numbers("widths", config.widths, 1, 7, 0.25, 4.0))
    all_settings = [Setting(width=factor, **shared) for factor in factors]
    return list({setting.hidden: setting for setting in all_settings}.values())


SHOWN = {"narrowest": "the narrowest", "base": "nearest to 2f + N + 1", "widest": "the widest"}


@settings
class View:
    """What is drawn of it."""

    shown: str = choice("width of the curves", SHOWN, default="base")


FIVE = "1/2, 3/4, 1, 3/2, 2"
PRESETS = (
    Preset(
        "classroom",
        "In class: products given, f = 3",
        Config(),
        "In a few minutes: which models gain from width, and which from more tasks?",
        seeds=3,
    ),
    Preset(
        "N-D",
        "Vector labels, f = 3, N = 5",
        Config(model="N-D", widths=FIVE, batch=128, steps=9_000),
        "The products have to be learned. How wide must a model be to leave predicting zero, and "
        "after how many tasks?",
        "Figures",
        seeds=3,
    ),
    Preset(
        "N-D, bias",
        "Vector labels, with a bias",
        Config(model="N-D", widths=FIVE, batch=128, steps=9_000, bias=True),
        "The read-ins have a bias, so that a norm does not hide the size of y: which lines reach 1 "
        "now, and at which width?",
        "Figures",
        seeds=3,
    ),
    Preset(
        "S5's own norm",
        "S5 with the norm of its code",
        Config(
            model="N-D",
            widths=FIVE,
            models="s5",
            norm="code",
            batch=128,
            steps=9_000,
            bias=True,
        ),
        "Its code norms over tasks and tokens, which hides no size. Does S5 come nearer to one "
        "step than with the norm of the others?",
        "Figures",
        seeds=3,
    ),
    Preset(
        "1-D",
        "Scalar labels, f = N = 10",
        Config(f=10, N=10, widths=FIVE, batch=128, steps=8_000),
        "The paper's size. Its width of 20 is less than 2f + N + 1 = 31.",
        "Paper's setting",
        seeds=3,
        shipped=False,
    ),
)
