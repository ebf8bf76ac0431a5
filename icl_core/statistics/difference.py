"""The difference of two means with its standard error, and how many of these make it certain."""

import math

from icl_core.statistics.over_seeds import certain_from

_ROUNDING = 1e-9  # a difference as small is one of rounding


def error_of_difference(first: float | None, second: float | None) -> float | None:
    """Return the standard error of the difference of two independent means from theirs; None if
    one of them is not known."""
    if first is None or second is None:
        return None
    return float((first**2 + second**2) ** 0.5)


def is_certain(
    difference: float, errors: tuple[float | None, float | None], counts: tuple[int | None, ...]
) -> bool:
    """Return whether a difference of two means is not zero with 95 % confidence, by Welch's test.

    errors  the standard error of each mean
    counts  the number of independent values behind each, at least two; None for so many that their
            spread is known

    The degrees of freedom are those of Welch and Satterthwaite, rounded down: to the safe side.
    Where all values behind a mean are the same, such as an accuracy of 1 for every seed, its error
    is 0. Of two such means any difference beyond rounding is certain, as the test knows no spread
    but that of these values.
    """
    if math.isclose(difference, 0.0, abs_tol=_ROUNDING):
        return False
    error = error_of_difference(*errors)
    if error is None:
        return False
    squares = [float(each or 0.0) ** 2 for each in errors]
    weights = [
        square**2 / (count - 1)
        for square, count in zip(squares, counts, strict=True)
        if count is not None
    ]
    if not sum(weights):  # known spreads, or none at all
        return abs(difference) > certain_from(None) * error
    freedom = max(1, int(sum(squares) ** 2 / sum(weights)))
    return abs(difference) > certain_from(freedom + 1) * error
