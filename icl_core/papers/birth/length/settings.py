"""What is trained, what is drawn of it, and the settings to begin with."""

from dataclasses import replace

from icl_core.contract.experiment import Preset
from icl_core.contract.knobs import BadSetting, choice, settings, slider, toggle
from icl_core.papers.birth.shared import own_text
from icl_core.papers.birth.shared import settings as one
from icl_core.papers.birth.shared.full import settings as whole
from icl_core.papers.birth.shared.own_text import size_field, text_field
from icl_core.papers.birth.shared.settings import MODEL, REPEATS, TASK, TRAINING

LENGTHS = {"128": "32, 64, 128", "256": "32, 64, 128, 256"}  # by the longest
FULL = (
    "everything learns, with feed-forward layers and layer norm, and the loss counts all positions"
)
MOST_STEPS = 2000  # of a training in the paper's task
# how often the trigger whose output is asked for has stood in a sequence before
AS_DRAWN = "as drawn"
REPEATS_OF = {
    AS_DRAWN: "as this paper's task draws it",
    "1": "once (Theorem 3's data)",
    "2": "twice",
    "4": "four times",
    "T/16": "once in sixteen positions",
}
OPTIMISERS = {"sgd": "SGD", "adamw": "AdamW"}
SCALES = {"sgd": "code", "adamw": "paper"}  # the initial scale with which each forms a head soonest


@settings
class Config:
    """What is trained: a transformer, once for each sequence length, optimiser and seed."""

    MAIN = ("lengths", "K", "d", "N", "seeds")

    lengths: str = choice("sequence lengths, T", LENGTHS, default="128", group=TASK)
    repeats: str = choice(
        "the trigger has come before",
        REPEATS_OF,
        default=AS_DRAWN,
        added=True,
        group=TASK,
        help="but for the first: each of K triggers has, and one is asked for, at the end; all "
        "characters are uniform, and the model is that of Theorem 3's proof",
    )
    K: int = slider("triggers per sequence, K", 1, 10, default=8, group=TASK)
    text: str = text_field(TASK)
    N: int = size_field(32, TASK)
    full: bool = toggle("the full transformer", default=False, added=True, group=MODEL, help=FULL)
    d: int = slider("width, d", 32, 256, default=128, step=16, group=MODEL)
    sgd_rate: float = slider(
        "learning rate of SGD",
        0.01,
        2.0,
        default=0.3,
        log=True,
        shown_if="in_the_papers_task",
        group=TRAINING,
    )
    adamw_rate: float = slider(
        "learning rate of AdamW",
        0.001,
        1.0,
        default=0.2,
        log=True,
        shown_if="simplified",
        group=TRAINING,
    )
    full_rate: float = slider(
        "learning rate of AdamW",
        1e-4,
        0.1,
        default=0.004,
        log=True,
        added=True,
        shown_if="full",
        group=TRAINING,
    )
    proof_sgd_rate: float = slider(
        "learning rate of SGD",
        1.0,
        100.0,
        default=60.0,
        log=True,
        added=True,
        shown_if="asks_once",
        group=TRAINING,
        help="large, as the proof's vectors N(0, 1/d) make small gradients",
    )
    proof_adamw_rate: float = slider(
        "learning rate of AdamW",
        0.001,
        0.1,
        default=0.02,
        log=True,
        added=True,
        shown_if="asks_once",
        group=TRAINING,
    )
    batch: int = slider("sequences per batch", 16, 512, default=64, step=16, group=TRAINING)
    steps: int = slider("steps", 10, 6000, default=150, step=10, group=TRAINING)
    seed: int = slider("seed", 0, 99, default=0, group=REPEATS)
    seeds: int = slider("seeds", 1, 5, default=1, group=REPEATS)

    def check(self) -> None:
        """Refuse what the longest training refuses; and the full transformer where one answer is
        asked for."""
        if self.in_the_papers_task:
            if self.steps > MOST_STEPS:
                raise BadSetting(
                    f"steps must be at most {MOST_STEPS:,} where sequences are drawn as in the "
                    f"paper's task, got {self.steps:,}"
                )
            training(self, "sgd", lengths_of(self)[-1], 0)
            return
        if self.full:
            raise BadSetting(
                "full must be off where one answer is asked for at the end, as the model is that "
                "of Theorem 3's proof, got on"
            )
        shortest = lengths_of(self)[0]
        pairs = self.K * occurrences(self, shortest)
        if pairs > (shortest - 1) // 2 or self.K >= self.N:
            raise BadSetting(
                f"K must leave room for all triggers with their outputs: a sequence of {shortest} "
                f"has {(shortest - 1) // 2} places, got {pairs} pairs"
            )

    @property
    def in_the_papers_task(self) -> bool:
        """Whether sequences are drawn as in the paper's task."""
        return self.repeats == AS_DRAWN

    @property
    def asks_once(self) -> bool:
        """Whether one answer is asked for, at the end of a sequence."""
        return not self.in_the_papers_task

    @property
    def simplified(self) -> bool:
        """Whether only the memories learn, in the paper's task."""
        return not self.full and self.in_the_papers_task

    @property
    def alphabet(self) -> int:
        """How many different characters the text has."""
        return own_text.alphabet(self)


