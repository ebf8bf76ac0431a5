"""Numbers as people write them, where they may be of any size."""

import numpy as np

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def significant(value: float, digits: int = 3) -> str:
    """A number to some significant digits as people write it, with a power of ten where it is very
    small or large: 0.0241, 1230, 7.93·10⁻⁵."""
    rounded = float(f"{value:.{digits}g}") + 0.0  # no minus before a zero
    number, _, power = f"{rounded:.6g}".partition("e")
    return number.replace("-", "\N{MINUS SIGN}") + (f"·{power_of_ten(int(power))}" if power else "")


def power_of_ten(exponent: int) -> str:
    """10⁻³ and its like."""
    return "10" + str(exponent).translate(_RAISED)


def unit_of(values: np.ndarray) -> int:
    """The power of ten in which small numbers, or large ones, are written, so that they are short:
    0 for most, and where they spread so far that none serves all."""
    sizes = np.abs(values[np.isfinite(values) & (values != 0)])
    if not len(sizes) or 0.01 <= sizes.max() < 1e6:
        return 0
    unit = 3 * int(np.floor(np.log10(sizes.max()) / 3))
    return unit if unit > -300 and sizes.min() >= 10.0 ** (unit - 3) else 0
