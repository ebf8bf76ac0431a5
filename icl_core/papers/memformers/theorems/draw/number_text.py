"""How the drawings write numbers that span many powers of ten."""

HIGH = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def power(value: float) -> str:
    """Return a number in one digit and a power of ten, 3 · 10⁻¹⁵; 0 if it is none."""
    if value == 0:
        return "0"
    digit, exponent = f"{value:.0e}".split("e")
    return f"{digit}\u00a0·\u00a010{str(int(exponent)).translate(HIGH)}"
