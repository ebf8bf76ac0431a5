"""The full transformer as a diagram: attention and feed-forward layer of every layer above the
residual stream."""

from icl_core.contract.diagram import Arrow, Box, Diagram
from icl_core.papers.birth.transformer.settings import Config

LOW, HIGH = 270.0, 110.0  # the residual stream, and what reads from it and writes to it
START, END = 150.0, 860.0
SAY = (
    "Along the bottom runs the residual stream, the vector that each position carries from layer "
    "to layer. In every layer the heads look at earlier positions and write what they read there "
    "into the stream{}. Everything is learned{}."
)


def transformer_diagram(config: Config) -> Diagram:
    """The model of a config."""
    embedded = "frozen" if config.frozen else "trained"
    boxes = [Box("x", "w_E + p", 70, LOW, embedded, "character, position", width=130)]
    arrows, last, parts = [], "x", 1 + config.mlp
    room = (END - START) / (config.layers * parts)
    wide = min(130.0, room - 50)
    for index in range(config.layers * parts):
        layer, left = index // parts + 1, START + index * room
        box, total = _part(config, layer, index % parts == 1, left + wide / 2, wide), f"sum {index}"
        boxes += [box, Box(total, "+", left + wide + 24, LOW, "sum")]
        arrows += [Arrow(last, total), Arrow(last, box.name, ((box.x, LOW),))]
        arrows.append(Arrow(box.name, total, ((left + wide + 24, HIGH),)))
        last = total
    boxes.append(Box("W_U", "W_U", 930, LOW, embedded, "next character", "accuracy", width=120))
    reads = ", and a feed-forward layer reads what has been written" if config.mlp else ""
    said = SAY.format(reads, " but the embeddings and W_U" if config.frozen else "")
    return Diagram(said, tuple(boxes), (*arrows, Arrow(last, "W_U")))


def _part(config: Config, layer: int, feeds: bool, x: float, wide: float) -> Box:
    """A layer's heads, or its feed-forward layer."""
    if feeds:
        return Box(
            f"F{layer}",
            f"F{'¹²³⁴'[layer - 1]}",
            x,
            HIGH,
            "trained",
            "ReLU" if wide > 80 else "",
            width=wide,
        )
    said = f"{config.heads} head{'s' * (config.heads > 1)}" if wide > 80 else ""
    return Box(f"A{layer}", f"A{'¹²³⁴'[layer - 1]}", x, HIGH, "trained", said, "maps", width=wide)
