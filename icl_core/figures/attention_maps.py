"""Attention maps with boxes around cells, and the next token that a model predicts at every
position."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from icl_core.contract.figure import Figure, Trace
from icl_core.figures.character_labels import literal, visible_characters
from icl_core.figures.map_grid import (
    AXIS,
    BAR,
    TITLE,
    Box,
    Subplot,
    category_axis,
    frame,
    heat_trace,
    legend_entries,
    link_map,
    outlines,
    sequential,
    subplots,
)
from icl_core.figures.style import COLOURS, MONO, PAPER, axis, layout

WRITTEN = 48  # the longest sequence of which every token is written on the axes
LETTERS = 100  # the longest sequence of which every token is written above the bars
LEGEND = 34  # pixels of height of the legend
STRIP = 220  # pixels of height of the predictions
MAPS = 480  # pixels of height of two maps side by side
MAP = 420  # pixels of the side of a map that stands alone
PAIRED = 340  # pixels of the side of each of two maps, usually
SIDES = 72  # pixels at the left and the right of all maps
CELL = 10  # the least side of a cell in pixels; a map that has no room for it grows
LABEL = 14  # pixels of height of a label
GAP = 0.055  # between two maps as a share of the width
TITLES = ("layer 1", "layer 2")


@dataclass(frozen=True, eq=False)
class Predictions:
    """A model's predictions after each position.

    tokens       the likeliest next token
    probability  its probability, [T]
    right        whether it is the token that follows, [T] of bool
    known        whether the model could know that token, [T] of bool
    """

    tokens: Sequence[str]
    probability: Any
    right: Any
    known: Any


def position_names(tokens: Sequence[str]) -> list[str]:
    """Return each position's name, its number and its character."""
    return [f"{index + 1} '{token}'" for index, token in enumerate(visible_characters(tokens))]


