"""The settings of the experiment on unseen variances."""

from icl_core.knobs import choice, settings, slider, text
from icl_core.number_lists import numbers
from icl_core.papers.memformers.shared.settings import Config as Model
from icl_core.papers.memformers.shared.task import SPECTRA, eigenvalues_of

TASK, HEADS, GATES, REPEATS = "the task", "the heads", "the gates", "repetition"
ROTATIONS = {"common": "one U for all", "own": "an own U for every head"}

STARTS = {
    "even": "equal, one in sum",
    "ones": "one for every head",
    "zeros": "zero",
    "last": "the last head alone",
}


@settings
class Config:
    """What is trained, and on what it is tried; Section 4.2, Figure 8. Every head learns from prompts of one variance;
    then gates alone are learned on prompts of another."""

    variances: str = text("variances in training, a head each", 60, default="1, 2, 3", group=HEADS)
    unseen: str = text("variances met at test time", 60, default="0.5, 1.5, 3.5", group=GATES)
    rotations: str = choice("the heads' covariances", ROTATIONS, default="common", group=HEADS)
    layers: int = slider("layers L", 1, 6, default=4, group=HEADS)
    steps: int = slider("steps of training", 10, 3000, default=600, step=10, group=HEADS)
    start: str = choice("gates start from", STARTS, default="even", group=GATES)
    gate_steps: int = slider("steps at test time", 10, 1000, default=100, step=10, group=GATES)
    gate_prompts: int = slider("prompts at test time", 1, 5000, default=1000, log=True, group=GATES)
    d: int = slider("dimension d", 2, 20, default=5, group=TASK)
    n: int = slider("examples in a prompt, n", 2, 100, default=20, group=TASK, help="below d: underdetermined")
    spectrum: str = choice("eigenvalues of Σ", SPECTRA, default="paper", group=TASK)
    condition: float = slider("condition number", 1.0, 10_000.0, default=16.0, log=True, group=TASK)
    decay: float = slider("decay", 0.2, 5.0, default=1.0, log=True, group=TASK)
    own: str = text("own eigenvalues", 200, default="1, 1, 1/4, 1/16, 1", group=TASK, help="d numbers above zero")
    seed: int = slider("seed", 0, 19, default=0, group=REPEATS)
    seeds: int = slider("number of seeds", 1, 5, default=1, group=REPEATS)

    def check(self) -> None:
        """Refuse lists that hold no variances, and a spectrum that is none."""
        trained_on(self)
        met_by(self)
        eigenvalues_of(model_of(self, 0))


def trained_on(config: Config) -> list[float]:
    """The variances that the heads learn, one each."""
    return numbers("variances", config.variances, 1, 4, low=0.01, high=100.0)


def met_by(config: Config) -> list[float]:
    """The variances met at test time."""
    return numbers("unseen", config.unseen, 1, 6, low=0.01, high=100.0)


def model_of(config: Config, head: int) -> Model:
    """The training of one head: on its own prompts, from its own start, in whitened coordinates."""
    names = ("layers", "steps", "d", "n", "spectrum", "condition", "decay", "own", "seeds")
    shared = {name: getattr(config, name) for name in names}
    return Model(seed=config.seed + 20 * head, beside="none", **shared)


@settings
class View:
    """What is drawn of the gates."""

    tried: int = slider("variance shown", 1, 10, default=3)
    seed_shown: int = slider("seed shown", 1, 5, default=1, at_most="seeds")
