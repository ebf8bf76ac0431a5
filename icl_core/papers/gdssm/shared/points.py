"""What a visitor types: points as "0.5:1, -0.8:-1.4", and lists of whole numbers as "5, 10, 20"."""

import math
import re

MOST, X, Y = 40, 10.0, 100.0  # points at most, and how far from zero


def points(text: str) -> list[tuple[float, float]]:
    """The points in `text`, in order. Raises `ValueError` unless there are 1 to 40 pairs x:y of numbers, x from -10 to
    10 and y from -100 to 100."""
    found = [_point(piece) for piece in re.split(r"[,;\s]+", text.strip()) if piece]
    if not 1 <= len(found) <= MOST:
        raise ValueError(f"points must be 1 to {MOST} pairs x:y, got {len(found)}")
    return found


def _point(piece: str) -> tuple[float, float]:
    x, colon, y = piece.partition(":")
    values = _number(x), _number(y)
    if not colon or not all(map(math.isfinite, values)):
        raise ValueError(f"points must be pairs x:y of numbers, as 0.5:1, got {piece!r:.40}")
    if abs(values[0]) > X or abs(values[1]) > Y:
        raise ValueError(f"points must have x from -{X:g} to {X:g} and y from -{Y:g} to {Y:g}, got {piece!r:.40}")
    return values


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def whole(name: str, text: str, most: int, low: int, high: int) -> list[int]:
    """1 to `most` whole numbers from `low` to `high`, ascending, each once. Raises `ValueError`, which calls the list
    `name`, for anything else."""
    pieces = [piece for piece in re.split(r"[,;\s]+", text) if piece]
    if not 1 <= len(pieces) <= most:
        raise ValueError(f"{name} must be 1 to {most} whole numbers, got {len(pieces)}")
    for piece in pieces:
        if not re.fullmatch(r"\d{1,6}", piece) or not low <= int(piece) <= high:
            raise ValueError(f"{name} must be whole numbers from {low} to {high}, got {piece!r:.40}")
    return sorted({int(piece) for piece in pieces})
