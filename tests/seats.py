"""Panels of the stage in their seats: room for the plot, names that fit and stand once a row. What
needs a browser is in browser/."""

from collections.abc import Sequence

from icl_core.contract.experiment import Drawing
from icl_core.contract.figure import Figure
from icl_core.figures.stage_seat import BETWEEN, KEY, ROW, WIDE, width_of
from icl_core.figures.style import TICKS

LOW = 230  # pixels of the height of a seat in two rows
TALL = 413  # and in one
NARROW = 283  # pixels of the width of a seat of three in a row on 1280 pixels, without its edge
LEAST = 140  # pixels of the height of a plot
SeatedPanel = tuple[Drawing, Figure]


def rows_of(figure: Figure) -> list[str]:
    """The rows of names above a plot."""
    notes = figure.layout.get("annotations", ())
    return [row for note in notes if note.get("name") == KEY for row in note["text"].split("<br>")]


def names_of(figure: Figure) -> set[str]:
    """The names above a plot, with their signs."""
    return {name for row in rows_of(figure) for name in row.split(BETWEEN)}


def in_rows(columns: int, panels: Sequence[SeatedPanel]) -> list[list[Figure]]:
    """The figures row by row, as the page lays them out."""
    rows: list[list[Figure]] = [[]]
    used = 0
    for drawing, figure in panels:
        width = 1 + drawing.wide
        if used + width > columns:
            rows.append([])
            used = 0
        rows[-1].append(figure)
        used += width
    return rows


def check_seats(panels: Sequence[SeatedPanel]) -> None:
    """Check the panels of a stage, in their order."""
    seats = sum(1 + drawing.wide for drawing, _ in panels)
    rows = 1 if seats <= 3 else 2
    columns = -(-seats // rows)
    for drawing, figure in panels:
        _check_seat(drawing, figure, TALL if rows == 1 else LOW, columns)
    for row in in_rows(columns, panels):
        named = [names_of(figure) for figure in row if names_of(figure)]
        for index, names in enumerate(named):
            for others in named[:index]:
                assert not names <= others and not others <= names, names


def _check_seat(drawing: Drawing, figure: Figure, height: int, columns: int) -> None:
    margin = figure.layout["margin"]
    plot = height - margin["t"] - margin["b"]
    assert plot >= LEAST, drawing.name
    assert figure.layout.get("showlegend") is False, drawing.name
    assert ROW * len(rows_of(figure)) <= plot / 3, drawing.name
    if columns == 3:
        widest = max(map(width_of, rows_of(figure)), default=0)
        assert widest <= (WIDE if drawing.wide else NARROW), drawing.name
    for name, axis in figure.layout.items():
        if name.startswith("yaxis"):
            title = axis.get("title", {}).get("text", "")
            assert width_of(title) * (TICKS + 1) / TICKS <= plot + 8, title
        if name.startswith(("xaxis", "yaxis")) and axis.get("type") == "log":
            assert axis["ticktext"], drawing.name  # plotly's own are larger than all other ticks
