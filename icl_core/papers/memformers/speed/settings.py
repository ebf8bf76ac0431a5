"""The settings of the experiment on what memory is worth: the models whose training is timed and
how each is drawn, the view and the presets."""

from dataclasses import dataclass

from icl_core.contract.experiment import Preset
from icl_core.contract.knobs import choice, settings, slider, text
from icl_core.contract.settings_io import numbers
from icl_core.papers.memformers.shared import test_set
from icl_core.papers.memformers.shared.settings import (
    MODEL,
    REPEATS,
    TRAINING,
    Model,
    Task,
    task_of,
)
from icl_core.papers.memformers.shared.variants import VARIANTS


@dataclass(frozen=True)
class Timed:
    """A model by its `variant`, some of whose parameters may be `frozen` at their
    initial values."""

    id: str
    name: str
    variant: str
    kind: str  # its colour
    symbol: str
    frozen: tuple[str, ...] = ()

    @property
    def has_own_floor(self) -> bool:
        """Return whether it cannot be every polynomial of its degree."""
        return not VARIANTS[self.variant].equal_power


LINEAR, STEPPED, CGD, LFOM, SHARED = MODELS = (
    Timed("linear", "linear", "linear", "layer 2", "circle"),
    # the CGD-like Memformer with γ = 0: it remembers nothing, but has a step size of its own in
    # every layer
    Timed("stepped", "linear + α", "cgd", "layer 5", "diamond", frozen=("gamma",)),
    Timed("cgd", "CGD-like", "cgd", "layer 4", "square"),
    Timed("lfom", "LFOM", "lfom", "trained", "cross"),
    Timed("shared", "one Γ (own floor)", "shared", "layer 3", "x"),
)
MODELS_BY_ID = {each.id: each for each in MODELS}
EQUAL = tuple(each for each in MODELS if not each.has_own_floor)
MEMORIES = (CGD, LFOM)


BOTH = {"original": "original, A", "whitened": "whitened, √Σ A √Σ"}
SHOWN = {
    "all": "all models",
    "equal": "models of equal power",
    "memory": "linear + α, CGD-like, LFOM",
}


@settings
class Config(Task):
    """Which trainings are timed: every model at every rate in both coordinates, at a constant rate,
    on fresh prompts.

    A schedule that ends with the training would tie the answer to the number of steps."""

    MAIN = ("d", "n", "layers", "condition", "seeds")

    FIRST = ("layers", "rates", "steps", "batch")

    layers: int = slider("layers L", 1, 6, default=4, group=MODEL)
    rates: str = text(
        "learning rates", 60, default=".003, .01, .03, .1", group=TRAINING, help="up to six"
    )
    steps: int = slider("steps of training", 10, 10_000, default=2500, step=10, group=TRAINING)
    batch: int = slider("prompts per batch", 1, 20_000, default=1000, log=True, group=TRAINING)
    seed: int = slider("seed", 0, 99, default=0, group=REPEATS)
    seeds: int = slider("seeds", 1, 5, default=1, group=REPEATS)

    def check(self) -> None:
        """Refuse a list that holds no rates, a spectrum that is none, and what does not fit the
        memory."""
        model_of(self, MODELS[0], "original", max(rates_of(self)))


@settings
class Training(Model):
    """One training, evaluated while it goes on and no more."""

    @property
    def tested(self) -> int:
        """Return how many prompts its model is evaluated on."""
        return test_set.WATCHED


def rates_of(config: Config) -> list[float]:
    """Return the learning rates, ascending, each once."""
    return sorted(set(numbers("rates", config.rates, 1, 6, 0.001, 1.0)))


def model_of(config: Config, model: Timed, coordinates: str, rate: float) -> Training:
    """Return one training: a model, the coordinates that it learns in and its learning rate."""
    own = {name: getattr(config, name) for name in ("layers", "steps", "batch", "seed", "seeds")}
    how = {"schedule": "constant", "learning_rate": rate, "coordinates": coordinates}
    return Training(variant=model.variant, **how, **own, **task_of(config))


@settings
class View:
    """What is drawn of the trainings."""

    coordinates: str = choice("coordinates", BOTH, default="original")
    rate: float = slider("learning rate (the nearest trained)", 0.001, 1.0, default=0.01, log=True)
    shown: str = choice("models", SHOWN, default="all")
    model: str = choice("one model", {each.id: each.name for each in MODELS}, default="linear")


PRESETS = (
    Preset(
        "worth",
        "What memory is worth",
        Config(),
        "Compare the lines at one rate, then at the best rate of each.",
        "Beyond the paper",
        seeds=5,
    ),
    Preset(
        "two layers",
        "Two layers",
        Config(layers=2),
        "A shallower model has less to gain. Does memory still make it faster?",
        "Beyond the paper",
        seeds=5,
    ),
    Preset(
        "isotropic",
        "All eigenvalues alike",
        Config(spectrum="isotropic"),
        "Σ⁻¹ is nothing to find here: both coordinates are the same but for a rotation.",
        "Beyond the paper",
        seeds=5,
        shipped=False,
    ),
)
