"""Attention maps with their boxes, and the next token that a model predicts at every position."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from icl_core.figures.grid import AXIS, BAR, TITLE, Spot, cells, frame, labelled, sequential, spots
from icl_core.figures.style import COLOURS, MONO, PAPER, axis, characters, layout, traces

Box = tuple[int, int, str]  # query and key, from 0; "trigger", "correct output" or "other output"
SYMBOLS = {"trigger": "square-open", "correct output": "square-open-dot", "other output": "square-x-open"}
WRITTEN = 64  # positions up to which every token is written on the axes
LEGEND = 34


@dataclass(frozen=True, eq=False)
class Predictions:
    """What a model predicts after each position: the likeliest token, its probability [T], and whether it is the
    token that follows, [T] bool (None: nothing is known to follow). `judged` [T] bool: where it could have known."""

    tokens: Sequence[str]
    probability: Any
    right: Any = None
    judged: Any = None


def positions(tokens: Sequence[str]) -> tuple[list[str], list[str]]:
    """For each position its name, as the pointer shows it, and its label: the character, with its position if
    there are too many to write."""
    shown = [token.replace("<", "&lt;") for token in characters(tokens)]
    full = [f"{place + 1} '{token}'" for place, token in enumerate(shown)]
    many = len(shown) > WRITTEN
    return full, [f"{place + 1} {token}" for place, token in enumerate(shown)] if many else shown


def add_attention(
    figure: go.Figure, weights: Any, tokens: Sequence[str], boxes: Sequence[Box], spot: Spot, scale: str,
    titles: tuple[str, str] = ("query", "key"), most: int = WRITTEN,
) -> None:  # fmt: skip
    """Adds weights [T, T], rows the queries, with the keys after each query left blank."""
    weights = np.array(weights, dtype=np.float32)
    weights[np.triu_indices(len(weights), 1)] = np.nan
    full, shown = positions(tokens)
    hover = "query %{y} attends to key %{x}: %{z:.4f}"
    figure.add_trace(cells(weights, full, full, hover, spot, scale))
    frame(figure, spot, (full, shown, titles[0]), (full, shown, titles[1]), 16 if len(full) > WRITTEN else most)
    if boxes:
        listed = {""} | {trace.name for trace in traces(figure) if trace.showlegend}
        figure.add_traces([box.update(showlegend=box.name not in listed) for box in _boxes(boxes, full, spot)])


def _boxes(boxes: Sequence[Box], full: Sequence[str], spot: Spot) -> list[go.Scatter]:
    """One trace a kind, over one in the background's colour that sets them off from dark cells."""
    size = float(np.clip(360 / len(full), 5, 24))
    thick = 2 if size > 6 else 1
    kinds = [kind for kind in SYMBOLS if any(box[2] == kind for box in boxes)]
    found = []
    for kind in ["", *kinds]:
        here = [box for box in boxes if not kind or box[2] == kind]
        x, y = [full[key] for _, key, _ in here], [full[query] for query, _, _ in here]
        line = {"width": thick, "color": COLOURS[kind]} if kind else {"width": 2 * thick + 1, "color": PAPER}
        marker = {"symbol": SYMBOLS.get(kind, "square-open"), "size": size, "line": line, "color": line["color"]}
        shared = {"legendgroup": kind, "hoverinfo": "skip"}
        found.append(go.Scatter(x=x, y=y, mode="markers", name=kind, marker=marker, **shared, **spot.axes))
    return found


def attention(
    weights: Any,
    tokens: Sequence[str],
    boxes: Sequence[Box] = (),
    *,
    title: str = "attention",
    most: int = WRITTEN,
    height: int = 560,
) -> go.Figure:
    """One head's attention weights [T, T] over the characters `tokens`; `title` names the colour bar.

    `most` tokens are written on an axis (32 on a narrow screen).
    """
    bottom = AXIS - 10 + (LEGEND if boxes else 0)
    figure = go.Figure(layout=layout(height, {"t": BAR, "b": bottom}, legend=legend_of_boxes()))
    figure.update_layout(coloraxis=sequential(title, 1 + 8 / (height - BAR - bottom)))
    add_attention(figure, weights, tokens, boxes, Spot(), "coloraxis", most=most)
    return figure


