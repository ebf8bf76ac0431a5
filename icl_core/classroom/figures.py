"""What a class answered, drawn and in a sentence: bars of choices, a histogram of numbers, curves
over each other; of two rounds both beside each other."""

from collections.abc import Sequence
from html import escape
from textwrap import wrap
from typing import Any

import numpy as np

from icl_core.classroom.curves import FULL, PLACES, Curve, Tick
from icl_core.classroom.question import NEAR
from icl_core.classroom.session import Result
from icl_core.contract.figure import Figure, Trace
from icl_core.figures.style import COLOURS, INK, axis, layout, legend

BINS = 12
REACH = 10.0  # how far from the median numbers are drawn, in median distances from it
_ROUNDS = ("first vote", "second vote")
_LETTERS = 34  # of a choice in one line


def answers(result: Result, marks_right: bool) -> Figure:
    """Return the votes of the rounds that were opened, with the right answer only if it is to be
    marked."""
    if result.question.curve:
        return _curves(result, result.question.curve, marks_right)
    is_choice = bool(result.question.choices)
    figure = _bars(result, marks_right) if is_choice else _histogram(result, marks_right)
    return figure.update_layout(
        barmode="group",
        bargap=0.25 if is_choice else 0.06,
        showlegend=len(result.rounds) > 1,
        legend=legend(1.02) | {"traceorder": "normal"},
    )


def sentence(result: Result, marks_right: bool) -> str:
    """Return how many answered and changed their answer and, if it is to be marked, how many were
    right."""
    rounds = [len(votes) for votes in result.rounds]
    text = f"{rounds[0]} answered"
    if len(rounds) > 1:
        text += f", then {rounds[1]}: {result.changed} of {result.both} changed their answer"
        if marks_right:
            goal = "one near the measured" if result.question.curve else "the right one"
            text += f", {result.to_right} to {goal}"
    if marks_right:
        right = [sum(map(result.question.is_right, votes)) for votes in result.rounds]
        near = f"Within {NEAR}% of the height of the measured curve, on average"
        name = near if result.question.curve else "Right"
        text += f". {name}: {', then '.join(map(str, right))}"
    if not result.question.choices and not result.question.curve:
        beyond = sum(map(len, result.rounds)) - len(_drawn(result))
        if beyond:
            text += f". {beyond} too far from the others to be drawn"
    return f"{text}."


def _bars(result: Result, marks_right: bool) -> Figure:
    question = result.question
    names = []
    for index, choice in enumerate(question.choices):
        text = "<br>".join(wrap(escape(choice, quote=False), _LETTERS))
        is_marked = marks_right and index == question.right
        names.append(f"<b>✓ right: {text}</b>" if is_marked else text)
    height = 80 + len(names) * (62 if len(result.rounds) == 1 else 93)
    figure = Figure(layout=layout(height))
    for votes, trace in zip(result.rounds, _traces(result), strict=True):
        counts = question.counts(votes)
        shares = [100 * count / max(1, len(votes)) for count in counts]
        texts = [f"{count} ({share:.0f}%)" for count, share in zip(counts, shares, strict=True)]
        trace.update(
            orientation="h", x=shares, y=names, text=texts, textposition="outside", textangle=0
        )
        figure.add_trace(trace.update(cliponaxis=False, hoverinfo="skip"))
    figure.update_xaxes(axis("% of the answers", range=[0, 112], fixedrange=True))
    # the first choice on top
    return figure.update_yaxes(axis(autorange="reversed", fixedrange=True, ticklabelstandoff=6))


