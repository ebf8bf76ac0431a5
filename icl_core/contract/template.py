"""Texts with numbers in braces, as `words.md` holds them.

    One step gains {right:2}; with Q as printed {Q}. {layers} {layers:#layer|layers} deep.

What stands after the colon says how a value is written:

    {x}              a text as it is, a whole number as it is, any other number with 3 places
    {x:2}            with 2 places, a minus sign, and a power of ten if it is very large
    {x:~3}           with 3 significant digits, and a power of ten if it is very small or large
    {x:%}            a share in percent, with as many digits as it needs: 93%, 0.03%
    {x:.0%} {x:,}    any other format of Python's
    {x:?yes|no}      one of two texts, by whether x is true
    {x:@a|b|c}       one of several texts, by the number x, counted from 0
    {x:#layer|layers}   singular or plural: the first text where x is 1

The texts of the last three may have numbers in braces themselves. {{ and }} are braces.
"""

import math
import numbers
from collections.abc import Callable, Iterator
from string import Formatter
from typing import Any

from icl_core.contract.number_text import number_text, significant

Lookup = Callable[[str], Any]  # takes a name and returns its value
_CHOICES = "?@#"
_parse = Formatter().parse


def percent(share: float) -> str:
    """Return a share as a title shows it, with as many digits as it needs: "93%", "0.03%"."""
    if not math.isfinite(share):
        return "–"
    return f"{100 * share:.2g}%" if abs(share) < 0.1 else f"{100 * share:.0f}%"


def names_in(template: str) -> Iterator[str]:
    """Yield every name that stands in braces; `ValueError` if a brace has no other."""
    for _, name, form, _ in _parse(template):
        if name is not None:
            yield name
            if form and form[0] in _CHOICES:
                yield from names_in(form[1:])


def fill(template: str, lookup: Lookup) -> str:
    """Return the text with the value of every name. A name is looked up only where its text is
    chosen."""
    parts: list[str] = []
    for text, name, form, _ in _parse(template):
        parts.append(text)
        if name is not None:
            parts.append(_written(lookup(name), form or "", lookup))
    return "".join(parts)


def _written(value: Any, form: str, lookup: Lookup) -> str:
    """Return a value in the given form."""
    if form[:1] in _CHOICES and form:
        index = {"?": int(not value), "#": int(value != 1)}.get(form[0])
        texts = list(_alternatives(form[1:]))
        return fill(texts[int(value) if index is None else index], lookup)
    if form == "%":
        return percent(value)
    if form.startswith("~"):
        return significant(float(value), int(form[1:]))
    if form.isdigit():
        return number_text(float(value), int(form))
    if form:
        return format(value, form)
    if isinstance(value, numbers.Real) and not isinstance(value, numbers.Integral):
        return number_text(float(value))
    return str(value)


def _alternatives(form: str) -> Iterator[str]:
    """Yield the texts between the bars of a choice, but for bars within braces."""
    depth = 0
    start = 0
    for index, character in enumerate(form):
        depth += {"{": 1, "}": -1}.get(character, 0)
        if character == "|" and not depth:
            yield form[start:index]
            start = index + 1
    yield form[start:]
