"""Numbers of any size as text."""

import math

import numpy as np

NOT_A_NUMBER = "–"  # in the place of a number that is not finite
LARGE = 1e6  # from here on a number is written with a power of ten
UNIT = ", in units\N{NO-BREAK SPACE}of\N{NO-BREAK SPACE}{}"  # never broken before the unit
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def significant(value: float, digits: int = 3) -> str:
    """Return a number with some significant digits, and with a power of ten if it is very small or
    very large: 0.0241, 1230, 7.93·10⁻⁵; a dash if it is not finite."""
    if not math.isfinite(value):
        return NOT_A_NUMBER
    rounded = float(f"{value:.{digits}g}") + 0.0  # + 0.0 turns -0.0 into 0.0
    number, _, exponent = f"{rounded:.6g}".partition("e")
    number = number.replace("-", "\N{MINUS SIGN}")
    return f"{number}·{power_of_ten(int(exponent))}" if exponent else number


def number_text(value: float, places: int = 3) -> str:
    """Return a number with some places after the point and a minus sign, for titles; with a power
    of ten if it is very large, a dash if it is not finite."""
    if not abs(value) < LARGE:
        return significant(value)
    return f"{np.round(value, places) + 0.0:.{places}f}".replace("-", "\N{MINUS SIGN}")


def number(value: float, digits: int = 3, grouped: bool = True) -> str:
    """Return `value` to `digits` significant digits, with a true minus sign.

    A number that is not finite is a dash. If `grouped`, a number below a million with more digits
    than that before its point is written out: 190 and not 1.9e+02, 12,300 and not 1.23e+04.
    """
    if not math.isfinite(value):
        return NOT_A_NUMBER
    rounded = float(f"{value:.{digits}g}")
    if grouped and 10**digits <= abs(rounded) < 1e6:
        text = f"{rounded:,.0f}"
    else:
        text = f"{value:.{digits}g}"
    return text.replace("-", "\N{MINUS SIGN}")


def percent(share: float) -> str:
    """Return a share as a title shows it, with as many digits as it needs: "93%", "0.03%"."""
    if not math.isfinite(share):
        return NOT_A_NUMBER
    return f"{100 * share:.2g}%" if abs(share) < 0.1 else f"{100 * share:.0f}%"


def power_of_ten(exponent: int) -> str:
    """Return a power of ten as text: 10⁻³."""
    return "10" + str(exponent).translate(_RAISED)


def unit_of(values: np.ndarray) -> int:
    """Return the exponent of the power of ten in units of which `values` are short to write.

    It is 0 for numbers of usual size, and for numbers so different that no unit suits all.
    """
    sizes = np.abs(values[np.isfinite(values) & (values != 0)])
    if not len(sizes) or 0.01 <= sizes.max() < LARGE:
        return 0
    unit = 3 * int(np.floor(np.log10(sizes.max()) / 3))
    return unit if unit > -300 and sizes.min() >= 10.0 ** (unit - 3) else 0
