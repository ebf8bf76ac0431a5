"""A language model as a diagram: the two heads and what they leave in the stream."""

from dataclasses import replace

from icl_core.contract.diagram import Arrow, Box, Diagram
from icl_core.papers.birth.pretrained.settings import MODELS, SERIES, Config

LOW = 270.0  # the height of the residual stream
HIGH = 110.0  # that of what reads from it and writes to it
SAY = (
    "Along the bottom runs the residual stream. {} has {} layers of {} heads, with a feed-forward "
    "layer behind each. Drawn are the two kinds of heads that are asked about: one of an early "
    "layer writes into each position which token stood before it, one of a later layer looks for "
    "its own token among these notes and reads out what stands there. Every part reads the stream "
    "under a norm; none of the weights is trained here."
)

SAY_SERIES = "Along the bottom runs the residual stream of the model at every checkpoint. "
OPENS_SERIES = {"losses": "series_losses", "pairs": "series_heads", "one": "series_heads"}


def pretrained_diagram(config: Config) -> Diagram:
    """Return the model of a config."""
    _, _, layers, heads = config.size
    boxes = (
        Box("x", "w_E", 70, LOW, "given", "token", "losses", width=110),
        Box("previous", "previous token", 260, HIGH, "given", "writes W_O W_V", "pairs", width=150),
        Box("sum 1", "+", 360, LOW, "sum"),
        Box("induction", "induction", 520, HIGH, "given", "asks by W_K", "one", width=150),
        Box("sum 2", "+", 620, LOW, "sum"),
        Box("behind", "layers behind", 760, HIGH, "given", "make it readable", "lens", width=150),
        Box("sum 3", "+", 850, LOW, "sum"),
        Box("W_U", "W_U", 930, LOW, "given", "next token", "losses", width=110),
    )
    arrows = []
    last = "x"
    for number, name in enumerate(("previous", "induction", "behind"), 1):
        box = next(each for each in boxes if each.name == name)
        total = next(each for each in boxes if each.name == f"sum {number}")
        arrows += [
            Arrow(last, total.name),
            Arrow(last, name, ((box.x, LOW),)),
            Arrow(name, total.name, ((total.x, HIGH),)),
        ]
        last = total.name
    name = MODELS[config.model]
    sentence = SAY.format(f"{name[:1].upper()}{name[1:]}", layers, heads)
    if config.model == SERIES:
        sentence = SAY_SERIES + SAY.partition(". ")[2].partition(". ")[2]
        boxes = tuple(replace(box, opens=OPENS_SERIES.get(box.opens, "")) for box in boxes)
    return Diagram(sentence, boxes, (*arrows, Arrow(last, "W_U")))
