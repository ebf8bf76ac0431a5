"""The symbols of a paper with their meanings, and sentences in which they are marked, as HTML."""

import re
from functools import cache
from html import escape

from icl_core import registry

_SEPARATOR = re.compile(r", (?![^(]*\))")  # a comma that is not inside brackets


@cache
def meanings(paper: str) -> dict[str, str]:
    """Return the meaning of each symbol of a paper, the longest symbols first."""
    by_symbol: dict[str, str] = {}
    for _, symbols, meaning in registry.papers()[paper].glossary:
        for symbol in _SEPARATOR.split(symbols):
            by_symbol[symbol.strip()] = meaning
    return dict(sorted(by_symbol.items(), key=lambda row: -len(row[0])))


def marked(text: str, meanings: dict[str, str]) -> str:
    """Return a sentence as HTML in which the first occurrence of each symbol can take the
    keyboard's focus and is labelled with its meaning."""
    if not meanings:
        return escape(text, quote=False)
    symbols = re.compile("|".join(map(_whole_symbol, meanings)))
    marked_symbols: set[str] = set()
    pieces: list[str] = []
    start = 0
    for match in symbols.finditer(text):
        symbol = match[0]
        if symbol in marked_symbols:
            continue
        marked_symbols.add(symbol)
        label = escape(f"{symbol}: {meanings[symbol]}")
        pieces.append(escape(text[start : match.start()], quote=False))
        pieces.append(
            '<span class="word" tabindex="0" role="note" '
            f'aria-label="{label}">{escape(symbol)}</span>'
        )
        start = match.end()
    pieces.append(escape(text[start:], quote=False))
    return "".join(pieces)


def _whole_symbol(symbol: str) -> str:
    """Return a pattern for a symbol by itself: no D of 1-D, no Q under a tilde."""
    return rf"(?<![\w-]){re.escape(symbol)}(?![\w\u0300-\u036f-])"
