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
STREAM, REGISTER, TOP = 300.0, 190.0, 62.0
Opens = tuple[
    str, Mapping[str, Any], int | None
]  # a drawing, the view that it needs, which of its maps


def model_diagram(config: Any, opens: Mapping[str, Any]) -> Diagram:
    """The model of a config. `opens` says what shows a layer's matrix "A", of a layer counted from
    0, what shows its "gradient", and what shows the "memory" and the "end"; what it leaves out has
    no drawing."""
    memory = VARIANTS[config.variant].memory
    layers = (
        [*range(MOST - 2), None, config.layers - 1]
        if config.layers > MOST
        else range(config.layers)
    )
    wide, before, kept = (
        880 / len(layers),
        "start",
        "",
    )  # what was drawn last: of w, of the registers
    boxes, arrows = [Box("start", "w₀ = 0", 55, STREAM, width=90)], []
    for place, layer in enumerate(layers):
        x = 75 + wide * (place + 0.5)
        if layer is None:
            (more, lines), w, R = (_left_out(config, x, memory), []), "more", "R_more"
        else:
            (more, lines), w, R = (
                _layer(config, opens, layer, x, min(wide, 260), memory),
                f"w{layer}",
                f"R{layer}",
            )
            lines = [*lines, Arrow(before, f"g{layer}", ((more[0].x, STREAM),))]
        boxes += more
        arrows += [*lines, Arrow(before, w)]
        if memory != "none" and place:
            arrows.append(Arrow(kept, R))
        before, kept = w, R
    boxes.append(
        Box(
            "y",
            "w_L · x",
            975,
            STREAM,
            "computed",
            "prediction",
            *_shown(opens.get("end")),
            width=110,
        )
    )
    arrows.append(Arrow(before, "y"))
    return Diagram(PLAIN if memory == "none" else MEMORY, tuple(boxes), tuple(arrows), 1040, 350)


def _left_out(config: Any, x: float, memory: str) -> list[Box]:
    """What stands for the layers between those that are drawn."""
    first, last = MOST - 1, config.layers - 1
    says = f"layers {first} to {last}" if first < last else f"layer {first}"
    rows = {"more": STREAM, **({"R_more": REGISTER} if memory != "none" else {})}
    return [
        Box(name, "…", x, y, "computed", says, width=150, height=64) for name, y in rows.items()
    ]


def _layer(
    config: Any, opens: Mapping[str, Any], layer: int, x: float, wide: float, memory: str
) -> tuple[list[Box], list[Arrow]]:
    """The boxes of one layer, the gradient's first, and the arrows within it."""
    name, size = str(layer + 1).translate(LOW), min(104.0, wide / 2 - 12)
    left, right = x - wide / 4, x + wide / 4
    own = opens["A"](layer) if "A" in opens else None
    looks = opens["gradient"](layer) if "gradient" in opens else None
    boxes = [
        Box(f"g{layer}", f"∇{name}", left, TOP, "computed", "gradient", *_shown(looks), width=size),
        Box(
            f"A{layer}",
            f"A{name}",
            right,
            TOP,
            "trained",
            f"layer {layer + 1}",
            *_shown(own),
            width=size,
        ),
        Box(f"w{layer}", "+", right, STREAM, "sum"),
    ]
    if memory == "none":
        return boxes, [Arrow(f"g{layer}", f"A{layer}"), Arrow(f"A{layer}", f"w{layer}")]
    label, says = ", ".join(sign + name for sign in LEARNED[memory]), f"register R{name}"
    register = Box(
        f"R{layer}",
        label,
        right,
        REGISTER,
        "trained",
        says,
        *_shown(opens.get("memory")),
        width=size,
    )
    lines = [(f"g{layer}", f"A{layer}"), (f"A{layer}", f"R{layer}"), (f"R{layer}", f"w{layer}")]
    return [*boxes, register], [Arrow(*each) for each in lines]


def _shown(opens: Opens | None) -> tuple[str, Mapping[str, Any], int | None]:
    return opens or ("", {}, None)