def attention_pair(
    first: Any,
    second: Any,
    tokens: Sequence[str],
    boxes: tuple[Sequence[Box], Sequence[Box]] = ((), ()),
    predictions: Predictions | None = None,
    *,
    titles: Sequence[str] = ("layer 1", "layer 2"),
    stacked: bool = False,
) -> go.Figure:
    """Two layers' attention [T, T] side by side, or one above the other, and under them the predicted next tokens.

    `boxes` are those of the first and of the second map.
    """
    strip, room = (220 if predictions else 0), (LEGEND if any(boxes) else 0)
    maps = 840 if stacked else 480
    height = BAR + TITLE + maps + AXIS + room + strip
    plot = height - BAR - TITLE - AXIS - room
    figure = go.Figure(layout=layout(height, {"t": BAR + TITLE, "b": AXIS + room}, legend=legend_of_boxes()))
    figure.update_layout(coloraxis=sequential("attention", 1 + (TITLE + 8) / plot))
    low = strip / plot
    for weights, each, spot in zip((first, second), boxes, spots(titles, 1 if stacked else 2, maps), strict=True):
        moved = Spot(spot.number, spot.x, (low + spot.y[0] * (1 - low), low + spot.y[1] * (1 - low)), spot.title)
        add_attention(figure, weights, tokens, each, moved, "coloraxis", most=32 if stacked else WRITTEN)
    if predictions:
        add_strip(figure, tokens, predictions, Spot(3, y=(0.0, (strip - AXIS - 60) / plot)), 32 if stacked else 100)
    return figure


def add_strip(figure: go.Figure, tokens: Sequence[str], predictions: Predictions, spot: Spot, most: int) -> None:
    """Adds one bar a position, as high as the likeliest next token's probability, with that token above it: full
    where it comes next, hollow where another does, pale where nothing says which."""
    full, shown = positions(tokens)
    guesses = characters(predictions.tokens)
    right = np.ones(len(full), bool) if predictions.right is None else np.asarray(predictions.right, bool)
    words = ["" if predictions.right is None else ", right" if each else ", wrong" for each in right]
    blue = COLOURS["trained"]
    marker = {"color": [blue if each else PAPER for each in right], "line": {"color": blue, "width": 1.2}}
    if predictions.judged is not None:
        marker["opacity"] = np.where(np.asarray(predictions.judged, bool), 1, 0.35)
    trace = go.Bar(x=full, y=np.asarray(predictions.probability, np.float32), marker=marker, showlegend=False)
    trace.update(customdata=[f"'{guess}'{word}" for guess, word in zip(guesses, words, strict=True)])
    trace.update({"hovertemplate": "after %{x}: %{customdata}, probability %{y:.2f}<extra></extra>", **spot.axes})
    letters = [guess if each else f"✗<br>{guess}" for guess, each in zip(guesses, right, strict=True)]
    if len(full) <= most:
        trace.update(text=letters, textposition="outside", textangle=0, textfont={"family": MONO}, cliponaxis=False)
    figure.add_trace(trace)
    end = str(spot.number)
    x = labelled(full, shown, 16 if len(full) > WRITTEN else most, "token, likeliest next above (hollow: wrong)")
    y = axis("probability", range=[0, 1.02], tickvals=[0, 0.5, 1], domain=spot.y, anchor=f"x{end}", automargin=False)
    figure.update_layout({f"xaxis{end}": x | {"anchor": f"y{end}", "range": [-0.6, len(full) - 0.4]}, f"yaxis{end}": y})


def legend_of_boxes() -> dict[str, Any]:
    """A legend in the middle of the figure's foot."""
    return {"orientation": "h", "x": 0.5, "xanchor": "center", "y": 0, "yref": "container", "yanchor": "bottom"}
