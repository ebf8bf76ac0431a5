"""Lists of numbers as a visitor types them, parted by commas or blanks: "1, 2, 3" or
"1/3 1/3 1/3"."""

import math
import re

from icl_core.contract.knobs import BadSetting


def pieces(text: str) -> list[str]:
    """What stands between commas, semicolons and blanks; a fraction stays together."""
    return [piece for piece in re.split(r"[,;\s]+", re.sub(r"\s*/\s*", "/", text)) if piece]


def number(piece: str) -> float:
    """The finite number or fraction that a piece of text stands for; NaN if it is none."""
    above, slash, below = piece.partition("/")
    try:
        value = float(above) / float(below) if slash else float(above)
    except (ValueError, ZeroDivisionError):
        return math.nan
    return value if math.isfinite(value) else math.nan


def numbers(
    name: str, text: str, fewest: int, most: int, low: float, high: float, whole: bool = False
) -> list[float]:
    """The numbers in `text`. Raises `BadSetting`, which calls the list `name`, unless there are
    `fewest` to `most` of them, each from `low` to `high`."""
    found, kind = pieces(text), "whole numbers" if whole else "numbers"
    if not fewest <= len(found) <= most:
        wanted = str(fewest) if fewest == most else f"{fewest} to {most}"
        raise BadSetting(f"{name} must be {wanted} {kind}, got {len(found)}")
    values = [number(piece) for piece in found]
    for piece, value in zip(found, values, strict=True):
        if not low <= value <= high or (whole and value % 1):
            raise BadSetting(f"{name} must be {kind} from {low:g} to {high:g}, got {piece!r:.40}")
    return values


def whole_numbers(name: str, text: str, most: int, low: int, high: int) -> list[int]:
    """1 to `most` whole numbers, ascending, each once. Raises `BadSetting` as `numbers` does."""
    return sorted({int(value) for value in numbers(name, text, 1, most, low, high, whole=True)})


def shares(name: str, text: str, count: int) -> list[float]:
    """`count` shares of a whole: from 0 to 1, and one in sum. Raises `BadSetting` as `numbers`
    does."""
    values = numbers(name, text, count, count, 0.0, 1.0)
    if not math.isclose(sum(values), 1.0, abs_tol=1e-6):
        raise BadSetting(f"{name} must sum to 1, got {sum(values):g}")
    return values