def _histogram(result: Result, marks_right: bool) -> Figure:
    question = result.question
    values = [*_drawn(result), *([question.right] if marks_right else [])]
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    margin = 0.04 * (high - low) or max(abs(high), 1.0) / 10
    edges = np.linspace(low - margin, high + margin, BINS + 1)
    figure = Figure(layout=layout(320, {"t": 40}))
    most = 1
    for votes, trace in zip(result.rounds, _traces(result), strict=True):
        counts = np.histogram(votes, edges)[0]
        most = max(most, int(counts.max()))
        trace.update(x=(edges[:-1] + edges[1:]) / 2, y=counts, hoverinfo="skip")
        trace.update(text=[str(count or "") for count in counts], textposition="outside")
        figure.add_trace(trace.update(cliponaxis=False))
    if marks_right:
        line = {"x0": question.right, "x1": question.right, "y0": 0, "y1": 1, "yref": "paper"}
        figure.add_shape(type="line", line={"color": INK, "width": 3, "dash": "dot"}, **line)
        text = f"✓ right: {question.right:,.6g}"
        place = {"x": question.right, "y": 1, "yref": "paper", "yanchor": "bottom"}
        figure.add_annotation(text=text, showarrow=False, font={"color": INK}, **place)
    figure.update_xaxes(axis(escape(question.unit, quote=False), fixedrange=True))
    return figure.update_yaxes(
        axis("answers", range=[0, 1.15 * most], dtick=-(-most // 5), fixedrange=True)
    )


def _curves(result: Result, curve: Curve, marks_right: bool) -> Figure:
    """Return all drawn curves, thin, the middle one of the last round thick, and the measured one
    on top, in shares of the axes that were drawn in."""
    figure = Figure(layout=layout(360, {"t": 40}))
    x = np.linspace(0, 1, PLACES)
    last = result.rounds[-1]
    for votes, trace in zip(result.rounds, _traces(result), strict=True):
        apart = np.full((len(votes), 1), np.nan)  # between two curves of one trace
        heights = np.hstack([np.reshape(votes, (-1, PLACES)), apart])  # [votes, places + 1]
        line = {"color": trace["marker"]["color"], "width": 1.5}
        drawn = {"x": np.tile([*x, np.nan], len(votes)), "y": heights.ravel(), "opacity": 0.55}
        name = trace["name"] if len(result.rounds) > 1 else "the class"
        figure.add_scatter(mode="lines", name=name, line=line, hoverinfo="skip", **drawn)
    if last:
        middle = np.median(last, axis=0)
        line = {"color": COLOURS["gradient descent"], "width": 4, "dash": "dash"}
        figure.add_scatter(x=x, y=middle, mode="lines", name="middle of the class", line=line)
    if marks_right:
        measured = np.array(curve.measured, dtype=float)
        line = {"color": INK, "width": 5}
        name = f"✓ measured: {escape(curve.name, quote=False)}"
        figure.add_scatter(x=x, y=measured, mode="lines", name=name, line=line)
    figure.update_layout(showlegend=True, legend=legend(1.02) | {"traceorder": "normal"})
    figure.update_xaxes(_axis_of(curve.x, curve.x_ticks, 1.0))
    return figure.update_yaxes(_axis_of(curve.y, curve.y_ticks, FULL))


def _axis_of(title: str, ticks: Sequence[Tick], full: float) -> dict[str, Any]:
    places = [full * place for place, _ in ticks]
    texts = [text for _, text in ticks]
    limits = [-0.02 * full, 1.02 * full]
    return axis(title, range=limits, tickvals=places, ticktext=texts, fixedrange=True)


def _traces(result: Result) -> list[Trace]:
    """Return an empty bar trace for each round: the last one blue, one before it grey."""
    count = len(result.rounds)
    colours = (COLOURS["gradient descent"], COLOURS["trained"])[-count:]
    return [
        Trace("bar", name=name, marker={"color": colour})
        for name, colour in zip(_ROUNDS, colours, strict=False)
    ]


def _drawn(result: Result) -> Sequence[float]:
    """Return the numbers of all rounds that are drawn: one that is far away, typed for fun or by
    mistake, would press all others into one bar."""
    values = np.array([vote for votes in result.rounds for vote in votes])
    if not values.size:
        return ()
    median = np.median(values)
    distances = np.abs(values - median)
    reach = max(REACH * np.median(distances), 2 * abs(median), 1.0)
    return values[distances <= reach].tolist()
