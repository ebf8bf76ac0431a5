"""The texts of what several experiments draw."""

import numpy as np

from icl_core.contract.story import Example
from icl_core.contract.words import Words

WORDS = Words(__file__)


TO = "\N{NO-BREAK SPACE}↦\N{NO-BREAK SPACE}", ""  # lines break between pairs alone
# w* = (2, −1): the answer to (1, 1) is 2 − 1
EXAMPLE = Example(
    (
        ("(1,\xa00)", "x"),
        TO,
        ("2", "y"),
        ("  ", ""),
        ("(0,\xa01)", "x"),
        TO,
        ("−1", "y"),
        ("  ", ""),
        ("(1,\xa01)", "query"),
    ),
    "1",
)
EVEN = 0.005  # a share by which errors may differ and count as equal
FACTOR = 2.0  # from which on it is said how many times
HUGE = 1e6  # from which on it is not


def compared(apart: float) -> str:
    """Return how an error compares with another, of the logarithm of their ratio: "3.6 times
    smaller than", "2% larger than", "33 times"."""
    factor = float(np.exp(abs(apart)))
    word = "smaller" if apart < 0 else "larger"
    if factor < 1 + EVEN:
        return "equal to"
    if factor < FACTOR:
        return f"{factor - 1 if apart > 0 else 1 - 1 / factor:.0%} {word} than"
    return f"{times(factor)} smaller than" if apart < 0 else times(factor)


def above(apart: float) -> str:
    """Return the same beside a bound: "2% above", "33 times that of"."""
    words = compared(apart)
    for word, short in (("larger than", "above"), ("smaller than", "below")):
        words = words.replace(word, short)
    return words if words.endswith(("above", "below")) else f"{words} that of"


def times(factor: float) -> str:
    """Return a factor in words, with two digits: "3.6 times", "290 times"; where it is huge, no
    digits."""
    if factor >= HUGE:
        return "more than a million times"
    return f"{factor:.1f} times" if factor < 10 else f"{float(f'{factor:.2g}'):,.0f} times"
