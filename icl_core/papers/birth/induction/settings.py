"""What is drawn of an induction head (View; Config is shared), and presets: for class, figure by
figure, paper size."""

from dataclasses import replace

from icl_core.contract.experiment import Preset
from icl_core.contract.knobs import choice, settings, slider, text, toggle
from icl_core.contract.seeds import HELD, seed_shown_knob
from icl_core.papers.birth.shared.settings import Config

__all__ = ["BOTH", "FASTEST", "ORDER", "PRESETS", "Config", "View"]

PARTS = {
    "trained": "as it is",
    "constructed": "constructed (eqs. 7, 8)",
    "initial": "initial value",
    "zero": "zero",
}


@settings
class View:
    """What is drawn of a trained model, or asked of it."""

    snapshot: int = slider("training step", 0, 31, default=31)
    seed_shown: int = seed_shown_knob(HELD)
    measure: str = choice(
        "accuracy",
        {"all": "at every trigger seen before", "new": "where output ≠ trigger"},
        default="all",
    )
    single_seeds: bool = toggle("single seeds", default=False)
    orientation: str = choice(
        "recall compares",
        {"code": "keys (authors' code)", "paper": "queries (eq. 9)"},
        default="code",
    )
    weighted: bool = toggle("weighted by character frequency", default=False)
    memory: str = choice(
        "matrix", {"W_K2": "W_K²", "W_K1": "W_K¹", "W_O2": "W_O²", "W_F": "W_F"}, default="W_K2"
    )
    raw: bool = toggle("both as they are, not aligned", default=False)
    wrong: bool = toggle("list the pairs that are wrong", default=False)
    sequence: str = text("your own sequence (empty: an example)", 256, default="")
    marked: str = text("which characters are triggers (empty: all that repeat)", 10, default="")
    sample: int = slider("random sequence no. (0: the example)", 0, 99, default=0)
    length: int = slider("positions shown", 8, 256, default=40)
    position: int = slider("position to read out", 1, 256, default=40, at_most="T")
    followed: int = slider(
        "position followed (0: the last that the context tells)", 0, 24, default=0
    )
    read: str = choice(
        "matrix read",
        {"W_K1": "W_K¹", "W_K2": "W_K²", "W_O2": "W_O²", "W_F": "W_F"},
        default="W_K2",
    )
    graft_W_K1: str = choice("W_K¹", PARTS, default="trained", shown_if="two_layers")
    graft_W_K2: str = choice("W_K²", PARTS, default="trained")
    graft_W_O2: str = choice("W_O²", PARTS, default="trained")
    graft_W_F: str = choice("W_F", PARTS, default="trained", shown_if="feed_forward")
    strength: float = slider(
        "factor on the constructions", 0.1, 10.0, default=1.0, log=True, needs="constructed"
    )


FASTEST = Config()
ORDER = Config(scale="code", optimiser="sgd", learning_rate=0.3, steps=300)
BOTH = Config(
    triggers="fixed",
    feed_forward=True,
    positions="all",
    optimiser="sgd",
    learning_rate=1.0,
    scale="code",
)
FIGURE_3 = replace(ORDER, learning_rate=0.2, steps=600, freeze_until=300)
FIGURE_4 = replace(BOTH, triggers="random", K=3, steps=600)


def paper_size(config: Config, steps: int) -> Config:
    """Return the same setting at the paper's own size: T = 256, batches of 512 (d is 128
    already)."""
    return replace(config, T=256, batch=512, steps=steps)


