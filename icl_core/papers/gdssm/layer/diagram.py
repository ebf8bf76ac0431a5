"""The GD-SSM as a diagram: what enters the state, what keeps it, what reads it."""

from icl_core.contract.diagram import Arrow, Box, Diagram
from icl_core.papers.gdssm.shared.settings import Config

ONE = (
    "The window C holds a pair and the next x. Q picks which products of them enter the state Z; "
    "the decay A says how much of it is kept from pair to pair; q picks what reads the state, and "
    "β is the step's length."
)
SCALAR = (
    "The token c holds the product x y of a pair and the next x. Ψ picks what of it enters the "
    "state Z; the decay A says how much of it is kept from pair to pair; Θ picks what reads the "
    "state, and β is the step's length."
)
SEVERAL = (
    "The window C holds a pair and the next x. Q picks the products that add up to ∑ y xᵀ in Z, "
    "Q̃ those that add up to ∑ x xᵀ in Z̃. Every layer takes a step from the model M that it is "
    "given, of length b, and q reads the last M."
)
TOP = 60.0
MIDDLE = 165.0
BOTTOM = 270.0


def layer_diagram(config: Config) -> Diagram:
    """Draw the model of a config."""
    return _several(config) if config.several else _one(config)


def _state(config: Config) -> str:
    """Return the drawing that shows the state; of a single feature it is a number."""
    return "along" if config.f == 1 else "state"


def _one(config: Config) -> Diagram:
    """Draw one layer."""
    scalar = config.model == "1-D"
    read, holds, enters, reads = (
        ("c", "x y, next x", "Ψ", "Θ") if scalar else ("C", "x, y, next x", "Q", "q")
    )
    window = Box("C", read, 80, MIDDLE, "computed", holds, width=120)
    part = None if config.f == 1 else 0  # of Ψ and Θ the stage draws their product alone
    maps = None if scalar else 0
    boxes = (
        window,
        Box("Q", enters, 250, MIDDLE, "trained", "what enters", "weights", part=maps, rows=(0, 3)),
        Box("sum", "+", 370, MIDDLE, "sum"),
        Box("Z", "Z", 490, MIDDLE, "computed", "state", _state(config), part=part),
        Box("a", "A", 430, TOP, "trained", "decay", "recurrence"),
        Box("q", reads, 490, BOTTOM, "trained", "what reads it", "weights", part=maps, rows=(3, 4)),
        Box("dot", "×", 630, MIDDLE, "sum"),
        Box("beta", "β", 750, MIDDLE, "trained", "step length", "weights"),
        Box("o", "o", 910, MIDDLE, "computed", "prediction", "training", width=120),
    )
    arrows = [
        Arrow(*pair)
        for pair in (("C", "Q"), ("Q", "sum"), ("sum", "Z"), ("Z", "dot"), ("dot", "beta"))
    ]
    back = (Arrow("Z", "a", ((490.0, TOP),)), Arrow("a", "sum", ((370.0, TOP),)))
    forth = (
        Arrow("C", "q", ((80.0, BOTTOM),)),
        Arrow("q", "dot", ((630.0, BOTTOM),)),
        Arrow("beta", "o"),
    )
    more, lines = _skip() if config.skip else ((), ())
    return Diagram(SCALAR if scalar else ONE, (*boxes, *more), (*arrows, *back, *forth, *lines))


def _skip() -> tuple[tuple[Box, ...], tuple[Arrow, ...]]:
    """Draw the short cut of our own, past the state."""
    box = Box("skip", "skip", 750, BOTTOM, "trained", "ours", "weights")
    return (box,), (
        Arrow("C", "skip", ((80.0, 322.0), (750.0, 322.0))),
        Arrow("skip", "o", ((910.0, BOTTOM),)),
    )


def _several(config: Config) -> Diagram:
    """Draw several layers."""
    part = None if config.f == 1 else 0
    boxes = (
        Box("C", "C", 80, MIDDLE, "computed", "x, y, next x", width=120),
        Box("Q", "Q", 250, TOP, "trained", "enters Z", "weights"),
        Box("Q_tilde", "Q̃", 250, BOTTOM, "trained", "enters Z̃", "weights"),
        Box(
            "Z", "Z", 420, TOP, "computed", "∑ y xᵀ", _state(config), {"state": "first"}, part=part
        ),
        Box(
            "Z_tilde",
            "Z̃",
            420,
            BOTTOM,
            "computed",
            "∑ x xᵀ",
            _state(config),
            {"state": "curvature"},
        ),
        Box("a", "A", 550, TOP, "trained", "decays of Z", "recurrence", width=110),
        Box("a_tilde", "Ã", 550, BOTTOM, "trained", "decays of Z̃", "recurrence", width=110),
        Box("M", f"{config.layers} layers", 620, MIDDLE, "computed", "M − b (M Z̃ − Z)", width=150),
        Box("b", "b", 770, TOP, "trained", "step lengths", "weights", width=120),
        Box("q", "q", 770, BOTTOM, "trained", "what reads M", "weights", width=120),
        Box("o", "o", 910, MIDDLE, "computed", "prediction", "training", width=120),
    )
    pairs = [
        ("C", "Q"),
        ("C", "Q_tilde"),
        ("Q", "Z"),
        ("Q_tilde", "Z_tilde"),
        ("Z", "M"),
        ("Z_tilde", "M"),
    ]
    pairs += [("a", "Z"), ("a_tilde", "Z_tilde"), ("b", "M"), ("M", "o"), ("q", "o")]
    return Diagram(SEVERAL, boxes, tuple(Arrow(*pair) for pair in pairs))
