"""A claim as a scale in HTML: what it allows is shaded, what runs measured are dots with their
standard errors. No torch."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from icl_core.contract.claims import Claim

# From this ratio of the largest to the smallest number on, the axis is logarithmic.
LOG_FROM = 30.0
PADDING = 0.08  # of the axis, on either side of what must be seen
# How a measured number stands to its claim, in words.
WORDS = {"kept": "as expected", "failed": "not as expected", "open": "not decided"}
LEAST_SHADED = 0.25  # the share of the axis that a range without an end has at least


@dataclass(frozen=True)
class Point:
    """What one run measured.

    value  the measured number
    error  its standard error; 0 if it has none
    kind   how it stands to the claim, a CSS class: "kept", "failed" or "open"
    label  the number and its error in words: "0.98 ± 0.01"
    """

    value: float
    error: float
    kind: str
    label: str


@dataclass(frozen=True)
class Axis:
    """The part of the number line that a scale shows, from `low` to `high` in the transformed
    numbers."""

    low: float
    high: float
    log: bool

    def share(self, number: float) -> float:
        """Return where a number stands, from 0 at the left end to 1; beyond an end, the end."""
        at = transformed(number, self.log)
        return min(1.0, max(0.0, (at - self.low) / (self.high - self.low)))


def allowed_range(claim: Claim) -> tuple[float, float]:
    """Return the smallest and the largest number that the claim allows, tolerance included;
    infinite where it sets no limit."""
    low = claim.bound - claim.tolerance
    high = claim.bound + claim.tolerance
    if claim.relation == "at least":
        return low, math.inf
    if claim.relation == "at most":
        return -math.inf, high
    return low, high


def axis_of(claim: Claim, points: Sequence[Point]) -> Axis:
    """Return an axis that shows the bound, all that is finite of the allowed range, and all points
    with their errors.

    It is logarithmic if all of these numbers are positive and span a factor of `LOG_FROM`.
    """
    low, high = allowed_range(claim)
    numbers = [claim.bound, *(end for end in (low, high) if math.isfinite(end))]
    numbers += [point.value for point in points]
    log = min(numbers) > 0 and max(numbers) / min(numbers) >= LOG_FROM
    for point in points:
        numbers += [point.value - point.error, point.value + point.error]
    at = [transformed(number, log) for number in numbers if number > 0 or not log]
    first, last = min(at), max(at)
    span = last - first or abs(last) or 1.0
    first -= PADDING * span
    last += PADDING * span
    # a range without an end must be seen to go on
    room = LEAST_SHADED / (1 - LEAST_SHADED)
    if math.isinf(high):
        limit = transformed(low, log)
        last = max(last, limit + room * (limit - first))
    if math.isinf(low):
        limit = transformed(high, log)
        first = min(first, limit - room * (last - limit))
    return Axis(first, last, log)


def transformed(number: float, log: bool) -> float:
    """Return the number as the axis has it: its logarithm to base 10, or itself."""
    if not log:
        return number
    return math.log10(number) if number > 0 else -math.inf


def scale_html(claim: Claim, points: Sequence[Point], bound_label: str) -> str:
    """Return the scale of a claim with what runs measured; empty if nothing finite was measured.

    `bound_label` is what is expected, in words. The first of the points is labelled, the others
    have their labels under the pointer; a screen reader reads all of them.
    """
    points = [point for point in points if math.isfinite(point.value)]
    if not points:
        return ""
    axis = axis_of(claim, points)
    low, high = allowed_range(claim)
    parts = [
        _bar("allowed", axis.share(low) if math.isfinite(low) else 0.0,
             axis.share(high) if math.isfinite(high) else 1.0),
        _mark("bound", axis.share(claim.bound)),
    ]  # fmt: skip
    for point in reversed(points):  # the first one on top
        at = axis.share(point.value)
        if point.error:
            ends = (axis.share(point.value - point.error), axis.share(point.value + point.error))
            parts.append(_bar("error", *ends))
        parts.append(_mark(f"dot {point.kind}", at, point.label))
    parts.append(_label("measured", axis.share(points[0].value), points[0].label))
    written_bound = f"{bound_label} · log scale" if axis.log else bound_label
    parts.append(_label("expected", axis.share(claim.bound), written_bound))
    measured = ", ".join(f"{point.label} ({WORDS[point.kind]})" for point in points)
    text = f"{claim.label}: measured {measured}; {bound_label}"
    return f'<div class="scale" role="img" aria-label="{escape(text)}">{"".join(parts)}</div>'


def _percent(share: float) -> str:
    return f"{100 * share:.2f}%"


def _bar(name: str, start: float, end: float) -> str:
    place = f"left: {_percent(start)}; width: {_percent(end - start)}"
    return f'<i class="{name}" style="{place}"></i>'


def _mark(name: str, at: float, hover: str = "") -> str:
    title = f' title="{escape(hover)}"' if hover else ""
    return f'<i class="{name}" style="left: {_percent(at)}"{title}></i>'


def _label(name: str, at: float, text: str) -> str:
    """Return a text at `at`, which is moved so that it stays on the scale."""
    place = f"left: {_percent(at)}; transform: translateX(-{_percent(at)})"
    return f'<span class="{name}" style="{place}">{escape(text)}</span>'
