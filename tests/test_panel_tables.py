"""The numbers of a panel as files: read back, they are those of the figure, with their labels."""

import csv
import io
import re
import zipfile

import numpy as np
import pandas as pd
from cells import shipped

from icl_core import figures, registry
from icl_core.contract.experiment import Panel
from icl_core.contract.settings_io import file_stem, setting_line
from icl_core.figures import Curve
from icl_core.figures.heatmaps import MOST_CELLS, every_cell
from icl_core.figures.panel_tables import csv_bytes, npz_bytes, tables

RANDOM = np.random.default_rng(0)
AWKWARD = ['"', ",", ";", "=1+1", "<b>", "é", " ", "\\"]


def loaded(content: bytes) -> dict[str, np.ndarray]:
    """The arrays of an NPZ file, read without pickle."""
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        return dict(archive)


def test_a_map_comes_back_with_every_label_and_every_digit():
    matrix = RANDOM.normal(size=(8, 8)).astype(np.float32)
    matrix[0, 1] = np.nan
    labels = figures.visible_characters(AWKWARD)
    figure = figures.small_map(matrix, (labels, labels), ("query", "key; more"), "score", 2)
    (table,) = tables(Panel("title", "caption", figure))
    rows = list(csv.reader(io.StringIO(csv_bytes([table], "stem").decode("utf-8"))))
    assert rows[0] == ["query / key", *labels] and [row[0] for row in rows[1:]] == labels
    assert rows[1][2] == "" and csv_bytes([table], "stem").startswith(b'"query / key","""",')
    read_back = np.array([[float(cell or "nan") for cell in row[1:]] for row in rows[1:]])
    np.testing.assert_array_equal(read_back.astype(np.float32), matrix)
    arrays = loaded(npz_bytes([table], "birth-induction"))
    np.testing.assert_array_equal(arrays["map"], matrix)
    assert list(arrays["map.rows"]) == list(arrays["map.columns"]) == labels
    assert arrays["about"] == "birth-induction"


def test_the_files_of_a_large_map_hold_every_cell_and_the_browsers_holds_means():
    matrix = RANDOM.normal(size=(3 * MOST_CELLS, 3 * MOST_CELLS))
    arguments = (None, None), ("row", "column"), "score", 2

    def shapes() -> set[tuple[int, ...]]:
        panel = Panel("", "", figures.small_map(matrix, *arguments))
        return {array.shape for array in tables(panel)[0].arrays.values() if array.ndim == 2}

    assert shapes() == {(MOST_CELLS, MOST_CELLS)}
    with every_cell():
        assert shapes() == {matrix.shape}
    assert shapes() == {(MOST_CELLS, MOST_CELLS)}


def test_maps_side_by_side_are_an_archive_of_tables_named_by_their_titles():
    matrices = {"A₁ · 95% right": np.eye(3), "A₁ · 97% right": 2 * np.eye(3), "loss": np.eye(3)}
    figure = figures.small_maps(matrices, (None, None), ("row", "column"), "weight", 2)
    panel_tables = tables(Panel("", "", figure, data=pd.DataFrame({"loss": [0.5]})))
    names = ["data", "A₁", "A₁ 2", "loss"]
    assert [table.name for table in panel_tables] == names
    with zipfile.ZipFile(io.BytesIO(csv_bytes(panel_tables, "stem"))) as archive:
        assert archive.namelist() == [f"stem-{name.replace(' ', '_')}.csv" for name in names]
    arrays = loaded(npz_bytes(panel_tables))
    assert arrays["A₁_2"][1, 1] == 2 and arrays["data.loss"] == [0.5]


def test_lines_have_a_column_each_where_they_share_their_x_and_a_row_a_point_where_not():
    steps = np.arange(3)
    both = [Curve("one", steps, RANDOM.normal(size=(4, 3))), Curve("two", steps, [1.0, 2.0, 4.0])]
    figure = figures.curves(both, "step", "loss", log_y=True, at=1)
    (table,) = tables(Panel("", "", figure))
    assert list(table.frame.columns) == ["step", "one", "two"]  # no band, no marker
    np.testing.assert_array_equal(table.frame["one"], both[0].mean())
    apart = [both[1], Curve("three", [0, 9], [5.0, 6.0])]
    (table,) = tables(Panel("", "", figures.curves(apart, "step", "loss", log_y=True)))
    assert table.frame.to_dict("list") == {
        "line": ["two", "two", "two", "three", "three"],
        "step": [0, 1, 2, 0, 9],
        "loss": [1, 2, 4, 5, 6],
    }


