"""What is drawn of a trained GD-SSM, or asked of it."""

from icl_core.knobs import choice, settings, slider, text, toggle
from icl_core.papers.gdssm.shared.points import points

PARTS = {"trained": "trained", "constructed": "construction", "initial": "its start", "zero": "zero"}
STATES = {"first": "first layer: Σ y xᵀ", "last": "last layer: Σ y xᵀ", "curvature": "last layer: Σ x xᵀ"}
POINTS = "-1:-1.4, -0.8:-1.3, -0.6:-0.7, -0.4:-0.7, -0.1:0, 0.2:0.4, 0.4:0.5, 0.6:1, 0.8:1.1, 1:1.6"


@settings
class View:
    """What is drawn of a trained model, or asked of it."""

    moment: int = slider("training step", 0, 31, default=31)
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
