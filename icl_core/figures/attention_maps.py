"""Attention maps with their boxes, and the next token that a model predicts at every position."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from icl_core.contract.figure import Figure, Trace
from icl_core.figures.map_grid import (
    AXIS,
    BAR,
    TITLE,
    Subplot,
    category_axis,
    frame,
    heat_trace,
    link_map,
    sequential,
    subplots,
)
from icl_core.figures.style import COLOURS, MONO, PAPER, axis, layout, visible_characters

Box = tuple[int, int, str]  # query and key, from 0; "trigger", "correct output" or "other output"
SYMBOLS = {
    "trigger": "square-open",
    "correct output": "square-open-dot",
    "other output": "square-x-open",
}
WRITTEN, LETTERS = (
    48,
    100,
)  # positions up to which every token is written on the axes, and above the bars
LEGEND, STRIP, MAPS = 34, 220, 480  # pixels of the legend, of the predictions, of two maps
TITLES = ("layer 1", "layer 2")


@dataclass(frozen=True, eq=False)
class Predictions:
    """What a model predicts after each position: the likeliest token, its probability [T], whether
    it is the token that follows, [T] bool, and whether the model could have known, [T] bool."""

    tokens: Sequence[str]
    probability: Any
    right: Any
    known: Any


def positions(tokens: Sequence[str]) -> tuple[list[str], list[str]]:
    """For each position its name, as the pointer shows it, and its label: the character, with its
    position if there are too many to write."""
    shown = [token.replace("<", "&lt;") for token in visible_characters(tokens)]
    full = [f"{index + 1} '{token}'" for index, token in enumerate(shown)]
    many = len(shown) > WRITTEN
    return full, [f"{index + 1} {token}" for index, token in enumerate(shown)] if many else shown


def tokens_held(tokens: Sequence[str]) -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
    """What queries and keys are, for `linked`: a token of the sequence, hence a position and a
    character; a key is also the character before it, with which layer 1 marks it."""
    shown = visible_characters(tokens)
    every = {
        "token": positions(tokens)[0],
        "position": [str(index + 1) for index in range(len(shown))],
    }
    return every | {"character": shown}, every | {
        "character before": ["", *shown[:-1]],
        "character": shown,
    }


def add_attention(
    figure: Figure, weights: Any, tokens: Sequence[str], boxes: Sequence[Box], subplot: Subplot,
    scale: str = "coloraxis", most: int = WRITTEN,
) -> None:  # fmt: skip
    """Adds weights [T, T], rows the queries, with the keys after each query left blank."""
    weights = np.array(weights, dtype=np.float32)
    weights[np.triu_indices(len(weights), 1)] = np.nan
    full, shown = positions(tokens)
    drawn = heat_trace(
        weights, full, full, "query %{y} attends to key %{x}: %{z:.4f}", subplot, scale
    )
    figure.add_trace(link_map(drawn, *tokens_held(tokens)))
    frame(
        figure,
        subplot,
        (full, shown, "query"),
        (full, shown, "key"),
        16 if len(full) > WRITTEN else most,
    )
    if boxes:
        listed = {""} | {trace.get("name") for trace in figure.data if trace.get("showlegend")}
        figure.add_traces(
            [
                box.update(showlegend=box["name"] not in listed)
                for box in _boxes(boxes, full, subplot)
            ]
        )


def _boxes(boxes: Sequence[Box], full: Sequence[str], subplot: Subplot) -> list[Trace]:
    """One trace a kind, over one in the background's colour that sets them off from dark cells."""
    size = float(np.clip(360 / len(full), 5, 24))
    thick = 2 if size > 6 else 1
    found = []
    for kind in ["", *(kind for kind in SYMBOLS if any(box[2] == kind for box in boxes))]:
        here = [box for box in boxes if not kind or box[2] == kind]
        x, y = [full[key] for _, key, _ in here], [full[query] for query, _, _ in here]
        line = (
            {"width": thick, "color": COLOURS[kind]}
            if kind
            else {"width": 2 * thick + 1, "color": PAPER}
        )
        marker = {
            "symbol": SYMBOLS.get(kind, "square-open"),
            "size": size,
            "line": line,
            "color": line["color"],
        }
        shared = {"legendgroup": kind, "hoverinfo": "skip"}
        found.append(
            Trace(x=x, y=y, mode="markers", name=kind, marker=marker, **shared, **subplot.axes)
        )
    return found


