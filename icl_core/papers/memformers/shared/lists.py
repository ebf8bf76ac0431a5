"""Lists of numbers as a visitor types them: "1, 2, 3" or "1/3, 1/3, 1/3"."""

import math
import re
from fractions import Fraction


def numbers(name: str, text: str, fewest: int, most: int, low: float, high: float) -> list[float]:
    """The numbers in `text`, parted by commas or blanks. Raises `ValueError`, which calls the list `name`, unless there
    are `fewest` to `most` of them, each from `low` to `high`."""
    pieces = [piece for piece in re.split(r"[,;\s]+", text) if piece]
    values = [_number(name, piece) for piece in pieces]
    if not fewest <= len(pieces) <= most:
        wanted = str(fewest) if fewest == most else f"{fewest} to {most}"
        raise ValueError(f"{name} must be {wanted} numbers, got {len(pieces)}")
    beyond = [piece for piece, value in zip(pieces, values, strict=True) if not low <= value <= high]
    if beyond:
        raise ValueError(f"{name} must be numbers from {low:g} to {high:g}, got {beyond[0]!r:.40}")
    return values


def shares(name: str, text: str, count: int) -> list[float]:
    """`count` shares of a whole: from 0 to 1, and one in sum. Raises `ValueError` as `numbers` does."""
    values = numbers(name, text, count, count, 0.0, 1.0)
    if not math.isclose(sum(values), 1.0, abs_tol=1e-6):
        raise ValueError(f"{name} must sum to 1, got {sum(values):g}")
    return values


def _number(name: str, piece: str) -> float:
    try:
        value = float(Fraction(piece) if "/" in piece else piece)
    except (ValueError, ZeroDivisionError, OverflowError):
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"{name} must be numbers, got {piece!r:.40}")
    return value
