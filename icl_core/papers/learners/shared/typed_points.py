"""Pairs as a visitor types them, "0.5 1: 2; -0.8 0: -1.4", the features of x, a colon, y; and a
query, "0.5 1"."""

import math

from icl_core.contract.knobs import BadSetting
from icl_core.contract.settings_io import number, numbers, pieces

MOST, LARGEST = 64, 1000.0  # pairs at most, and how far from zero their numbers are
MOST_FEATURES = 8
Pair = tuple[tuple[float, ...], float]


def pairs(text: str) -> list[Pair]:
    """Return the pairs (x, y) in a text, none if it is empty.

    Raises `BadSetting` unless there are at most 64 pairs, each with as many features as the first,
    of numbers from -1,000 to 1,000.
    """
    parts = [part for part in text.split(";") if part.strip()]
    if len(parts) > MOST:
        raise BadSetting(f"your own pairs must be at most {MOST}, got {len(parts)}")
    typed = [_pair(part) for part in parts]
    for (x, _), part in zip(typed, parts, strict=True):
        if len(x) != len(typed[0][0]):
            raise BadSetting(
                f"every pair must have as many features as the first, {len(typed[0][0])}, got "
                f"{len(x)} in {part.strip()!r:.40}"
            )
    return typed


def query(text: str) -> list[float]:
    """Return the features of the query in a text, none if it is empty.

    Raises `BadSetting` unless there are at most 8, of numbers from -1,000 to 1,000.
    """
    if not text.strip():
        return []
    return numbers("your own query", text, 1, MOST_FEATURES, -LARGEST, LARGEST)


def _pair(part: str) -> Pair:
    before, _, after = part.partition(":")
    values = [number(piece) for piece in pieces(before)]
    labels = [number(piece) for piece in pieces(after)]
    if not values or len(labels) != 1 or any(map(math.isnan, (*values, *labels))):
        raise BadSetting(
            "your own pairs must be like '0.5 1: 2; -0.8 0: -1.4', x before the colon and y behind "
            f"it, got {part.strip()!r:.40}"
        )
    if max(map(abs, (*values, *labels))) > LARGEST:
        raise BadSetting(
            f"numbers of your own pairs must be from -{LARGEST:,.0f} to {LARGEST:,.0f}, got "
            f"{part.strip()!r:.40}"
        )
    return tuple(values), labels[0]
