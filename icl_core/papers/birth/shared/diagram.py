"""The simplified transformer of Section 4.2 as a diagram, its matrices where they act."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from icl_core.contract.diagram import Arrow, Box, Diagram

Shows = tuple[str, Mapping[str, Any]]
# the residual stream, and what stands above it
LOW = 270.0
HIGH = 60.0
BETWEEN = 165.0
SAY = (
    "Along the bottom runs the residual stream, the vector that each position carries from layer "
    "to layer. Layer 1 looks at the position before and puts a copy of it, remapped, into the "
    "stream; layer 2 looks for its own character among these copies and writes down what it finds."
)
ONE = (
    "Along the bottom runs the residual stream, the vector that each position carries from layer "
    "to layer. The one layer looks for its own character and writes down what it finds: no layer "
    "before it has put a copy of the previous character there."
)


def model_diagram(config: Any, learned: str, bigrams: Shows, ends: str) -> Diagram:
    """Return the model of a config: `learned` is what its matrices are, "trained", "construction",
    or, with all others, "given"; `bigrams` the drawing that shows W_F, with the view that it needs,
    `ends` the one of what is predicted."""
    two_layers = getattr(config, "layers", 2) == 2
    boxes = [
        *_in(),
        *(_first(learned) if two_layers else ()),
        *_second(learned),
        *_out(config, learned, bigrams, ends),
    ]
    arrows = _arrows(two_layers, config.feed_forward)
    if learned == "given":
        boxes = [replace(box, kind=learned) if box.kind == "frozen" else box for box in boxes]
    if not two_layers:  # one layer stands in the middle
        boxes = [replace(box, x=box.x + 255) if box.name == "x" else box for box in boxes]
    return Diagram(SAY if two_layers else ONE, tuple(boxes), tuple(arrows))


def _in() -> list[Box]:
    return [Box("x", "w_E + p", 70, LOW, "frozen", "character, position", width=130)]


def _first(learned: str) -> list[Box]:
    return [
        Box("W_K1", "W_K¹", 195, HIGH, learned, "which position", "w_k1", part=0),
        Box("A1", "layer 1", 325, HIGH, "computed", "where it looks", "first", part=0, width=116),
        Box("R1", "W_O¹ W_V¹", 325, BETWEEN, "frozen", "remaps", width=116),
        Box("one", "+", 325, LOW, "sum"),
    ]


def _second(learned: str) -> list[Box]:
    return [
        Box("W_K2", "W_K²", 455, HIGH, learned, "which character", "w_k2", part=0),
        Box("A2", "layer 2", 585, HIGH, "computed", "where it looks", "second", part=0, width=116),
        Box("V2", "W_V²", 585, BETWEEN, "frozen", "values", width=116),
        Box("W_O2", "W_O²", 710, BETWEEN, learned, "what to say", "w_o2", part=0),
        Box("two", "+", 710, LOW, "sum"),
    ]


def _out(config: Any, learned: str, bigrams: Shows, ends: str) -> list[Box]:
    boxes = [Box("W_U", "W_U", 910, LOW, "frozen", "next character", ends, width=130)]
    if config.feed_forward:
        boxes.append(Box("W_F", "W_F", 820, BETWEEN, learned, "bigrams", *bigrams, width=90))
        boxes.append(Box("three", "+", 800, LOW, "sum"))
    return boxes


def _arrows(two_layers: bool, feed_forward: bool) -> list[Arrow]:
    before = (
        [("W_K1", "A1"), ("A1", "R1"), ("R1", "one"), ("x", "one"), ("one", "two")]
        if two_layers
        else [("x", "two")]
    )
    after = (
        [("two", "three"), ("three", "W_U"), ("W_F", "three")] if feed_forward else [("two", "W_U")]
    )
    stream = "one" if two_layers else "x"
    straight = [*before, ("W_K2", "A2"), ("A2", "V2"), ("V2", "W_O2"), ("W_O2", "two"), *after]
    bent = [Arrow("x", "W_K1", ((195.0, LOW),))] if two_layers else []
    bent.append(Arrow(stream, "W_K2", ((455.0, LOW),)))
    if feed_forward:
        bent.append(Arrow("two", "W_F", ((755.0, LOW), (755.0, 225.0), (835.0, 225.0))))
    return [*(Arrow(start, end) for start, end in straight), *bent]