def test_a_map_with_outlines_has_no_table_of_lines():
    """The outlines' names stand in the legend as traces without a point."""
    figure = figures.attention(np.eye(4), "abab", [(3, 2, "correct output")])
    assert any(trace["type"] == "scatter" for trace in figure.data)
    assert [table.name for table in tables(Panel("", "", figure))] == ["map"]
    empty = figures.curves([Curve("one", [], [])], "step", "loss")
    assert tables(Panel("", "", empty)) == []


def test_texts_and_gaps_of_a_table_need_no_pickle():
    frame = pd.DataFrame({"model": ["S5", None], "loss": [0.5, np.nan], "kept": [True, False]})
    (table,) = tables(Panel("", "", table=frame))
    arrays = loaded(npz_bytes([table]))
    assert list(arrays["data.model"]) == ["S5", ""] and arrays["data.kept"].dtype == bool
    assert csv_bytes([table], "").decode().splitlines()[2] == ",,False"


def parsed(text: str) -> list[list[tuple[str, bool]]]:
    """The cells of a CSV by its rules, each with whether it is in quotes: readers that tell quoted
    from empty take a column of numbers with one quoted cell for texts."""
    cell = re.compile(r'("(?:[^"]|"")*"|[^",\n]*)(,|\n)')
    rows: list[list[tuple[str, bool]]] = [[]]
    for content, end in cell.findall(text):
        rows[-1].append((content.strip('"'), content.startswith('"')))
        if end == "\n":
            rows.append([])
    return rows[:-1]


def test_a_column_of_numbers_has_numbers_and_empty_cells_in_no_quotes():
    run = shipped("birth.induction", "fastest")
    experiment = registry.experiment("birth.induction")
    attention = experiment.drawings[0].draw(run, experiment.view())
    mixed = pd.DataFrame(
        {
            'label, "quoted"': ["a,b", 'c"d', "e\nf", None],
            "path": [("1", "2"), (), ("3",), None],
            "count": pd.Series([1, None, 3, 10**6], dtype=object),
            "rate": np.array([0.1, np.nan, 1e-7, 1e9], dtype=np.float32),
            "known": [True, False, True, False],
        }
    )
    gaps = 0
    for table in (*tables(attention), *tables(Panel("", "", table=mixed))):
        text = table.csv().decode()
        rows = list(csv.reader(io.StringIO(text)))
        quotes = [[is_quoted for _, is_quoted in row] for row in parsed(text)]
        assert rows[0] == list(table.frame.columns) and all(quotes[0])
        assert {len(row) for row in rows} == {table.frame.shape[1]}
        for index in range(table.frame.shape[1]):
            column = table.frame.iloc[:, index]
            for value, row, quoted in zip(column, rows[1:], quotes[1:], strict=True):
                if pd.isna(value):
                    assert (row[index], quoted[index]) == ("", False)
                    gaps += 1
                elif isinstance(value, float):
                    assert not quoted[index]
                    assert np.float32(row[index]) == np.float32(value)
                else:
                    assert row[index] == str(value)
                    assert quoted[index] == (not isinstance(value, int | np.bool_))
    assert gaps > 20


def test_every_map_of_a_run_gives_the_numbers_that_it_draws():
    run = shipped("birth.induction", "fastest")
    experiment = registry.experiment("birth.induction")
    for drawing in experiment.drawings:
        if drawing.name not in ("first", "w_k2"):
            continue
        figure = drawing.draw(run, experiment.view(snapshot=3)).figure
        assert figure is not None
        drawn = [trace["z"] for trace in figure.data if trace["type"] == "heatmap"]
        arrays = loaded(npz_bytes(tables(Panel("", "", figure))))
        stored = [array for array in arrays.values() if array.ndim == 2]
        assert len(drawn) == len(stored) > 0
        for expected, actual in zip(drawn, stored, strict=True):
            np.testing.assert_array_equal(actual, expected)


def test_a_setting_is_named_by_what_it_changes():
    experiment = registry.experiment("birth.induction")
    base = experiment.presets[0].config
    changed = experiment.config(**{**vars(base), "d": 96, "triggers": "fixed"})
    line = setting_line(changed, base)
    assert "d = 96" in line and "triggers = the K most frequent characters" in line, line
    stem = file_stem("birth.induction", changed, base, "w k2/..", 300)
    assert stem.startswith("birth-induction-w_k2-step300-") and "d96" in stem
    assert set(stem) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.+")
