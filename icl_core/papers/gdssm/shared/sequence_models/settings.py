"""How a model of sequences is built and trained beside others: the task, the sizes, the
training."""

from typing import Any

from icl_core.contract.knobs import BadSetting, choice, settings, slider, toggle
from icl_core.machine import device
from icl_core.papers.gdssm.shared.settings import MODEL, REPEATS, TASK, TRAINING

# tried with every model alike; the wider range in the plain form and with a bias
RATES = (1e-3, 3e-3, 1e-2)
WIDER_RATES = (1e-3, 3e-3, 1e-2, 3e-2)
UNDECIDED = 3e-3  # the rate where none of them has shown itself the best
TOKENS = {"1-D": "1-D: [x y, next x], scalar labels", "N-D": "N-D: x, y, x, y, …, vector labels"}
FORMS = {"authors": "as their authors build them", "plain": "plain, with equal parameters"}
NORMS = {
    "authors": "as their authors",
    "code": "as their authors' codes: S5's over tasks and tokens",
    "none": "none",
}
HEADS = {"1": "1", "2": "2", "4": "4", "8": "8"}
NARROWEST = 4  # a head of one number each
PAPERS_WIDTH = 20  # of the plain form
EVALUATED = 128  # tasks at a time: more would need more memory than a usual batch does in training
BESIDE = (
    83 * 2**20
)  # bytes that PyTorch came to need for itself in the smallest training of all models


def bias_knob(shown_if: str = "") -> Any:
    """Return the knob of the vectors that read-in and read-out add."""
    return toggle(
        "bias in the read-in and read-out",
        default=False,
        group=MODEL,
        shown_if=shown_if,
        added=True,
        help="as in their authors' codes; without it a norm behind the read-in hides the size of y",
    )


def curriculum_knob() -> Any:
    """Return the knob of Garg et al.'s order of tasks."""
    return toggle(
        "curriculum over features",
        default=False,
        group=TRAINING,
        added=True,
        help="in the first quarter of the steps only 2, then 4, 6, … of the features are not zero",
    )


def dense_knob() -> Any:
    """Return the knob of a loss at every x."""
    return toggle(
        "a loss at every x",
        default=False,
        group=TRAINING,
        added=True,
        help="every beginning of a prompt is a prompt, from one pair on",
    )