def positions(tokens: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return for each position of a figure its name, which the pointer shows, and its label on an
    axis.

    The label is the character, with its position if not all labels are written.
    """
    characters = [literal(token) for token in visible_characters(tokens)]
    names = [literal(name) for name in position_names(tokens)]
    if len(characters) <= WRITTEN:
        return names, characters
    return names, [f"{index + 1} {token}" for index, token in enumerate(characters)]


def tokens_held(tokens: Sequence[str]) -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
    """Return the identities of queries and of keys, for `link_map`.

    Each is a token of the sequence, and so a position and a character; a key is also the character
    before it, which layer 1 writes into it.
    """
    characters = visible_characters(tokens)
    shared = {
        "token": position_names(tokens),
        "position": [str(index + 1) for index in range(len(characters))],
    }
    queries = shared | {"character": characters}
    keys = shared | {"character before": ["", *characters[:-1]], "character": characters}
    return queries, keys


def add_attention(
    figure: Figure,
    weights: Any,
    tokens: Sequence[str],
    boxes: Sequence[Box],
    subplot: Subplot,
    pixels: float,
    scale: str = "coloraxis",
) -> None:
    """Add attention weights [T, T], rows the queries; keys after a query are blank. `pixels` is the
    side of the map."""
    weights = np.array(weights, dtype=np.float32)
    weights[np.triu_indices(len(weights), 1)] = np.nan
    names, labels = positions(tokens)
    hover = "query %{y} attends to key %{x}: %{z:.4f}"
    trace = heat_trace(weights, names, names, hover, subplot, scale)
    figure.add_trace(link_map(trace, *tokens_held(tokens)))
    most = int(pixels // LABEL)
    frame(figure, subplot, (names, labels, "query"), (names, labels, "key"), most)
    figure.add_shapes(outlines(boxes, pixels / len(names), subplot))
    figure.add_traces(legend_entries({kind for *_, kind in boxes}, subplot))


def side_of(count: int, usual: float) -> float:
    """Return the side of a map of `count` tokens in pixels: `usual`, or more if its cells would be
    too small."""
    return max(usual, CELL * count)


def attention(
    weights: Any, tokens: Sequence[str], boxes: Sequence[Box] = (), cell: float = CELL
) -> Figure:
    """Return one head's attention weights [T, T] over the characters `tokens`, in cells of at least
    `cell` pixels: `LABEL` have room for every token's label."""
    bottom = AXIS - 10 + (LEGEND if boxes else 0)
    side = max(MAP, cell * len(tokens))
    scale = sequential(1 + 8 / side)
    figure = Figure(
        layout=layout(
            int(BAR + side + bottom),
            {"t": BAR, "b": bottom},
            legend=legend_below(),
            coloraxis=scale,
        )
    )
    add_attention(figure, weights, tokens, boxes, Subplot(), side)
    return figure.needs(side + SIDES if side > MAP else 0)


def attention_pair(
    first: Any, second: Any, tokens: Sequence[str], boxes: Sequence[Box], predictions: Predictions
) -> Figure:
    """Return the attention [T, T] of two layers side by side, with `boxes` on the second, and under
    them the predicted tokens."""
    side = side_of(len(tokens), PAIRED)
    maps = max(MAPS, side)
    plot = maps + STRIP
    scale = sequential(1 + (TITLE + 8) / plot)
    margin = {"t": BAR + TITLE, "b": AXIS + (LEGEND if boxes else 0)}
    height = int(plot + sum(margin.values()))
    figure = Figure(layout=layout(height, margin, legend=legend_below(), coloraxis=scale))
    left, right = subplots(TITLES, 2, maps, GAP)
    add_attention(figure, first, tokens, (), left.between(STRIP / plot, 1), side)
    add_attention(figure, second, tokens, boxes, right.between(STRIP / plot, 1), side)
    add_strip(figure, tokens, predictions, Subplot(3, y=(0.0, (STRIP - AXIS - 60) / plot)))
    return figure.needs(2 * side / (1 - GAP) + SIDES if side > PAIRED else 0)


def add_strip(
    figure: Figure, tokens: Sequence[str], predictions: Predictions, subplot: Subplot
) -> None:
    """Add a bar for each position, as high as the probability of the likeliest next token, with
    that token above it.

    A bar is solid if that token comes next, hollow if another does, and pale if the model could not
    know the next token.
    """
    names, labels = positions(tokens)
    figure.add_trace(_prediction_bars(names, predictions).update(subplot.axes))
    end = subplot.end
    title = "token, likeliest next above (hollow: wrong)"
    most = 100 if len(names) <= WRITTEN else max(16, len(names) // 5)
    x = category_axis(names, labels, most, title)
    y = axis(
        "probability",
        range=[0, 1.02],
        tickvals=[0, 0.5, 1],
        domain=subplot.y,
        anchor=f"x{end}",
        automargin=False,
    )
    figure.update_layout(
        {
            f"xaxis{end}": x | {"anchor": f"y{end}", "range": [-0.6, len(names) - 0.4]},
            f"yaxis{end}": y,
        }
    )


def _prediction_bars(names: Sequence[str], predictions: Predictions) -> Trace:
    """Return the bars over the positions called `names`."""
    blue = COLOURS["trained"]
    right = np.asarray(predictions.right, bool)
    known = np.asarray(predictions.known, bool)
    characters = [literal(token) for token in visible_characters(predictions.tokens)]
    marker = {
        "color": [blue if is_right else PAPER for is_right in right],
        "line": {"color": blue, "width": 1.2},
        "opacity": np.where(known, 1, 0.35),
    }
    verdicts = ["right" if is_right else "wrong" for is_right in right]
    trace = Trace(
        "bar",
        x=names,
        y=np.asarray(predictions.probability, np.float32),
        marker=marker,
        showlegend=False,
        customdata=[
            f"'{character}', {verdict}"
            for character, verdict in zip(characters, verdicts, strict=True)
        ],
        hovertemplate="after %{x}: %{customdata}, probability %{y:.2f}<extra></extra>",
    )
    if len(names) <= LETTERS:
        wrong = known & ~right
        letters = [
            f"✗<br>{character}" if is_wrong else character
            for character, is_wrong in zip(characters, wrong, strict=True)
        ]
        trace.update(
            text=letters,
            textposition="outside",
            textangle=0,
            textfont={"family": MONO},
            cliponaxis=False,
        )
    return trace


def legend_below() -> dict[str, Any]:
    """Return a legend in the middle of the figure's bottom edge."""
    return {
        "orientation": "h",
        "x": 0.5,
        "xanchor": "center",
        "y": 0,
        "yref": "container",
        "yanchor": "bottom",
    }
