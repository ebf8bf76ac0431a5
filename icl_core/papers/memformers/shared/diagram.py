"""Models as diagrams: a linear transformer with or without memory, whose layers are steps of
gradient descent (Lemma 2.1), and heads that each learned one distribution, with their gates
(Section 4.2)."""

from collections.abc import Mapping, Sequence
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


GATED = (
    "Every head reads the prompt and finds a step of its own; it learned that on prompts of one "
    "kind only, and is then left as it is. A gate g, one number per head, scales what its head "
    "adds. At test time the gates alone are learned."
)
FIRST_HEAD = 50.0  # pixels above the first head
HEADS_APART = 86.0  # pixels from one head to the next


def gated_diagram(kinds: Sequence[str], shows: str, ends: str) -> Diagram:
    """Return the diagram of one step. `kinds` names what each head learned; `shows` is the drawing
    of the gates, `ends` that of the error."""
    heights = [FIRST_HEAD + HEADS_APART * place for place in range(len(kinds))]
    middle = (heights[0] + heights[-1]) / 2
    boxes = [Box("Z", "Z", 70, middle, "computed", "the prompt", width=110, height=64)]
    arrows: list[Arrow] = []
    for place, (kind, y) in enumerate(zip(kinds, heights, strict=True), 1):
        name = str(place).translate(LOW)
        boxes.append(
            Box(f"A{place}", f"A{name}, Γ{name}", 330, y, "trained", kind, width=240, height=64)
        )
        boxes.append(
            Box(f"g{place}", f"g{name}", 560, y, "trained", "gate", shows, width=90, height=64)
        )
        arrows += [
            Arrow("Z", f"A{place}"),
            Arrow(f"A{place}", f"g{place}"),
            Arrow(f"g{place}", "sum"),
        ]
    boxes.append(Box("sum", "+", 720, middle, "sum"))
    boxes.append(
        Box("w", "w_L · x", 890, middle, "computed", "prediction", ends, width=130, height=64)
    )
    return Diagram(
        GATED, tuple(boxes), (*arrows, Arrow("sum", "w")), 1000, heights[-1] + FIRST_HEAD
    )