def attention(weights: Any, tokens: Sequence[str], boxes: Sequence[Box] = ()) -> Figure:
    """One head's attention weights [T, T] over the characters `tokens`."""
    height, bottom = 560, AXIS - 10 + (LEGEND if boxes else 0)
    scale = sequential(1 + 8 / (height - BAR - bottom))
    figure = Figure(
        layout=layout(height, {"t": BAR, "b": bottom}, legend=legend_of_boxes(), coloraxis=scale)
    )
    add_attention(figure, weights, tokens, boxes, Subplot())
    return figure


def attention_pair(
    first: Any, second: Any, tokens: Sequence[str], boxes: Sequence[Box], predictions: Predictions
) -> Figure:
    """Two layers' attention [T, T] side by side, with `boxes` on the second, and under them the
    predicted tokens."""
    room, plot = AXIS + (LEGEND if boxes else 0), MAPS + STRIP
    scale = sequential(1 + (TITLE + 8) / plot)
    margin = {"t": BAR + TITLE, "b": room}
    figure = Figure(
        layout=layout(
            plot + sum(margin.values()), margin, legend=legend_of_boxes(), coloraxis=scale
        )
    )
    for weights, each, subplot in zip(
        (first, second), ((), boxes), subplots(TITLES, 2, MAPS), strict=True
    ):
        add_attention(figure, weights, tokens, each, subplot.between(STRIP / plot, 1))
    add_strip(figure, tokens, predictions, Subplot(3, y=(0.0, (STRIP - AXIS - 60) / plot)))
    return figure


def add_strip(
    figure: Figure, tokens: Sequence[str], predictions: Predictions, subplot: Subplot
) -> None:
    """Adds one bar a position, as high as the likeliest next token's probability, with that token
    above it: full where it comes next, hollow where another does, pale where the model could not
    have known."""
    full, shown = positions(tokens)
    figure.add_trace(_guesses(full, predictions).update(subplot.axes))
    end = subplot.end
    title = "token, likeliest next above (hollow: wrong)"
    x = category_axis(full, shown, 16 if len(full) > WRITTEN else LETTERS, title)
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
            f"xaxis{end}": x | {"anchor": f"y{end}", "range": [-0.6, len(full) - 0.4]},
            f"yaxis{end}": y,
        }
    )


def _guesses(full: Sequence[str], predictions: Predictions) -> Trace:
    """The bars over the positions named `full`."""
    blue, right, known = (
        COLOURS["trained"],
        np.asarray(predictions.right, bool),
        np.asarray(predictions.known, bool),
    )
    guesses = list(zip(visible_characters(predictions.tokens), right, strict=True))
    marker = {
        "color": [blue if each else PAPER for each in right],
        "line": {"color": blue, "width": 1.2},
    }
    marker["opacity"] = np.where(known, 1, 0.35)
    trace = Trace(
        "bar",
        x=full,
        y=np.asarray(predictions.probability, np.float32),
        marker=marker,
        showlegend=False,
    )
    trace.update(
        customdata=[f"'{guess}', {'right' if each else 'wrong'}" for guess, each in guesses]
    )
    trace.update(hovertemplate="after %{x}: %{customdata}, probability %{y:.2f}<extra></extra>")
    if len(full) <= LETTERS:
        wrong = known & ~right  # where the model could have known
        letters = [
            f"✗<br>{guess}" if each else guess
            for (guess, _), each in zip(guesses, wrong, strict=True)
        ]
        trace.update(
            text=letters,
            textposition="outside",
            textangle=0,
            textfont={"family": MONO},
            cliponaxis=False,
        )
    return trace


def legend_of_boxes() -> dict[str, Any]:
    """A legend in the middle of the figure's foot."""
    return {
        "orientation": "h",
        "x": 0.5,
        "xanchor": "center",
        "y": 0,
        "yref": "container",
        "yanchor": "bottom",
    }
