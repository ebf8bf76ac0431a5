"""The results of a class's session as files: a table, and a page to print."""

import csv
import io
from collections import Counter
from collections.abc import Sequence
from html import escape

from icl_core.classroom.curves import FULL, PLACES, Curve
from icl_core.classroom.figures import sentence
from icl_core.classroom.question import Vote
from icl_core.classroom.session import Result

_STYLE = """
body { font: 16px/1.4 "Source Sans", "Source Sans Pro", system-ui, sans-serif; color: #1D2126;
  max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
section { break-inside: avoid; margin-bottom: 2rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin-bottom: .4rem; }
table { width: 100%; border-collapse: collapse; }
th, td { padding: .25rem .5rem; text-align: left; border-bottom: 1px solid #C9CED6; }
figure { margin: .8rem 0; } svg { width: 100%; height: 14rem; border: 1px solid #C9CED6; }
td:first-child { width: 50%; } .right { font-weight: 600; }
i { display: inline-block; height: .8em; margin-right: .4rem; background: #0072B2;
  print-color-adjust: exact; -webkit-print-color-adjust: exact; }
"""


def table(results: Sequence[Result]) -> str:
    """Return the results as CSV: a row for each choice, and for each number or curve that was
    answered, with its count in each vote. A curve is its heights, as shares of 100."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["question", "answer", "right", "first vote", "second vote"])
    for result in results:
        for answer, is_right, counts in _rows(result):
            cells = [*counts, *[""] * (2 - len(counts))]
            writer.writerow([result.question.ask, answer, "yes" if is_right else "no", *cells])
    return text.getvalue()


def page(results: Sequence[Result], title: str) -> str:
    """Return the results as an HTML page to print, with a bar for each count."""
    sections = "".join(map(_section, results))
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style></head><body><h1>{escape(title)}</h1>{sections}</body></html>"
    )


def _section(result: Result) -> str:
    names = ("first vote", "second vote")[: len(result.rounds)]
    if result.question.curve:
        drawings = "".join(map(_drawing, names, result.rounds, [result.question.curve] * 2))
        said = escape(sentence(result, marks_right=True))
        return f"<section><h2>{escape(result.question.ask)}</h2><p>{said}</p>{drawings}</section>"
    head = "".join(f"<th>{name}</th>" for name in ("answer", *names))
    totals = [max(1, len(votes)) for votes in result.rounds]
    rows = []
    for answer, is_right, counts in _rows(result):
        bars = "".join(
            f'<td><i style="width: {5 * count / total:.2f}rem"></i>{count}</td>'
            for count, total in zip(counts, totals, strict=True)
        )
        mark = "✓ " if is_right else ""
        style = ' class="right"' if is_right else ""
        rows.append(f"<tr{style}><td>{mark}{escape(answer)}</td>{bars}</tr>")
    truth = "" if result.question.choices else f" The answer: {result.question.right:,.6g}."
    return (
        f"<section><h2>{escape(result.question.ask)}</h2>"
        f"<p>{escape(sentence(result, marks_right=True))}{truth}</p>"
        f"<table><tr>{head}</tr>{''.join(rows)}</table></section>"
    )


def _drawing(name: str, votes: Sequence[Vote], curve: Curve) -> str:
    """Return the curves of one round over each other, the measured one thick, as a picture."""

    def line(heights: Sequence[float | None], look: str) -> str:
        known = [(place, height) for place, height in enumerate(heights) if height is not None]
        points = " ".join(f"{place},{FULL - height:g}" for place, height in known)
        return (
            f'<polyline points="{points}" fill="none" vector-effect="non-scaling-stroke" {look}/>'
        )

    thin = 'stroke="#0072B2" stroke-width="1" stroke-opacity=".6"'
    lines = [line(vote, thin) for vote in votes]
    lines.append(line(curve.measured, 'stroke="#1D2126" stroke-width="4"'))
    axes = f"{escape(curve.y)} against {escape(curve.x)}"
    return (
        f"<figure><figcaption>{name}: {axes}; thick: measured</figcaption>"
        f'<svg viewBox="0 0 {PLACES - 1} {FULL}" preserveAspectRatio="none">{"".join(lines)}</svg>'
        "</figure>"
    )


def _rows(result: Result) -> list[tuple[str, bool, list[int]]]:
    """Return each answer with whether it is right and its count in each round: all choices, or the
    numbers that were answered in their order."""
    question = result.question
    counters = [Counter(votes) for votes in result.rounds]
    votes = range(len(question.choices)) if question.choices else sorted(set().union(*counters))
    rows = []
    vote: Vote
    for vote in votes:
        if question.curve:
            answer = " ".join(map(str, vote))
        elif question.choices:
            answer = question.choices[int(vote)]
        else:
            answer = f"{vote:.10g} {question.unit}"
        rows.append((answer, question.is_right(vote), [counter[vote] for counter in counters]))
    return rows
