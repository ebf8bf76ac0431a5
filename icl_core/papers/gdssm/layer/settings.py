"""What is drawn of a trained GD-SSM, or asked of it; and named settings: the classroom's, and one for each figure.

What is computed is `shared.settings.Config`: the experiment on sizes trains the same layers.
"""

from dataclasses import replace

from icl_core.experiment import Preset
from icl_core.knobs import choice, settings, slider, text, toggle
from icl_core.papers.gdssm.shared.points import points
from icl_core.papers.gdssm.shared.settings import Config

PARTS = {"trained": "trained", "constructed": "construction", "initial": "its start", "zero": "zero"}
STATES = {"first": "first layer: Σ y xᵀ", "last": "last layer: Σ y xᵀ", "curvature": "last layer: Σ x xᵀ"}
POINTS = "-1:-1.4, -0.8:-1.3, -0.6:-0.7, -0.4:-0.7, -0.1:0, 0.2:0.4, 0.4:0.5, 0.6:1, 0.8:1.1, 1:1.6"


@settings
class View:
    """What is drawn of a trained model, or asked of it."""

    snapshot: int = slider("training step", 0, 31, default=31, was="moment")
    seed_shown: int = slider("seed shown", 1, 5, default=1, at_most="seeds")
    single_seeds: bool = toggle("single seeds", default=False)
    raw: bool = toggle("raw weights, symmetries left in", default=False)
    alpha: float = slider("test scale α", 0.1, 3.0, default=1.0, step=0.05)
    token: int = slider("pairs read, t", 1, 100, default=100, at_most="N")
    example: int = slider("prompt", 0, 99, default=0)
    state: str = choice("state of", STATES, default="first", shown_if="several")
    points: str = text("points x:y", 400, default=POINTS)
    one_a: str = choice("decay A", PARTS, default="trained")  # surgery on a single N-D layer
    one_Q: str = choice("Q", PARTS, default="trained")
    one_q: str = choice("q", PARTS, default="trained")
    one_beta: str = choice("β", PARTS, default="trained")
    one_skip: str = choice("skip", PARTS, default="trained", shown_if="skip")
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
    several_skip: str = choice("skip", PARTS, default="trained", shown_if="skip")

    def check(self) -> None:
        """Refuse points that are none."""
        points(self.points)


LAYER = Config()
TWO = replace(LAYER, layers=2, recurrence="scalar", batch=512, steps=1000)

# name, title, config, what to see, group
ROWS = (
    ("layer", "Figures 2 and 3: one layer", LAYER,
     "In a second of training the layer becomes one step of gradient descent.", "Paper's setting"),
    ("full", "A decay for every entry", replace(LAYER, recurrence="full", batch=128, learning_rate=0.01, steps=600),
     "A hundred decays to learn: all come close to 1, for a sum forgets nothing.", "Classroom"),
    ("scalar", "One decay for all", replace(LAYER, recurrence="scalar"),
     "A single number keeps the whole state: look how close to 1 it comes.", "Classroom"),
    ("skip", "With a skip connection", replace(LAYER, skip=True),
     "The layer is offered a short cut and learns not to take it.", "Classroom"),
    ("one feature", "One feature: your own points", replace(LAYER, f=1, steps=600),
     "Type points and see the line that the layer fits to them.", "Classroom"),
    ("1-D", "Figure 1: scalar labels", replace(LAYER, model="1-D", batch=1024, learning_rate=0.01, steps=600),
     "Tokens [x y, next x]: the weights agree as a product only, for the state has no basis of its own.", "Figures"),
    ("two layers", "Figures 4 A and 5: two layers", TWO,
     "Better than two steps of one rate: training finds two rates.", "Figures"),
    ("three layers", "Three layers, three rates", replace(TWO, layers=3, batch=256),
     "Three steps with a rate each. With larger batches not every start got there.",
     "Beyond the paper"),
    ("penalised", "An L2 penalty built in", replace(TWO, penalty=0.1),
     "The layers are given a penalty, and training undoes it.", "Beyond the paper"),
)  # fmt: skip

PRESETS = tuple(Preset(name, title, config, about, group, seeds=5) for name, title, config, about, group in ROWS)
