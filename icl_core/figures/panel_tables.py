"""The numbers of a panel as tables, for reading and for files: CSV, and NPZ for numpy."""

import io
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Number
from typing import Any

import numpy as np
import pandas as pd

from icl_core.contract.experiment import Panel
from icl_core.contract.figure import Figure, Trace
from icl_core.contract.settings_io import file_part
from icl_core.figures.character_labels import MARKS, seen, unisolated

DATA, LINES, MAP = "data", "lines", "map"  # names of tables whose figure gives them none
NEAR = 0.02  # how far the title of a map may be from the middle of its upper edge, in shares
_TAG = re.compile(r"<[^>]*>")
_MEASURED = re.compile(r" · |: |, \w+ = ")  # in a title, before what was measured at this step


@dataclass(frozen=True, eq=False)
class Table:
    """One table of a panel.

    name    what it holds: the title of a map, or "data" or "lines"; names differ within a panel
    frame   its rows with named columns. A map's first column holds the labels of its rows, and the
            other columns are named by its columns' labels
    arrays  the same numbers as arrays by name: a map's as name [rows, columns], name.rows [rows]
            and name.columns [columns]; of other tables each column
    """

    name: str
    frame: pd.DataFrame
    arrays: Mapping[str, np.ndarray]

    def csv(self) -> bytes:
        """Return the table as CSV: UTF-8, a header, texts in quotes, numbers in full precision,
        nothing between the commas where there is no value."""
        columns = [_csv_cells(column) for _, column in self.frame.items()]
        rows = [map(_quoted, self.frame.columns), *zip(*columns, strict=True)]
        return "".join(",".join(row) + "\n" for row in rows).encode()


def tables(panel: Panel) -> list[Table]:
    """Return the panel's table, then its maps with the values that they show.

    The table is the one that the panel gives (`data` or `table`). If it gives none, it holds the
    named lines, points and bars of the figure.
    """
    frame = panel.data if panel.data is not None else panel.table
    results = [_of_frame(DATA, frame)] if frame is not None else []
    if panel.figure is not None:
        lines = None if results else _lines(panel.figure)
        if lines is not None:
            results.append(_of_frame(LINES, lines))
        results += _maps(panel.figure)
    return results


def csv_bytes(panel_tables: Sequence[Table], stem: str) -> bytes:
    """Return a file of the tables: CSV or, if there are several, an archive (zip) of one CSV file
    each, whose name begins with `stem`."""
    if len(panel_tables) == 1:
        return panel_tables[0].csv()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for table in panel_tables:
            archive.writestr(f"{stem}-{file_part(table.name)}.csv", table.csv())
    return buffer.getvalue()


def npz_bytes(panel_tables: Sequence[Table], about: str = "") -> bytes:
    """Return a file for `numpy.load` with all arrays of the tables, and `about` as a text.

    It holds numbers and texts only, so that it is read without pickle.
    """
    arrays = {"about": np.array(about)} if about else {}
    for table in panel_tables:
        arrays |= table.arrays
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in arrays.items():  # not `savez`, whose own arguments no map may be named
            with archive.open(f"{name}.npy", "w") as file:
                np.save(file, array)
    return buffer.getvalue()


def _csv_cells(column: pd.Series) -> list[str]:
    return [
        "" if is_gap else str(value) if isinstance(value, Number | np.bool_) else _quoted(value)
        for value, is_gap in zip(column.to_numpy(), column.isna(), strict=True)
    ]


def _quoted(value: object) -> str:
    return '"' + str(value).replace('"', '""') + '"'


def _of_frame(name: str, frame: pd.DataFrame) -> Table:
    frame = frame.replace(f"[{MARKS}]", "", regex=True).rename(
        columns=lambda title: unisolated(str(title))
    )
    arrays: dict[str, np.ndarray] = {}
    for index, column in enumerate(map(str, frame.columns)):
        key = f"{name}.{file_part(column)}"
        arrays[key if key not in arrays else f"{key}.{index + 1}"] = _array(frame.iloc[:, index])
    return Table(name, frame, arrays)


def _array(column: pd.Series) -> np.ndarray:
    """Return a column as numbers or, if it holds anything else, as texts; never as objects."""
    array = column.to_numpy()
    if array.dtype.kind in "biuf":
        return array
    return np.array(["" if pd.isna(value) else str(value) for value in column], dtype=np.str_)


def _maps(figure: Figure) -> list[Table]:
    """Return the maps of a figure, each with the title above it or, if there is none, a number."""
    traces = [trace for trace in figure.data if trace["type"] == "heatmap"]
    results: list[Table] = []
    for index, trace in enumerate(traces):
        title = _MEASURED.split(_title_above(figure, trace))[0]
        if not title:
            title = MAP if len(traces) == 1 else f"{MAP} {index + 1}"
        if any(file_part(title) == file_part(table.name) for table in results):
            title = f"{title} {index + 1}"
        results.append(_map(figure, trace, title))
    return results


