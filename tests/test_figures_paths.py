"""Paths stay over exact contour lines in a picture that no explosion moves; maps share
one scale."""

import json
import re

import numpy as np
import plotly.graph_objects as go
import pytest

from icl_core import figures
from icl_core.figures import Bowl, Track
from icl_core.figures.heatmaps import is_dark_cell, maps_a_row
from icl_core.figures.style import GRID, INK, LINE, NEGATIVE_TO_POSITIVE, PAPER, TO_DARK

TURN = np.array([[0.8, -0.6], [0.6, 0.8]])
TARGET = (1.2, -2.0)
BOWL = Bowl(TURN @ np.diag([1, 1 / 16]) @ TURN.T, TARGET)
VALLEY = Bowl(TURN @ np.diag([1, 0]) @ TURN.T, TARGET)
RANDOM = np.random.default_rng(0)


def track(kind: str, x: list[float], y: list[float], bowl: Bowl = BOWL) -> Track:
    return Track(kind, x, y, kind, bowl.loss(np.stack([x, y], -1)))


def descended(
    rate: float, count: int = 8, kind: str = "gradient descent", bowl: Bowl = BOWL
) -> Track:
    """Gradient descent from the origin: it explodes where rate is over 2."""
    points = [np.zeros(2)]
    for _ in range(count):
        points.append(points[-1] - rate * bowl.curvature @ (points[-1] - TARGET))
    return track(kind, *np.array(points).T, bowl)


def paths_figure(*tracks: Track, bowl: Bowl = BOWL, at: int = 8) -> go.Figure:
    return figures.paths(tracks, bowl, "w1", "w2", at)


def ranges(figure: go.Figure) -> np.ndarray:
    return np.array([figure.plotly().layout.xaxis.range, figure.plotly().layout.yaxis.range])


def traces_of(figure: go.Figure, name: str) -> list:
    return [trace for trace in figure.plotly().data if trace.name == name]


def contour(figure: go.Figure) -> np.ndarray:
    """The contour lines' points, [halves, points, 2]."""
    trace = figure.plotly().data[0]
    pieces = np.array(
        [[x, y] for x, y in zip(trace.x, trace.y, strict=True) if x is not None], dtype=float
    )
    halves = sum(x is None for x in trace.x)
    return pieces.reshape(halves, -1, 2)


def test_contour_points_lie_on_their_level_and_levels_grow():
    lines = contour(paths_figure(descended(1.8)))
    losses = BOWL.loss(lines)
    levels = losses.mean(1)
    assert np.allclose(losses, levels[:, None], rtol=1e-6, atol=0)
    assert np.allclose(levels[::2], levels[1::2]) and 6 <= len(levels) / 2 <= 10
    ratios = levels[2::2] / levels[:-2:2]
    assert np.allclose(ratios, ratios[0]) and ratios[0] > 1.5


@pytest.mark.parametrize(
    "curvature", [np.diag([1, 0]), VALLEY.curvature, np.diag([1, 1e-9]), np.diag([1e-14, 3])]
)
@pytest.mark.parametrize("centre", [TARGET, (300.0, -50.0)])
def test_a_valley_without_an_end_gives_finite_lines_on_their_level(curvature, centre):
    bowl = Bowl(curvature, centre)
    lines = contour(paths_figure(descended(0.5, bowl=bowl), bowl=bowl))
    losses = bowl.loss(lines)
    assert lines.size and np.isfinite(lines).all()
    assert np.allclose(losses, losses.mean(1, keepdims=True), rtol=1e-6, atol=0)


def test_a_flat_plane_has_no_contour_lines_and_still_draws():
    figure = paths_figure(track("trained", [0, 1], [0, -1]), bowl=Bowl(np.zeros((2, 2)), TARGET))
    assert contour_is_empty(figure) and np.isfinite(ranges(figure)).all()


def contour_is_empty(figure: go.Figure) -> bool:
    return all(value is None for value in figure.plotly().data[0].x or ())


def test_a_curvature_that_is_no_number_is_refused():
    with pytest.raises(ValueError, match="finite"):
        Bowl([[1, np.nan], [0, 1]], TARGET)


def test_start_and_target_are_inside_and_the_axes_have_one_scale():
    figure = paths_figure(descended(1.8), bowl=Bowl(BOWL.curvature, (3.0, 1.0)))
    for point in ((0, 0), (3, 1)):
        assert ((ranges(figure)[:, 0] < point) & (point < ranges(figure)[:, 1])).all()
    assert figure.plotly().layout.yaxis.scaleanchor == "x"
    assert figure.plotly().layout.yaxis.scaleratio == 1


def test_an_explosion_leaves_the_range_as_it_is_and_sends_no_huge_numbers():
    quiet = descended(1.8)
    bang = track("momentum", [0, 40, -1e5, 1e200, np.inf], [0, 40, 1e5, 0, np.nan])
    figure = paths_figure(quiet, bang)
    assert np.array_equal(ranges(figure), ranges(paths_figure(quiet)))
    assert len(traces_of(figure, "momentum")[0].x) == 2
    assert len(traces_of(figure, quiet.name)[0].x) == 9
    json.loads(figure.plotly().to_json(), parse_constant=lambda name: pytest.fail(name))


def test_an_overshoot_near_the_target_widens_the_range():
    overshoot = track("momentum", [0, 4], [0, -2])
    assert ranges(paths_figure(overshoot))[0, 1] > 4


def test_a_start_on_the_target_draws():
    low, high = ranges(paths_figure(track("trained", [TARGET[0]], [TARGET[1]]))).T
    assert (low < TARGET).all() and (high > TARGET).all()


