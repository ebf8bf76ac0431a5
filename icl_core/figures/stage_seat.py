"""A figure in a seat of the stage: small margins and type, the names of its lines in rows of small
type above the plot."""

import re
from collections.abc import Sequence
from typing import Any

from icl_core.contract.figure import Figure, Trace
from icl_core.figures.series import EDGE
from icl_core.figures.style import COLOURS, INK, TICKS, note

# Pixels of width that the names may take: in a seat of three in a row on a screen of 1280 pixels,
# in one of two in a row, which is narrower on a phone, and in one as wide as two.
THIRD, HALF, WIDE = 280, 340, 560
# With one row of names and two lines under it a plot has 140 pixels of height in the lowest seat.
MARGIN = {"l": 46, "r": 12, "t": 8}
TITLE = TICKS + 1  # pixels of the type of axis titles
ROW = 17  # pixels of height of a row of names, and of a line under the plot
ABOVE = 4  # pixels between the plot and the names
LEFT = 40  # pixels by which the names begin left of the plot
BETWEEN = "   "  # between two names
# Pixels of the width of a character, a little more than it has in the page's own type.
SPACE, SIGN, CAPITAL, SMALL = 2.7, 7.9, 7.6, 6.2
KEY = "key"  # the name of the annotation that holds the names

# By plotly's name of a dash: a line alone, and a line before a symbol.
LINES = {
    "solid": ("━━", "━"),
    "dash": ("╸╸", "╸"),
    "longdash": ("━╸", "╸"),
    "dot": ("<b>····</b>", "<b>··</b>"),
    "dashdot": ("╸<b>·</b>╸", "╸<b>·</b>"),
}
SYMBOLS = {
    "circle": "●",
    "circle-open": "○",
    "square": "■",
    "square-open": "□",
    "diamond": "◆",
    "diamond-open": "◇",
    "triangle-up": "▲",
    "triangle-down": "▼",
    "cross": "✚",
    "x": "✖",
    "star": "★",
    "star-open": "☆",
    "x-open": "✕",
    "hexagon": "⬢",
    "line-ew-open": "━",
}
SEED = re.compile(r"seed \d+$")


def seated(figure: Figure, width: int = THIRD, above: int = 0) -> Figure:
    """Give a figure the margins, the type and the names of a seat of the stage, and return it.

    The legend becomes a key: rows of text above the plot, which take half of the height and a third
    of the width that plotly's legend takes. It has an entry for each trace that the legend would
    show, and the legend's title before them.

    width   pixels that a row of names may take, if the seat is not one of three in a row
    above   pixels of what stands above the plot already, such as the labels of marks
    """
    rows = _rows(_entries(figure), width)
    top = above + (ROW * len(rows) + ABOVE if rows else 0)
    below = 0
    for name, axis in figure.layout.items():
        if name.startswith(("xaxis", "yaxis")):
            figure.layout[name] = _small(axis)
        if name.startswith("xaxis"):
            # plotly's own margin is larger than needed, and turned labels would leave it
            figure.layout[name] |= {"automargin": False, "tickangle": 0}
            below = max(below, _room_below(figure, axis))
    margin = MARGIN | {"t": max(MARGIN["t"], top), "b": below}
    figure.update_layout(showlegend=False, margin=margin)
    if not rows:
        return figure
    lines = "<br>".join(BETWEEN.join(row) for row in rows)
    where = {"xanchor": "left", "xshift": -LEFT, "yanchor": "bottom", "yshift": above + 2}
    font = {"size": TICKS}
    return figure.add_annotation(**note(lines, 0, 1, name=KEY, align="left", font=font, **where))


def narrowed(figure: Figure, width: int) -> Figure:
    """Return a copy of a figure whose names take rows of at most `width` pixels; the figure itself
    if it has none, as it is in no seat of the stage."""
    notes = figure.layout.get("annotations", ())
    key = next((note for note in notes if note.get("name") == KEY), None)
    if key is None:
        return figure
    lines = key["text"].split("<br>")
    rows = _rows([entry for line in lines for entry in line.split(BETWEEN)], width)
    text = "<br>".join(BETWEEN.join(row) for row in rows)
    top = figure.layout["margin"]["t"] + ROW * (len(rows) - len(lines))
    changed = [note | {"text": text} if note is key else note for note in notes]
    return Figure(figure.data, figure.layout).update_layout(annotations=changed, margin={"t": top})


