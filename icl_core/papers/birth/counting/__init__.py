"""A small transformer that comes to count pairs of states, on sequences of Markov chains."""

from typing import Any

from icl_core.contract.diagram import Arrow, Box, Diagram
from icl_core.contract.experiment import MEAN_OF_SEEDS, Drawing, Experiment
from icl_core.contract.visitor import TextInput
from icl_core.papers.birth.counting import claims, draw
from icl_core.papers.birth.counting.load_run import milestones, stage_text
from icl_core.papers.birth.counting.settings import PRESETS, Config, View
from icl_core.papers.birth.counting.train import DENSE, EVERY, WATCHED, compute
from icl_core.papers.birth.counting.words import WORDS
from icl_core.training.loop import evaluations

CURVES = "All curves"  # a drawer


def cost(config: Config) -> float:
    """Return the work in giga-operations: the stream with five matrices a layer, queries with keys
    and distances, and values."""
    token = config.layers * 2 * (5 * config.d**2 + 3 * config.T * config.d + 10 * config.T)
    evaluated = len(evaluations(config.steps, EVERY, DENSE)) * WATCHED  # sequences
    return config.seeds * config.T * token * (3 * config.batch * config.steps + evaluated) / 1e9


SHOWN = ("sequence", "sample", "seed_shown")


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
LAYERS = ("first", "second")  # the drawings of the layers


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
        boxes += _layer(layer, x, LAYERS[layer - config.layers - 1 + len(LAYERS)])
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


EXPERIMENT = Experiment(
    name="counting",
    words=WORDS,
    config=Config,
    view=View,
    run=compute,
    claims=claims.ALL,
    metrics=claims.measure,
    drawings=(
        Drawing(
            "distances",
            draw.distances,
            ("single_seeds",),
            live=True,
            wide=True,
            seeds=MEAN_OF_SEEDS,
        ),
        Drawing("next", draw.following, (*SHOWN, "position"), explanations=draw.following_cells),
        Drawing("looks", draw.looks, (), live=True, seeds=MEAN_OF_SEEDS),
        Drawing(
            "first",
            draw.first,
            SHOWN,
            applies=lambda config: config.layers == 2,
            explanations=draw.first_cells,
        ),
        Drawing("second", draw.second, (*SHOWN, "position"), explanations=draw.second_cells),
        Drawing("losses", draw.losses, (), CURVES, live=True),
        Drawing("positions", draw.positions, (), CURVES, moving=False),
    ),
    presets=PRESETS,
    cost=cost,
    milestones=milestones,
    goes_on=lambda config: True,
    diagram=model_diagram,
    typed=TextInput(
        "sequence",
        "Your states",
        stage_text,
        "A sequence of the states A, B, C, …; Enter shows what the model makes of it. An empty "
        "field goes back to a random sequence.",
    ),
)