def _map(figure: Figure, trace: Trace, title: str) -> Table:
    matrix = np.array(trace["z"], dtype=np.float32)  # [rows, columns]
    rows = _labels(trace, "y", matrix.shape[0])
    columns = _labels(trace, "x", matrix.shape[1])
    sides = [_axis_title(figure, trace, side) for side in ("y", "x")]
    corner = " / ".join(filter(None, sides)) or "row"
    frame = pd.DataFrame(matrix, columns=columns)
    frame.insert(0, corner, rows, allow_duplicates=True)
    key = file_part(title)
    labels = {f"{key}.rows": np.array(rows), f"{key}.columns": np.array(columns)}
    return Table(title, frame, {key: matrix} | labels)


def _labels(trace: Trace, side: str, count: int) -> list[str]:
    """Return the labels of a map's rows ("y") or columns ("x"); their positions if it has none."""
    labels = trace.get(side)
    if labels is None:
        return [str(index + 1) for index in range(count)]
    return [seen(str(label)) for label in labels]


def _lines(figure: Figure) -> pd.DataFrame | None:
    """Return the named lines, points and bars of a figure; None if it has none.

    If they share their x, it is the first column and each has a column of its own; otherwise each
    row is a point with the name of its line.
    """
    named = [trace for trace in figure.data if _has_points(trace)]
    if not named:
        return None
    x_title = _axis_title(figure, named[0], "x") or "x"
    xs = [np.asarray(trace["x"]) for trace in named]
    names = [str(trace.get("name") or "") for trace in named]
    if len(set(names)) == len(names) and all(np.array_equal(xs[0], x) for x in xs):
        columns = {
            _plain(name) or "value": trace["y"] for name, trace in zip(names, named, strict=True)
        }
        if x_title not in columns:
            return pd.DataFrame({x_title: _plain_all(xs[0]), **columns})
    parts: list[pd.DataFrame] = []
    for name, x, trace in zip(names, xs, named, strict=True):
        y_title = _axis_title(figure, trace, "y") or "y"
        y_title += " (y)" * (y_title in (x_title, "line"))
        parts.append(
            pd.DataFrame(
                {"line": [_plain(name)] * len(x), x_title: _plain_all(x), y_title: trace["y"]}
            )
        )
    return pd.concat(parts, ignore_index=True)


def _has_points(trace: Trace) -> bool:
    """Return whether a trace shows values of its own: no band, no marker of the step shown, no
    text, no entry of the legend alone."""
    is_shape = trace.get("hoverinfo") == "skip" or trace.get("fill") or trace.get("mode") == "text"
    has_both = trace.get("y") is not None and pd.notna(np.asarray(trace.get("x"))).any()
    return trace["type"] in ("scatter", "bar") and bool(has_both) and not is_shape


def _axis_title(figure: Figure, trace: Trace, side: str) -> str:
    """Return the title of a trace's axis "x" or "y"; if it has none, that of the figure's first
    axis of that side."""
    for end in (str(trace.get(f"{side}axis", side))[1:], ""):
        title = figure.layout.get(f"{side}axis{end}", {}).get("title", {})
        text = title.get("text", "") if isinstance(title, Mapping) else title
        if text:
            return _plain(text).split(";")[0].removesuffix(" (log scale)").removesuffix(" (log)")
    return ""


def _title_above(figure: Figure, trace: Trace) -> str:
    """Return the text in the middle above a map; empty if there is none."""
    ends = [str(trace.get(f"{side}axis", side))[1:] for side in ("x", "y")]
    x = figure.layout.get(f"xaxis{ends[0]}", {}).get("domain", (0, 1))
    y = figure.layout.get(f"yaxis{ends[1]}", {}).get("domain", (0, 1))
    for text in figure.layout.get("annotations", ()):
        is_above = text.get("yref") == "paper" and abs(text.get("y", -1) - y[1]) < NEAR
        is_in_middle = text.get("xref") == "paper" and abs(text.get("x", -1) - sum(x) / 2) < NEAR
        if is_above and is_in_middle and text.get("yanchor") == "bottom":
            return _plain(text["text"])
    return ""


def _plain(text: str) -> str:
    """Return a text of a figure without its tags."""
    return seen(_TAG.sub(" ", text)).strip()


def _plain_all(values: np.ndarray) -> Any:
    if values.dtype.kind in "fiub":
        return values
    return [_plain(str(value)) for value in values]