@settings
class View:
    """What is drawn of the trainings."""

    until: str = choice(
        "time until",
        {
            "accuracy": "accuracy is 80%",
            "W_K2": "W_K² recalls half of its pairs",
            "W_K1": "W_K¹ recalls half of its early pairs",
        },
        default="accuracy",
    )
    optimiser_shown: str = choice("optimiser", OPTIMISERS, default="sgd")


def lengths_of(config: Config) -> list[int]:
    """Return the sequence lengths that a config compares, the shortest first."""
    return [length for length in (32, 64, 128, 256) if length <= int(config.lengths)]


def occurrences(config: Config, T: int) -> int:
    """Return how often the trigger has stood in a sequence of T tokens before its end, where the
    settings fix that."""
    return T // 16 if config.repeats == "T/16" else int(config.repeats)


def training(config: Config, optimiser: str, T: int, seed: int) -> one.Config | whole.Config:
    """Return the settings of one of the trainings in the paper's task: with an optimiser at a
    length, the `seed`-th."""
    shared = one.of_seed(config, seed, "K", "text", "N", "d", "batch", "steps")
    shared |= {"T": T, "optimiser": optimiser}
    adamw_rate = config.full_rate if config.full else config.adamw_rate
    rate = config.sgd_rate if optimiser == "sgd" else adamw_rate
    if config.full:
        return whole.Config(**shared, learning_rate=rate, heads=1, layer_norm=True)
    return one.Config(**shared, learning_rate=rate, scale=SCALES[optimiser])


CLASSROOM = Config()

WHOLE = replace(CLASSROOM, full=True, d=64, batch=32, steps=320)
ALL = {"lengths": "256", "N": 65, "K": 5}
BEYOND = "Beyond the paper"
ONCE = replace(CLASSROOM, repeats="1", K=1, steps=5000)

PRESETS = (
    Preset("classroom", "Three lengths", CLASSROOM, "Each doubling of the length: how much "
                                                    "longer?", seeds=3),
    Preset("full", "Three lengths, full transformer", WHOLE, "Where everything learns: does the "
                                                             "length matter?",
           seeds=3),
    Preset("once", "One place to copy from", ONCE, "Theorem 3's data: the trigger has come exactly "
                                                   "once before.", seeds=5),
    Preset("one in sixteen", "Ever more places", replace(ONCE, repeats="T/16", K=4, steps=1000),
           "The same model, where four triggers come back the more often the longer a sequence is.",
           seeds=5),
    Preset("all lengths", "Four lengths, all characters", replace(CLASSROOM, steps=600, **ALL),
           "The vocabulary of the paper, and its length.", group=BEYOND, seeds=3),
    Preset("full, four lengths", "Four lengths, full transformer", replace(WHOLE, lengths="256"),
           "Up to the paper's length, where everything learns.", group=BEYOND, seeds=3),
)  # fmt: skip
