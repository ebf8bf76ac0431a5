"""The JavaScript and CSS (`browser/`) that dashboard, plain page and notebook share."""

from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parent / "browser"
_FILM = ("plotly_parts.js", "film.js", "transport.js")


@cache
def read(name: str) -> str:
    """Return the text of a file."""
    return (_FOLDER / name).read_text(encoding="utf-8")


def film_script() -> str:
    """Return the script of a clock: its bar, its motion, and how it brings a chart to a frame."""
    return "".join(read(name) for name in _FILM)
