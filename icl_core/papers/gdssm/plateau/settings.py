"""The settings of the experiment on the plateau: which models, on how many features, and what is
drawn of it."""

from icl_core.contract.experiment import Preset
from icl_core.contract.knobs import BadSetting, choice, settings, slider, text, toggle
from icl_core.contract.settings_io import numbers, pieces
from icl_core.papers.gdssm.shared.sequence_models import MODELS
from icl_core.papers.gdssm.shared.sequence_models.settings import FORMS, Setting
from icl_core.papers.gdssm.shared.settings import MODEL, REPEATS, TASK, TRAINING

BASELINES = tuple(model.id for model in MODELS.values() if model.baseline)
MOST_FEATURES = 10
MOST_SIZES = 5

# how a model is trained: curriculum, and a loss at every x
RECIPES = {
    "paper": (False, False),
    "curriculum": (True, False),
    "dense": (False, True),
    "both": (True, True),
}


@settings
class Config:
    """What is trained: every model at every f = N in four ways, until it has left predicting
    zero."""

    MAIN = ("features", "models", "steps", "seeds")

    features: str = text(
        "features, f", 30, default="2, 4", group=TASK, help="N, the context pairs, is f"
    )
    models: str = text(
        "models", 100, default="softmax-2", group=MODEL, help=f"some of {', '.join(BASELINES)}"
    )
    form: str = choice("form of the models", FORMS, default="plain", group=MODEL)
    bias: bool = toggle(
        "bias in the read-in and read-out",
        default=True,
        group=MODEL,
        shown_if="by_authors",
        help="as in their authors' codes",
    )
    width: float = slider(
        "width, times 2f + N + 1", 0.25, 4.0, default=1.0, log=True, group=MODEL,
        shown_if="by_authors",
    )  # fmt: skip
    parameters: int = slider(
        "parameters of each", 1000, 16000, default=2000, step=500, group=MODEL, shown_if="plain"
    )
    batch: int = slider("tasks per batch", 16, 1024, default=128, step=16, group=TRAINING)
    steps: int = slider("steps at most", 10, 20000, default=400, log=True, group=TRAINING)
    learning_rate: float = slider(
        "learning rate", 1e-4, 3e-2, default=1e-2, log=True, group=TRAINING
    )
    seed: int = slider("seed", 0, 99, default=0, group=REPEATS)
    seeds: int = slider("seeds", 1, 5, default=1, group=REPEATS)

    def check(self) -> None:
        """Refuse lists that hold no sizes or models, and what does not fit the memory."""
        chosen_models(self)
        for f in sizes(self):
            setting_of(self, f, "both")

    @property
    def plain(self) -> bool:
        """Return whether the models are in their plain form."""
        return self.form == "plain"

    @property
    def by_authors(self) -> bool:
        """Return whether they are as their authors build them."""
        return self.form == "authors"


def sizes(config: Config) -> list[int]:
    """Return the numbers of features, the smallest first, each once. Raises `BadSetting`."""
    asked = numbers("features", config.features, 1, MOST_SIZES, 1, MOST_FEATURES)
    if any(f != int(f) for f in asked):
        raise BadSetting(f"features must be whole numbers, got {config.features!r:.60}")
    return sorted({int(f) for f in asked})


def chosen_models(config: Config) -> tuple[str, ...]:
    """Return the ids of the models that are trained, in the order of the table. Raises
    `BadSetting`."""
    asked = pieces(config.models.lower())
    unknown = [name for name in asked if name not in BASELINES]
    if unknown or not asked:
        wanted = f"some of {', '.join(BASELINES)}"
        raise BadSetting(f"models must be {wanted}, got {', '.join(unknown)!r:.60}")
    return tuple(name for name in BASELINES if name in asked)


def setting_of(config: Config, f: int, recipe: str) -> Setting:
    """Return how the models are trained on so many features."""
    curriculum, dense = RECIPES[recipe]
    shared = {
        name: getattr(config, name)
        for name in ("form", "bias", "width", "parameters", "batch", "steps", "seed", "seeds")
    }
    return Setting(model="N-D", f=f, N=f, curriculum=curriculum, dense=dense, **shared)


def same_training(f: int, recipe: str) -> str:
    """Return the recipe that trains alike: with one or two features a curriculum has no stage."""
    if f > 2:
        return recipe
    return {"curriculum": "paper", "both": "dense"}.get(recipe, recipe)


SHOWN = {"largest": "the largest f", "smallest": "the smallest f"}


@settings
class View:
    """What is drawn of it."""

    shown: str = choice("f of the curves", SHOWN, default="largest")


PRESETS = (
    Preset(
        "classroom",
        "In class: two and four features",
        Config(),
        "A softmax transformer of two layers, plain: after how many tasks does it leave "
        "predicting zero, and what helps?",
        seeds=3,
    ),
    Preset(
        "to four",
        "Two, three and four features",
        Config(features="2, 3, 4", steps=500),
        "The same model with one size more: does the plateau grow step by step?",
        "Figures",
        seeds=3,
    ),
    Preset(
        "to five",
        "Up to five features, as the authors build them",
        Config(
            features="2, 3, 4, 5",
            models="linear-2, softmax-2",
            form="authors",
            steps=4_000,
            learning_rate=3e-3,
        ),
        "Transformers of two layers with norms, heads and feed-forward layers: how fast does the "
        "plateau grow, and who shortens it?",
        "Figures",
        seeds=3,
        shipped=False,
    ),
)
