"""A linear transformer with or without memory as a diagram: its layers are steps of gradient
descent (Lemma 2.1)."""

from collections.abc import Mapping
from typing import Any

from icl_core.contract.diagram import Arrow, Box, Diagram
from icl_core.papers.memformers.shared.variants import VARIANTS

MOST = 4  # columns that have room, each for a layer
LOW = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
PLAIN = (
    "The weights w that the prompt's label would be predicted with run along the bottom. Every "
    "layer looks at the examples, which gives the gradient at w, multiplies it with its matrix A, "
    "and takes that step."
)
MEMORY = (
    "The weights w run along the bottom. Every layer looks at the examples, which gives the "
    "gradient at w, and multiplies it with its matrix A. The registers R keep what every layer "
    "found, and a layer steps along what they hold, each times a number that is learned too."
)
LEARNED = {"deflection": "αγ", "Gamma": "Γ"}  # the signs of what multiplies a register
# heights, in pixels from the top: of w, of the registers, and of gradients and matrices
STREAM = 300.0
REGISTER = 190.0
TOP = 62.0
Opens = tuple[str, Mapping[str, Any], int | None]  # a drawing, the view that it needs, its map


def model_diagram(config: Any, opens: Mapping[str, Any]) -> Diagram:
    """Return the diagram of a config's model. `opens` says what shows a layer's matrix "A", of a
    layer counted from 0, what shows its "gradient", and what shows the "memory" and the "end"; what
    it leaves out has no drawing."""
    memory = VARIANTS[config.variant].memory
    layers: list[int | None] = list(range(config.layers))
    if config.layers > MOST:  # None stands for those that are left out
        layers = [*range(MOST - 2), None, config.layers - 1]
    width = 880 / len(layers)
    boxes = [Box("start", "w₀ = 0", 55, STREAM, width=90)]
    arrows: list[Arrow] = []
    # the boxes that were drawn last
    last_w = "start"
    last_R = ""
    for place, layer in enumerate(layers):
        x = 75 + width * (place + 0.5)
        if layer is None:
            boxes += _left_out(config, x, memory)
            w = "more"
            R = "R_more"
        else:
            own, lines = _layer(config, opens, layer, x, min(width, 260), memory)
            boxes += own
            arrows += [*lines, Arrow(last_w, f"g{layer}", ((own[0].x, STREAM),))]
            w = f"w{layer}"
            R = f"R{layer}"
        arrows.append(Arrow(last_w, w))
        if memory != "none" and place:
            arrows.append(Arrow(last_R, R))
        last_w = w
        last_R = R
    end = _opened(opens.get("end"))
    boxes.append(Box("y", "w_L · x", 975, STREAM, "computed", "prediction", *end, width=110))
    arrows.append(Arrow(last_w, "y"))
    return Diagram(PLAIN if memory == "none" else MEMORY, tuple(boxes), tuple(arrows), 1040, 350)


def _left_out(config: Any, x: float, memory: str) -> list[Box]:
    """Return what stands for the layers between those that are drawn."""
    first = MOST - 1
    last = config.layers - 1
    label = f"layers {first} to {last}" if first < last else f"layer {first}"
    rows = {"more": STREAM}
    if memory != "none":
        rows["R_more"] = REGISTER
    return [
        Box(name, "…", x, y, "computed", label, width=150, height=64) for name, y in rows.items()
    ]


def _layer(
    config: Any, opens: Mapping[str, Any], layer: int, x: float, width: float, memory: str
) -> tuple[list[Box], list[Arrow]]:
    """Return the boxes of one layer, the gradient's first, and the arrows within it."""
    number = str(layer + 1).translate(LOW)
    size = min(104.0, width / 2 - 12)
    left = x - width / 4
    right = x + width / 4
    gradient = _opened(opens["gradient"](layer) if "gradient" in opens else None)
    own = _opened(opens["A"](layer) if "A" in opens else None)
    title = f"layer {layer + 1}"
    g, A, R, w = (f"{kind}{layer}" for kind in ("g", "A", "R", "w"))
    boxes = [
        Box(g, f"∇{number}", left, TOP, "computed", "gradient", *gradient, width=size),
        Box(A, f"A{number}", right, TOP, "trained", title, *own, width=size),
        Box(w, "+", right, STREAM, "sum"),
    ]
    if memory == "none":
        return boxes, [Arrow(g, A), Arrow(A, w)]
    label = ", ".join(sign + number for sign in LEARNED[memory])
    kept = _opened(opens.get("memory"))
    title = f"register R{number}"
    boxes.append(Box(R, label, right, REGISTER, "trained", title, *kept, width=size))
    return boxes, [Arrow(g, A), Arrow(A, R), Arrow(R, w)]


def _opened(opens: Opens | None) -> Opens:
    """Return what a box opens, or nothing."""
    return opens or ("", {}, None)