def test_what_comes_after_the_layer_shown_is_faint():
    figure = paths_figure(descended(1.8), at=3)
    faint, full = traces_of(figure, "gradient descent")
    assert faint.opacity < 0.5 and full.opacity == 1
    assert len(full.x) == 4 and len(faint.x) == 6 and full.x[-1] == faint.x[0]
    assert (faint.showlegend, full.showlegend) == (False, True)
    assert np.argmax(full.marker.size) == 3
    assert np.array_equal(ranges(figure), ranges(paths_figure(descended(1.8))))


@pytest.mark.parametrize("at", [8, 99])
def test_a_track_that_is_over_is_full(at):
    (only,) = traces_of(paths_figure(descended(1.8), at=at), "gradient descent")
    assert only.opacity == 1 and len(only.x) == 9


def test_the_pointer_names_method_layers_and_loss():
    path = Track("trained", [0, 1], [0, 1], "trained", [5.0, 0.25])
    texts = traces_of(paths_figure(path, at=1), "trained")[0].text
    assert list(texts) == ["trained, after 0 layers, loss 5", "trained, after 1 layer, loss 0.25"]


def test_start_is_drawn_once_and_yellow_has_an_edge():
    figure = paths_figure(descended(1.0), descended(1.8, kind="nesterov"))
    assert len(traces_of(figure, "start")) == 1
    assert len([trace for trace in figure.plotly().data if trace.legendgroup == "nesterov"]) == 2


def triangles(count: int = 4) -> list[np.ndarray]:
    lower = np.tril(np.ones((4, 4), bool))
    return [np.where(lower, RANDOM.normal(size=(4, 4)), np.nan) for _ in range(count)]


def test_maps_share_one_symmetric_scale_and_keep_blanks():
    matrices = triangles()
    figure = figures.maps(list("abcd"), matrices, None, None, "coefficient", written=True)
    heat = [trace for trace in figure.plotly().data if trace.type == "heatmap"]
    assert {trace.coloraxis for trace in heat} == {"coloraxis"} and len(heat) == 4
    scale = figure.plotly().layout.coloraxis
    assert scale.cmax == -scale.cmin == pytest.approx(figures.largest_magnitude(*matrices))
    assert all(np.isnan(trace.z[np.triu_indices(4, 1)]).all() for trace in heat)
    assert all(len(trace.text) == 10 for trace in figure.plotly().data if trace.type == "scatter")


def test_maps_write_every_number_over_its_cell():
    figure = figures.maps(
        ["a"], [[[1.0, -0.001], [np.nan, -2.5]]], list("pq"), list("rs"), "weight", written=True
    )
    numbers = figure.plotly().data[1]
    written = list(zip(numbers.y, numbers.x, numbers.text, strict=True))
    assert written == [("p", "r", "1.00"), ("p", "s", "0.00"), ("q", "s", "−2.50")]


def luminance(colour: np.ndarray) -> float:
    return float(
        np.where(colour <= 0.03928, colour / 12.92, ((colour + 0.055) / 1.055) ** 2.4)
        @ [0.2126, 0.7152, 0.0722]
    )


@pytest.mark.parametrize("theme", [{}, TO_DARK])
def test_numbers_are_legible_on_every_cell_in_both_themes(theme):
    def parts(name: str) -> np.ndarray:
        name = theme.get(name, name)
        return np.array([int(name[place : place + 2], 16) for place in (1, 3, 5)]) / 255

    scale = np.array([parts(name) for name in NEGATIVE_TO_POSITIVE])
    for value in np.linspace(-1, 1, 201):
        cell = np.array([np.interp(value, np.linspace(-1, 1, 7), channel) for channel in scale.T])
        text = parts(PAPER if is_dark_cell(np.array(value), 1.0) else LINE)
        low, high = sorted([luminance(cell), luminance(text)])
        assert (high + 0.05) / (low + 0.05) > 3.4


def test_maps_of_several_sizes_stay_square_and_grow_by_rows():
    matrices = [np.eye(size) for size in (2, 3, 2, 3, 2)]
    figure = figures.maps(list("abcde"), matrices, None, None, "weight", columns=3).plotly()
    assert [list(trace.y) for trace in figure.data[:2]] == [["1", "2"], ["1", "2", "3"]]
    row = figures.maps(list("abc"), matrices[:3], None, None, "weight", columns=3)
    assert row.plotly().layout.height < figure.layout.height
    for end in ("", "2", "3", "4", "5"):
        assert figure.layout[f"yaxis{end}"].scaleanchor == f"x{end}"


def test_wide_numbers_take_fewer_columns():
    assert maps_a_row(4, 4, 0) == maps_a_row(4, 4, 4) == 4
    assert maps_a_row(4, 4, 10) < maps_a_row(4, 4, 5) < 4 and maps_a_row(1, 4, 3) == 1


@pytest.mark.parametrize("matrices", [[], [np.zeros((11, 2))]])
def test_maps_refuse_nothing_and_numbers_without_room(matrices):
    with pytest.raises(ValueError, match="cells"):
        figures.maps(["a"] * len(matrices), matrices, None, None, "weight", written=True)


@pytest.mark.parametrize(
    "figure",
    [
        paths_figure(
            descended(1.8),
            descended(1.0, kind="nesterov"),
            descended(0.5, kind="conjugate gradient"),
            at=2,
        ),
        figures.maps(list("abcd"), triangles(), None, None, "coefficient", written=True),
    ],
)
def test_the_dark_figure_keeps_no_light_colour(figure):
    dark = figures.themed(figure, dark=True)
    colours = set(re.findall(r"#[0-9a-fA-F]{6}", dark.plotly().to_json()))
    assert not colours & set(TO_DARK) and not colours & {INK, PAPER, GRID, LINE}
    assert figures.themed(dark, dark=False).to_dict() == figure.to_dict()
