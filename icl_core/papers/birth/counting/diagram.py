"""The attention-only transformer as a diagram."""

from typing import Any

from icl_core.contract.diagram import Arrow, Box, Diagram

# heights of the residual stream, of the attention above it, and of what stands between
LOW = 270.0
HIGH = 60.0
BETWEEN = 165.0
TWO = (
    "Along the bottom runs the residual stream. Layer 1 looks at the position before and adds a "
    "copy of it; layer 2 looks for its own state among these copies and collects what it finds."
)
ONE = (
    "Along the bottom runs the residual stream. The one layer collects what came before; nothing "
    "tells it which state followed which."
)
SHOWN = ("first", "second")  # the drawings of the layers


def model_diagram(config: Any) -> Diagram:
    """Return the diagram of a config's model; one layer stands in the middle."""
    # (number, x) of each
    layers = [
        (index + 1, 300.0 + 320 * index if config.layers == 2 else 460.0)
        for index in range(config.layers)
    ]
    boxes = [Box("x", "w_E", 70, LOW, "trained", "state")]
    arrows = []
    stream = "x"  # the box that the stream comes from
    for layer, x in layers:
        boxes += _layer(layer, x, SHOWN[layer - config.layers - 1 + len(SHOWN)])
        up = (x - 130, LOW)
        arrows += [
            Arrow(stream, f"K{layer}", (up,)),
            Arrow(f"K{layer}", f"A{layer}"),
            Arrow(f"A{layer}", f"V{layer}"),
            Arrow(f"V{layer}", f"+{layer}"),
            Arrow(stream, f"+{layer}"),
        ]
        stream = f"+{layer}"
    boxes.append(Box("U", "W_U", 910, LOW, "trained", "next state", "next"))
    return Diagram(TWO if config.layers == 2 else ONE, tuple(boxes), (*arrows, Arrow(stream, "U")))


def _layer(layer: int, x: float, opens: str) -> list[Box]:
    sign = "¹²"[layer - 1]
    return [
        Box(
            f"K{layer}",
            f"W_Q{sign} W_K{sign} r{sign}",
            x - 130,
            HIGH,
            "trained",
            "state, distance",
            width=130,
        ),
        Box(
            f"A{layer}",
            f"layer {layer}",
            x,
            HIGH,
            "computed",
            "where it looks",
            opens,
            part=0,
            width=116,
        ),
        Box(f"V{layer}", f"W_V{sign} W_O{sign}", x, BETWEEN, "trained", "what it adds", width=116),
        Box(f"+{layer}", "+", x, LOW, "sum"),
    ]
