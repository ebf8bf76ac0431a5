"""The full transformer as a diagram: attention and feed-forward layer of every layer above the
residual stream."""

from icl_core.contract.diagram import Arrow, Box, Diagram
from icl_core.papers.birth.transformer.settings import Config

LOW = 270.0  # y of the residual stream
HIGH = 110.0  # y of what reads from it and writes to it
START = 150.0  # x from which the layers stand
END = 860.0
SAY = (
    "Along the bottom runs the residual stream, the vector that each position carries from layer "
    "to layer. In every layer the heads look at earlier positions and write what they read there "
    "into the stream{}. Everything is learned{}."
)


def transformer_diagram(config: Config) -> Diagram:
    """Return the diagram of a config's model."""
    embedded = "frozen" if config.frozen else "trained"
    boxes = [Box("x", "w_E + p", 70, LOW, embedded, "character, position", width=130)]
    arrows = []
    source = "x"  # the box from which the stream comes
    parts = 1 + config.mlp  # of a layer
    room = (END - START) / (config.layers * parts)
    width = min(130.0, room - 50)
    for index in range(config.layers * parts):
        edge = START + index * room
        is_feed_forward = index % parts == 1
        box = _part(config, index // parts + 1, is_feed_forward, edge + width / 2, width)
        total = f"sum {index}"
        total_x = edge + width + 24
        boxes += [box, Box(total, "+", total_x, LOW, "sum")]
        arrows += [Arrow(source, total), Arrow(source, box.name, ((box.x, LOW),))]
        arrows.append(Arrow(box.name, total, ((total_x, HIGH),)))
        source = total
    boxes.append(Box("W_U", "W_U", 930, LOW, embedded, "next character", "accuracy", width=120))
    reads = ", and a feed-forward layer reads what has been written" if config.mlp else ""
    text = SAY.format(reads, " but the embeddings and W_U" if config.frozen else "")
    return Diagram(text, tuple(boxes), (*arrows, Arrow(source, "W_U")))


def _part(config: Config, layer: int, is_feed_forward: bool, x: float, width: float) -> Box:
    """Return the box of a layer's heads, or of its feed-forward layer, with its middle at x."""
    if is_feed_forward:
        return Box(
            f"F{layer}",
            f"F{'¹²³⁴'[layer - 1]}",
            x,
            HIGH,
            "trained",
            "ReLU" if width > 80 else "",
            width=width,
        )
    text = f"{config.heads} head{'s' * (config.heads > 1)}" if width > 80 else ""
    return Box(f"A{layer}", f"A{'¹²³⁴'[layer - 1]}", x, HIGH, "trained", text, "maps", width=width)