# name, title, config, the matrix to look at, what to see
CLASSROOM = (
    (
        "fastest",
        "An induction head in 300 steps",
        FASTEST,
        "W_K2",
        "Watch the two attention maps sharpen.",
    ),
    (
        "order",
        "The order in which memories form",
        ORDER,
        "W_O2",
        "When does each get half of its pairs right? Weighted by how often characters occur, W_K² "
        "is hardly later.",
    ),
    (
        "both",
        "Both kinds of knowledge",
        BOTH,
        "W_F",
        "W_F first learns which character follows which. The induction head comes later.",
    ),
    (
        "one layer",
        "One layer fails",
        replace(FASTEST, layers=1, learning_rate=0.1, steps=600),
        "W_O2",
        "Without a layer that finds the previous character, little more than half of the "
        "predictions are right.",
    ),
)
FREEZING = (
    (
        "only W_O2 learns",
        "W_K¹ and W_K² frozen to step 300",
        replace(FIGURE_3, freeze_W_K1=True, freeze_W_K2=True),
        "W_O2",
        "W_O² learns alone, while attention stays random.",
    ),
    (
        "W_O2 frozen",
        "W_O² frozen to step 300",
        replace(FIGURE_3, freeze_W_O2=True),
        "W_O2",
        "While W_O² is frozen, hardly anything is learned.",
    ),
    (
        "W_K1 frozen",
        "W_K¹ frozen to step 300",
        replace(FIGURE_3, freeze_W_K1=True),
        "W_K2",
        "W_K² forms without W_K¹. The drawer “All curves” shows the reverse beside it.",
    ),
    (
        "W_K2 frozen",
        "W_K² frozen to step 300",
        replace(FIGURE_3, freeze_W_K2=True),
        "W_K1",
        "W_K¹ hardly forms without W_K². The drawer “All curves” shows the reverse beside it.",
    ),
)
DATA = (
    (
        "one frequent",
        "One fixed, frequent trigger",
        replace(FIGURE_4, triggers="fixed", K=1),
        "W_O2",
        "Every sequence is full of this trigger, and the head forms soonest.",
    ),
    (
        "five rare",
        "Five fixed, rare triggers",
        replace(FIGURE_4, triggers="fixed rare", K=5),
        "W_O2",
        "Rare triggers are seldom met. The head forms later, and W_O² stays below one half.",
    ),
    (
        "random 1",
        "One random trigger",
        replace(FIGURE_4, K=1),
        "W_K2",
        "The slowest of all. Compare three triggers, and five.",
    ),
    (
        "random 3",
        "Three random triggers",
        FIGURE_4,
        "W_O2",
        "W_F first learns the bigrams and later drifts away from them. Does W_O² lose pairs?",
    ),
    (
        "random 5",
        "Five random triggers",
        replace(FIGURE_4, K=5),
        "W_K2",
        "With more triggers the head forms sooner.",
    ),
    (
        "bigram outputs",
        "Three random triggers, bigram outputs",
        replace(FIGURE_4, outputs="bigram"),
        "W_O2",
        "Trained on likely outputs, the model fails on unlikely ones.",
    ),
)


def _preset(row: tuple, group: str, seeds: int) -> Preset:
    """Return the preset of a row of one of the tables above."""
    name, title, config, memory, about = row
    return Preset(name, title, config, about, group, seeds, view={"memory": memory})


def _at_papers_size(row: tuple, steps: int) -> Preset:
    """Return the preset of a row at the paper's size, trained for `steps` steps with three seeds;
    `order` then has Figure 3's learning rate."""
    name, title, config, memory, about = row
    if config == ORDER:
        config = replace(ORDER, learning_rate=FIGURE_3.learning_rate)
    title = title.replace(f"{config.steps} steps", f"{steps} steps")
    group = "Paper's setting" if config.optimiser == "sgd" else "Beyond the paper"
    if config.scale == "code":
        about += " Initial weights as in the authors' code."
    if config.optimiser != "sgd":
        about += " Trained with AdamW, which the paper does not use."
    at_size = (f"{name}, paper size", title, paper_size(config, steps), memory, about)
    return _preset(at_size, group, 3)


PRESETS = (
    *(_preset(row, "Classroom", 5) for row in CLASSROOM),
    *(_preset(row, "Figures", 1) for row in (*FREEZING, *DATA)),
    *(_at_papers_size(row, 1000) for row in CLASSROOM[:3]),
    *(_at_papers_size(row, 450) for row in FREEZING),
    *(_at_papers_size(row, 600) for row in DATA if row[0] == "random 3"),
)
