"""What is drawn of a trained GD-SSM, or asked of it; and named settings: the classroom's, and one
for each figure.

What is computed is `shared.settings.Config`: the experiment on sizes trains the same layers.
"""

from dataclasses import replace

from icl_core.contract.experiment import Preset
from icl_core.contract.knobs import choice, settings, slider, text, toggle
from icl_core.contract.seeds import seed_shown_knob
from icl_core.papers.gdssm.shared.settings import Config
from icl_core.papers.gdssm.shared.typed_points import points

PARTS = {
    "trained": "trained",
    "constructed": "construction",
    "initial": "initial value",
    "zero": "zero",
}
STATES = {
    "first": "first layer: ∑ y xᵀ",
    "last": "last layer: ∑ y xᵀ",
    "curvature": "last layer: ∑ x xᵀ",
}
POINTS = "-1:-1.4, -0.8:-1.3, -0.6:-0.7, -0.4:-0.7, -0.1:0, 0.2:0.4, 0.4:0.5, 0.6:1, 0.8:1.1, 1:1.6"


@settings
class View:
    """What is drawn of a trained model, or asked of it."""

    snapshot: int = slider("training step", 0, 31, default=31)
    seed_shown: int = seed_shown_knob()
    single_seeds: bool = toggle("single seeds", default=False)
    raw: bool = toggle("raw weights (symmetries left in)", default=False)
    alpha: float = slider("test scale α", 0.1, 3.0, default=1.0, step=0.05)
    token: int = slider("pairs read, t", 1, 100, default=100, at_most="N")
    example: int = slider("prompt", 0, 99, default=0)
    state: str = choice("state of", STATES, default="first", shown_if="several")
    points: str = text("points x:y", 400, default=POINTS)
    one_a: str = choice("decay A", PARTS, default="trained")  # surgery on a single N-D layer
    one_Q: str = choice("Q", PARTS, default="trained")
    one_q: str = choice("q", PARTS, default="trained")
    one_beta: str = choice("β", PARTS, default="trained")
    one_skip: str = choice("our skip", PARTS, default="trained", shown_if="skip")
    scalar_a: str = choice("decay A", PARTS, default="trained")  # on the 1-D layer
    scalar_Psi: str = choice("Ψ", PARTS, default="trained")
    scalar_Theta: str = choice("Θ", PARTS, default="trained")
    scalar_beta: str = choice("β", PARTS, default="trained")
    several_a: str = choice("decays of Z", PARTS, default="trained")  # on several layers
    several_a_tilde: str = choice("decays of Z̃", PARTS, default="trained")
    several_Q: str = choice("Q of all layers", PARTS, default="trained")
    several_Q_tilde: str = choice("Q̃ of all layers", PARTS, default="trained")
    several_q: str = choice("q", PARTS, default="trained")
    several_b: str = choice("rates b", PARTS, default="trained")
    several_skip: str = choice("our skip", PARTS, default="trained", shown_if="skip")

    def check(self) -> None:
        """Refuse points that are none."""
        points(self.points)


LAYER = Config()
SCALAR = replace(LAYER, model="1-D", batch=1024, learning_rate=0.01, steps=600)
TWO = replace(LAYER, layers=2, recurrence="scalar", batch=512, steps=1000)
SCALAR_TWO = replace(TWO, model="1-D", batch=1024)
AUTHORS = {
    "optimiser": "authors",
    "batch": 64,
    "learning_rate": 2e-4,
    "steps": 300_000,
}  # Appendix A.5


def as_here(config: Config) -> Config:
    """Return the same model, trained as our presets train it."""
    one, two = (SCALAR, SCALAR_TWO) if config.model == "1-D" else (LAYER, TWO)
    how = two if config.several else one
    return replace(config, **{name: getattr(how, name) for name in AUTHORS})