@settings
class Setting:
    """What is trained, at a rate that is given; Figures 4 C (1-D) and 6 (N-D). Every model reads
    the same tokens in the same order and trains alike."""

    model: str = choice("tokens", TOKENS, default="N-D", group=TASK)
    f: int = slider("features, f", 1, 20, default=3, group=TASK)
    N: int = slider("context pairs, N", 1, 20, default=5, group=TASK)
    form: str = choice("the other models", FORMS, default="authors", group=MODEL)
    norm: str = choice(
        "norm before each block",
        NORMS,
        default="authors",
        group=MODEL,
        shown_if="by_authors",
        help="a norm hides the size of y from its block; the plain form has none",
    )
    width: float = slider(
        "width, times 2f + N + 1",
        0.25,
        4.0,
        default=1.0,
        log=True,
        group=MODEL,
        shown_if="by_authors",
        help="about what is needed: 2f for x and y, N + 1 for positions",
    )
    parameters: int = slider(
        "parameters of each",
        1000,
        16000,
        default=4000,
        step=500,
        group=MODEL,
        shown_if="plain",
        help="the GD-SSM has 14 to 2,000",
    )
    batch: int = slider("tasks per batch", 16, 2048, default=128, step=16, group=TRAINING)
    steps: int = slider("steps", 10, 50000, default=500, log=True, group=TRAINING)
    seed: int = slider("seed", 0, 99, default=0, group=REPEATS)
    seeds: int = slider("seeds", 1, 5, default=1, group=REPEATS)
    bias: bool = bias_knob("by_authors")
    heads: str = choice(
        "heads",
        HEADS,
        default="4",
        group=MODEL,
        shown_if="by_authors",
        added=True,
        help="the hidden numbers are shared among them: at f = N = 10 each of four has 8, fewer "
        "than an x",
    )
    layers: int = slider(
        "layers of the recurrent models",
        1,
        3,
        default=1,
        group=MODEL,
        shown_if="by_authors",
        added=True,
        help="of Griffin, groups of three blocks; the transformers keep theirs",
    )
    curriculum: bool = curriculum_knob()
    dense: bool = dense_knob()

    def check(self) -> None:
        """Refuse widths that leave the heads nothing, and what does not fit the memory: the hidden
        numbers of the widest model at every token, for all that trains or is evaluated at once, and
        what PyTorch needs. A loss at every x asks Mamba for the states at all tokens."""
        if self.hidden < NARROWEST:
            raise BadSetting(
                f"width must make at least {NARROWEST} hidden numbers, got {self.width:g} × "
                f"{self.base}"
            )
        if self.by_authors and self.hidden < int(self.heads):
            raise BadSetting(
                f"heads must be at most the {self.hidden} hidden numbers, got {self.heads}"
            )
        if self.plain:
            each = 40 * self.parameters**0.5 * (self.N + 8)
            size = self.parameters
        else:
            layers = max(self.layers, 2 * self.layers - 1) if self.dense else self.layers
            each = 256 * self.hidden * layers + 40 * self.positions
            size = self.width
        numbers = each * self.rows * max(self.batch, EVALUATED) * self.positions
        sizes = (
            f"batch {self.batch}, N {self.N}, {'parameters' if self.plain else 'width'} {size:g}, "
        )
        device.check_memory(int(4 * numbers) + BESIDE, f"{sizes}seeds {self.seeds}")

    @property
    def rows(self) -> int:
        """How many trainings of a model go on at once."""
        return self.seeds

    @property
    def plain(self) -> bool:
        """Whether the models are in their plain form."""
        return self.form == "plain"

    @property
    def by_authors(self) -> bool:
        """Whether they are as their authors build them."""
        return self.form == "authors"

    @property
    def base(self) -> int:
        """2f + N + 1: about what x, y and the positions of the pairs and the query need. (A linear
        transformer that copies each x to its y exactly needs 2f + 2N: N directions for keys on
        x-tokens and N for queries on y-tokens.)"""
        return 2 * self.f + self.N + 1

    @property
    def hidden(self) -> int:
        """The hidden width: of the authors' form, or what the plain form aims at, the paper's or
        more."""
        return max(PAPERS_WIDTH, self.base) if self.plain else round(self.width * self.base)

    @property
    def curriculum_stages(self) -> int:
        """How many stages with fewer features than f a curriculum has: with 2, 4, … of them."""
        return (self.f - 1) // 2 if self.curriculum else 0

    def active(self, step: int, steps: int) -> int:
        """Return how many features are not zero at a step of so many: all f, but in the first
        quarter of the steps of a curriculum, whose stages are equally long, first 2, then 4, 6, …,
        the even numbers below f. With f of 1 or 2 there is no stage. (Garg et al. 2022 begin with 5
        of 20 features and add one every 2,000 steps; they make prompts longer too, which is not
        done here.)"""
        stage = 4 * step * self.curriculum_stages // steps  # of a quarter of the steps
        return 2 * (stage + 1) if stage < self.curriculum_stages else self.f

    @property
    def features(self) -> int:
        """The size of a token."""
        return 2 * self.f if self.model == "1-D" else self.f

    @property
    def positions(self) -> int:
        """Tokens of a prompt."""
        return self.N if self.model == "1-D" else 2 * self.N + 1


@settings
class Config(Setting):
    """What is trained, at the best rate of those that are tried with the first seed, if one of them
    had left predicting zero by then; else it is .003 for all."""

    MAIN = ("f", "N", "width", "seeds")

    tuning: int = slider(
        "steps for each rate tried", 10, 20000, default=100, log=True, group=TRAINING
    )

    @property
    def rows(self) -> int:
        """How many trainings of a model go on at once: of the rates, then of the seeds."""
        return max(self.seeds, len(self.rates))

    @property
    def rates(self) -> tuple[float, ...]:
        """The learning rates that are tried."""
        return WIDER_RATES if self.plain or self.bias else RATES
