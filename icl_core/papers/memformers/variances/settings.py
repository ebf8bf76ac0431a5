"""The settings of the experiment on unseen variances: what is trained, what is drawn of it, and presets."""

from icl_core.experiment import Preset
from icl_core.knobs import choice, settings, slider, text
from icl_core.number_lists import numbers
from icl_core.papers.memformers.shared.settings import REPEATS, Model, Task, task_of

HEADS, GATES = "the heads", "the gates"
ROTATIONS = {"common": "one U for all", "own": "an own U for every head"}

STARTS = {"even": "equal, one in sum", "ones": "one for every head", "zeros": "zero", "last": "the last head alone"}


@settings
class Config(Task):
    """What is trained, and what is met at test time; Section 4.2, Figure 8. Every head learns from prompts of one
    variance; then gates alone are learned on prompts of another."""

    FIRST = ("variances", "unseen", "rotations", "layers", "steps", "start", "gate_steps", "gate_prompts")

    variances: str = text("variances in training, a head each", 60, default="1, 2, 3", group=HEADS)
    unseen: str = text("variances met at test time", 60, default="0.5, 1.5, 3.5", group=GATES)
    rotations: str = choice("the heads' covariances", ROTATIONS, default="common", group=HEADS)
    layers: int = slider("layers L", 1, 6, default=4, group=HEADS)
    steps: int = slider("steps of training", 10, 3000, default=600, step=10, group=HEADS)
    start: str = choice("gates start from", STARTS, default="even", group=GATES)
    gate_steps: int = slider("steps at test time", 10, 1000, default=100, step=10, group=GATES)
    gate_prompts: int = slider("prompts at test time", 1, 5000, default=1000, log=True, group=GATES)
    seed: int = slider("seed", 0, 19, default=0, group=REPEATS)
    seeds: int = slider("number of seeds", 1, 5, default=1, group=REPEATS)

    def check(self) -> None:
        """Refuse lists that hold no variances, and a spectrum that is none."""
        trained_on(self)
        met_by(self)
        model_of(self, 0)


def trained_on(config: Config) -> list[float]:
    """The variances that the heads learn, one each."""
    return numbers("variances", config.variances, 1, 4, low=0.01, high=100.0)


def met_by(config: Config) -> list[float]:
    """The variances met at test time."""
    return numbers("unseen", config.unseen, 1, 6, low=0.01, high=100.0)


def model_of(config: Config, head: int) -> Model:
    """The training of one head: on its own prompts, from its own start, in whitened coordinates."""
    own = {"layers": config.layers, "steps": config.steps, "seeds": config.seeds, "seed": config.seed + 20 * head}
    return Model(**own, **task_of(config))


@settings
class View:
    """What is drawn of the gates."""

    GONE = ("tried",)  # in old links

    seed_shown: int = slider("seed shown", 1, 5, default=1, at_most="seeds")


PRESETS = (
    Preset("figure 8", "Three heads, three unseen variances", Config(), "As in the paper.", "Figures", seeds=5),
    Preset(
        "own covariances", "A covariance for every head", Config(rotations="own", gate_steps=400),
        "Now heads differ in more than a factor: watch the gates find the one that knows the prompts' U.", seeds=2,
    ),
    Preset(
        "ten prompts", "Gates from ten prompts", Config(gate_prompts=10),
        "Three numbers can be learned from ten prompts; how well?",
    ),
)  # fmt: skip