# name, title, config, what to see, group
ROWS = (
    (
        "layer",
        "Figures 2 and 3: one layer",
        LAYER,
        "In a second of training the layer becomes one step of gradient descent.",
        "Paper's setting",
    ),
    (
        "full",
        "A decay for every entry",
        replace(LAYER, recurrence="full", batch=128, learning_rate=0.01, steps=600),
        "A hundred decays to learn. The mean of every row comes close to 1, because a sum forgets "
        "nothing.",
        "Classroom",
    ),
    (
        "scalar",
        "One decay for all",
        replace(LAYER, recurrence="scalar"),
        "One decay for the whole state. See how close to 1 it comes.",
        "Classroom",
    ),
    (
        "skip",
        "A short cut of our own",
        replace(LAYER, skip=True),
        "We add C_t skip to the output, which the paper does not. The layer learns not to use it.",
        "Classroom",
    ),
    (
        "one feature",
        "One feature: your own points",
        replace(LAYER, f=1, steps=2400),
        "Type points, and see which line the layer fits to them. Here the best weights are known "
        "exactly.",
        "Classroom",
    ),
    (
        "1-D",
        "Figure 1: scalar labels",
        SCALAR,
        "Tokens [x y, next x]. Only a product of weights compares, as the state has no basis of "
        "its own.",
        "Figures",
    ),
    (
        "1-D half",
        "Figure 1 as plotted: x up to ½",
        replace(SCALAR, r=0.5),
        "The paper's text has x up to 1, the authors' code up to ½: a quarter of the loss, four "
        "times the best rate.",
        "Figures",
    ),
    (
        "two layers",
        "Figures 4 A and 5: two layers",
        TWO,
        "Better than two steps of one rate: training finds two rates.",
        "Figures",
    ),
    (
        "1-D two layers",
        "Figure 4 C: two layers, scalar labels",
        SCALAR_TWO,
        "They read x, y, x, y, … with y as [0, …, y], because the tokens [x y, next x] allow no "
        "second step.",
        "Figures",
    ),
    (
        "authors",
        "As the authors train",
        replace(LAYER, **AUTHORS),
        "AdamW, 64 tasks per step, up to 300,000 steps. It finds the same layer as our 300 steps.",
        "Paper's setting",
    ),
    (
        "1-D authors",
        "Scalar labels, as the authors train",
        replace(SCALAR, **AUTHORS),
        "AdamW, 64 tasks per step, up to 300,000 steps. It finds the same layer as our 600 steps.",
        "Paper's setting",
    ),
    (
        "three layers",
        "Three layers, three rates",
        replace(TWO, layers=3, batch=256),
        "Three layers, three steps, each with a rate of its own.",
        "Beyond the paper",
    ),
    (
        "from the construction",
        "Two layers that begin at the construction",
        replace(TWO, start="construction", **AUTHORS | {"steps": 1000}),
        "Appendix A.7: a thousand steps at the authors' rates, from one rate for both layers. "
        "See where A and B go.",
        "Figures",
    ),
    (
        "two loops",
        "One layer, looped twice",
        replace(TWO, tied=True),
        "Both steps have the same weights (Appendix A.2). Is anything lost?",
        "Beyond the paper",
    ),
    (
        "three loops",
        "One layer, looped three times",
        replace(TWO, layers=3, batch=256, tied=True),
        "Three steps of the same weights: the loss stays above that of three rates.",
        "Beyond the paper",
    ),
    (
        "short labels",
        "y of three entries, padded with zeros",
        replace(LAYER, recurrence="scalar", n_o=3),
        "Footnote 3: y may have fewer entries than x. Zeros fill it up, and the state has three "
        "rows.",
        "Beyond the paper",
    ),
    (
        "penalised",
        "An L2 penalty built in",
        replace(TWO, penalty=0.1),
        "The layers are given a penalty, and training undoes it.",
        "Beyond the paper",
    ),
)

SHIPPED_SEEDS = {"from the construction": 1, "two loops": 3, "three loops": 3}  # others have five

PRESETS = tuple(
    Preset(name, title, config, about, group, seeds=SHIPPED_SEEDS.get(name, 5))
    for name, title, config, about, group in ROWS
)
