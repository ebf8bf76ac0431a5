"""Attention maps of short and long sequences: outlines lie within their cells, labels do not
touch, and a map grows before its cells become too small."""

import re

import numpy as np
import pytest

from icl_core import figures
from icl_core.contract.figure import Figure
from icl_core.figures import Predictions
from icl_core.figures.map_grid import KINDS, Subplot, outlines

COUNTS = (10, 24, 25, 45, 48, 49, 64, 256)
LETTER = 7.9  # pixels of width of a letter of an axis's label, at most
LEAST = 9  # pixels of a cell's side


def tokens(count: int) -> list[str]:
    return [chr(97 + index % 7) for index in range(count)]


def boxes(count: int) -> list[tuple[int, int, str]]:
    return [(row, row - 1 - row % 3, KINDS[row % 3]) for row in range(4, count)]


def predictions(count: int) -> Predictions:
    every = np.ones(count, bool)
    return Predictions(tokens(count), np.full(count, 0.5), every, every)


def small(count: int) -> Figure:
    return figures.small_attention(np.eye(count), tokens(count), boxes(count), predictions(count))


def pair(count: int) -> Figure:
    return figures.attention_pair(
        np.eye(count), np.eye(count), tokens(count), boxes(count), predictions(count)
    )


def numbers(path: str, commands: str) -> list[float]:
    """The coordinates that a path names along x ("MH", before the comma) or along y ("MV")."""
    coordinates = []
    for command, text in re.findall(r"([MHV])([^MHVZ]*)", path):
        if command in commands:
            coordinates.append(float(text.split(",")[-1 if "V" in commands else 0]))
    return coordinates


@pytest.mark.parametrize("kind", KINDS)
def test_an_outline_lies_within_its_cell_and_leaves_most_of_it_visible(kind):
    (shape,) = outlines([(7, 3, kind)], 10, Subplot(2))
    assert (shape["xref"], shape["yref"], shape["name"]) == ("x2", "y2", kind)
    across, down = (numbers(shape["path"], commands) for commands in ("MH", "MV"))
    for coordinates, centre in ((across, 3), (down, 7)):
        assert max(abs(at - centre) for at in coordinates) < 0.5
        assert min(coordinates) < centre < max(coordinates)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("draw", [small, pair])
def test_lines_and_labels_are_bounded_by_the_cells(draw, count):
    figure = draw(count)
    width, _ = figure.needed
    usual = {small: 200, pair: 340}[draw]
    side = max(usual, 10 * count) if width else usual
    cell = side / count
    assert width == 0 or width > side
    assert not width or cell >= LEAST
    assert all(shape["line"]["width"] <= max(0.75, cell / 8) for shape in figure.layout["shapes"])
    maps = [trace for trace in figure.data if trace["type"] == "heatmap"]
    for trace in maps:
        end = trace.get("xaxis", "x")[1:]
        across, down = (figure.layout[f"{axis}axis{end}"] for axis in "xy")
        longest = max(len(label.strip()) for label in across["ticktext"])
        room = side if longest == 1 or draw is pair else 0.7 * side
        assert len(across["ticktext"]) * LETTER * longest <= room
        assert len(down["ticktext"]) * 12 <= side * 1.01
        assert len(down["ticktext"]) >= min(count, 8)


def test_a_map_that_fits_needs_no_room_and_a_long_one_grows_with_its_cells():
    assert [small(count).needed for count in (8, 24)] == [(0, 0), (0, 0)]
    widths, heights = zip(*(small(count).needed for count in (25, 45, 64)), strict=True)
    assert heights == (296, 496, 686) and widths == tuple(height + 98 for height in heights)
    assert pair(256).layout["height"] > 2560 and pair(34).needed == (0, 0)


def test_predictions_of_neighbouring_rows_stand_apart_in_a_long_map():
    texts = next(trace for trace in small(45).data if trace["type"] == "scatter")
    assert len(set(texts["x"])) == 2 and texts["x"][0] != texts["x"][1]
    assert set(texts["x"]) <= set(small(45).layout["xaxis"]["categoryarray"])