def _room_below(figure: Figure, axis: dict[str, Any]) -> int:
    """Return how many pixels the ticks and the title of an x axis take."""
    bars = [trace["x"] for trace in figure.data if trace["type"] == "bar"]
    texts = axis.get("ticktext", [text for labels in bars for text in labels])
    ticks = max((1 + str(text).count("<br>") for text in texts), default=1)
    lines = ticks + bool(axis.get("title", {}).get("text"))
    return ROW * lines + (3 if ticks == 1 else 6)


def width_of(text: str) -> float:
    """Return about how many pixels wide a text of size TICKS is, without its tags."""
    return sum(map(_width, re.sub("<[^>]*>", "", text)))


def _width(char: str) -> float:
    if char in " ·.,:":
        return SPACE
    if ord(char) > 0x2400:  # lines and symbols
        return SIGN
    return CAPITAL if char.isupper() else SMALL


def _small(axis: dict[str, Any]) -> dict[str, Any]:
    """Return an axis with a small title and "(log)" for "(log scale)"; without an empty title, for
    which plotly would keep room."""
    text = axis.get("title", {}).get("text", "").replace(" (log scale)", " (log)")
    if not text:
        return {key: value for key, value in axis.items() if key != "title"}
    return axis | {"title": {"text": text, "font": {"size": TITLE}, "standoff": 2}}


def _entries(figure: Figure) -> list[str]:
    """Return the names of the traces that a legend would show, each after its sign."""
    if figure.layout.get("showlegend") is False:
        return []
    shown = [trace for trace in figure.data if trace.get("name") and trace.get("showlegend", True)]
    shown.sort(key=lambda trace: trace.get("legendrank", 1000))
    if len(shown) < 2 and not figure.layout.get("showlegend"):
        return []
    entries = dict.fromkeys(f"{_sign(trace)} {_name(trace)}" for trace in shown)
    title = figure.layout.get("legend", {}).get("title", {}).get("text", "").strip()
    return [*([title] if title else []), *entries]


def _name(trace: Trace) -> str:
    """Return a trace's name; single seeds share one."""
    return SEED.sub("single seeds", trace["name"])


def _sign(trace: Trace) -> str:
    """Return the line, the symbol or the block that stands for a trace, in its colour."""
    marker = trace.get("marker", {})
    line = trace.get("line", {})
    mode = trace.get("mode", "lines")
    if trace["type"] == "bar":
        sign = "■"
        colour = marker.get("color", INK)
    else:
        has_line = "lines" in mode and line.get("width", 1) > 0
        symbol = _first(marker.get("symbol", "circle")) if "markers" in mode else ""
        filled = "■" if trace.get("fill") and not has_line else ""
        dash = LINES[line.get("dash", "solid")][bool(symbol)] if has_line else ""
        sign = dash + SYMBOLS.get(symbol, "") + filled
        own = line.get("color", INK)
        colour = own if has_line else marker.get("color", own)
    colour = _first(colour)
    edge = f";stroke:{EDGE};stroke-width:.7px" if colour == COLOURS["nesterov"] else ""
    return f'<span style="color:{colour}{edge}">{sign}</span>'


def _first(value: Any) -> Any:
    """Return what all points have, or what the first one has."""
    return value if isinstance(value, str) or not len(value) else value[0]


def _rows(entries: Sequence[str], width: int) -> list[list[str]]:
    """Return the entries in rows of at most `width` pixels."""
    rows: list[list[str]] = []
    used = 0.0
    for entry in entries:
        pixels = width_of(entry)
        if rows and used + width_of(BETWEEN) + pixels <= width:
            rows[-1].append(entry)
            used += width_of(BETWEEN) + pixels
        else:
            rows.append([entry])
            used = pixels
    return rows
