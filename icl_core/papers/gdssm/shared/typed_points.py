"""Points as a visitor types them: "0.5:1, -0.8:-1.4"."""

import math

from icl_core.contract.knobs import BadSetting
from icl_core.contract.settings_io import number, pieces

MOST = 40  # points, at most
X = 10.0  # how far from zero x may be
Y = 100.0  # how far from zero y may be


def points(text: str) -> list[tuple[float, float]]:
    """Return the points in `text`, in order. Raise `BadSetting` unless there are 1 to 40 pairs x:y
    of numbers, x from -10 to 10 and y from -100 to 100."""
    pairs = [_point(piece) for piece in pieces(text)]
    if not 1 <= len(pairs) <= MOST:
        raise BadSetting(f"points must be 1 to {MOST} pairs x:y, got {len(pairs)}")
    return pairs


def _point(piece: str) -> tuple[float, float]:
    """Return x and y of one piece. Raise `BadSetting` if it is no pair of numbers in range."""
    x, _, y = piece.partition(":")
    values = number(x), number(y)
    if any(map(math.isnan, values)):
        raise BadSetting(f"points must be pairs x:y of numbers, as 0.5:1, got {piece!r:.40}")
    if abs(values[0]) > X or abs(values[1]) > Y:
        raise BadSetting(
            f"points must have x from -{X:g} to {X:g} and y from -{Y:g} to {Y:g}, got {piece!r:.40}"
        )
    return values
