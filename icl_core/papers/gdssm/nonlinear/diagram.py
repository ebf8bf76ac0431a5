"""An embedding, GD-SSM layers on its features, and what may bend beside them, as a diagram
(Appendix A.7)."""

from icl_core.contract.diagram import Arrow, Box, Diagram
from icl_core.papers.gdssm.nonlinear.settings import Config

SAY = (
    "An MLP turns every x into features φ. The layers take their steps of gradient descent on "
    "these: for them the task is linear again. With a gate, the output is multiplied by what a "
    "sigmoid makes of it and of the query's features."
)
MIDDLE = 80.0
BOTTOM = 230.0


def nonlinear_diagram(config: Config) -> Diagram:
    """Draw the models of a config, of which each has some parts: the gate is where the dotted
    curves have one."""
    steps = f"{config.layers} step{'s' * (config.layers > 1)}"
    layers = "trained" if config.ssm == "trained" else "construction"
    boxes = (
        Box("x", "x", 60, MIDDLE, "computed", "and labels y", width=110),
        Box(
            "phi",
            "W₁, W",
            250,
            MIDDLE,
            "trained",
            f"{config.features} features φ",
            "features",
            width=150,
        ),
        Box("layers", "Q, A, b", 460, MIDDLE, layers, steps, "beside", width=150),
        Box("dot", "×", 650, MIDDLE, "sum"),
        Box("y", "ŷ", 850, MIDDLE, "computed", "prediction", "fit", width=120),
        Box("gate", "G, g", 650, BOTTOM, "trained", "gate", "losses", width=120),
    )
    pairs = [("x", "phi"), ("phi", "layers"), ("layers", "dot"), ("dot", "y"), ("gate", "dot")]
    bends = (
        Arrow("layers", "gate", ((460.0, BOTTOM),)),
        Arrow("phi", "gate", ((250.0, 285.0), (650.0, 285.0))),
    )
    return Diagram(SAY, boxes, (*(Arrow(*pair) for pair in pairs), *bends), 960, 310)
