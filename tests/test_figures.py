"""The figures keep their promises: shared scales, shown characters, fixed axes, small films, two
themes."""

import json
import time

import numpy as np
import pytest

from icl_core import figures
from icl_core.contract.figure import Figure, Trace
from icl_core.figures import Curve, Predictions
from icl_core.figures.frames import clock_frames
from icl_core.figures.heatmaps import block_means
from icl_core.figures.line_plots import stagger
from icl_core.figures.style import INK, PAPER, TO_DARK

ALPHABET = figures.visible_characters(
    list("\n abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.,:;!?-'&$3")
)
RANDOM = np.random.default_rng(0)


def test_characters_show_space_newline_and_tab():
    assert figures.visible_characters(["a", " ", "\n", "\t"]) == ["a", "␣", "↵", "⇥"]


def test_triple_shares_one_symmetric_scale():
    figure = figures.triple(np.eye(4) * 3, np.eye(4), -5 * np.eye(4), None, None, "score")
    assert {trace.coloraxis for trace in figure.plotly().data} == {"coloraxis"}
    assert (figure.plotly().layout.coloraxis.cmin, figure.plotly().layout.coloraxis.cmax) == (-5, 5)


def test_triple_subtracts_when_no_difference_is_given():
    figure = figures.triple(np.full((2, 2), 3.0), np.ones((2, 2)), None, None, None, "score")
    assert np.allclose(figure.plotly().data[2].z, 2)


def test_heatmap_scale_ignores_missing_values_and_never_vanishes():
    assert figures.largest_magnitude(np.array([np.nan, -2.0, np.inf])) == 2
    assert figures.largest_magnitude(np.zeros(3), np.array([np.nan])) == 1


def test_heatmap_is_single_precision_with_rows_downwards_and_square_cells():
    figure = figures.heatmap(np.zeros((3, 5)), list("abc"), list("vwxyz"), "score")
    low, high = figure.plotly().layout.yaxis.range
    assert figure.plotly().data[0].z.dtype == np.float32
    assert low > high
    assert figure.plotly().layout.yaxis.scaleanchor == "x"


def test_heatmap_thins_labels_but_names_every_row():
    figure = figures.heatmap(np.zeros((65, 65)), ALPHABET, ALPHABET, "score")
    assert len(figure.plotly().layout.xaxis.ticktext) <= 16
    names = list(figure.plotly().data[0].x)
    assert names == [figures.literal(label) for label in ALPHABET] and names[:2] == ["↵", "␣"]


def test_equal_labels_stay_apart():
    figure = figures.heatmap(np.zeros((2, 2)), ["a", "a"], None, "score")
    assert len(set(figure.plotly().data[0].y)) == 2


def test_wrong_number_of_labels_is_refused():
    with pytest.raises(ValueError, match="one for each of 3"):
        figures.heatmap(np.zeros((3, 3)), ["a"], None, "score")


@pytest.mark.parametrize("band", ["std", "minmax"])
def test_band_is_safe_from_missing_values(band):
    y = np.array([[1.0, 2, np.nan, np.nan], [3, np.nan, np.nan, np.inf]])
    curve = Curve("loss", np.arange(4), y, band=band)
    low, high = curve.spread() or ([], [])
    assert np.array_equal(curve.mean(), [2, 2, np.nan, np.nan], equal_nan=True)
    assert np.array_equal(low, [1, 2, np.nan, np.nan], equal_nan=True)
    assert np.array_equal(high, [3, 2, np.nan, np.nan], equal_nan=True)
    polygon, line = figures.curves([curve], "step", "loss").plotly().data
    assert np.isfinite(polygon.y).all() and len(line.y) == 4


def test_log_axes_say_so_and_hold_bands_that_reach_zero():
    curve = Curve("loss", [1, 10], [[1e-3, 1.0], [1e-3, 9.0], [0.5, 1.0]])
    figure = figures.curves(
        [curve], "layers", "loss", log_x=True, log_y=True, marks=[(3, "here", "trained")], at=2
    )
    assert "log scale" in figure.plotly().layout.yaxis.title.text
    assert figure.plotly().layout.xaxis.range == (0, 1)
    assert (figure.plotly().data[0].y > 0).all()


def test_an_empty_live_run_draws():
    figure = figures.curves([Curve("loss", [0, 1], [np.nan, np.nan])], "step", "loss", at=0)
    assert np.isfinite(figure.plotly().layout.yaxis.range).all()


def test_labels_of_near_marks_stand_on_different_levels():
    assert len(set(stagger([0.06, 0.12, 0.14], [0.3] * 3))) == 3
    assert stagger([0.1, 0.9], [0.3, 0.3]) == [0, 0]


def test_attention_leaves_the_future_blank_and_outlines_each_kind_of_box():
    boxes = [(3, 1, "trigger"), (3, 2, "correct output"), (2, 1, "correct output")]
    figure = figures.attention(np.full((4, 4), 0.25), list("a b\n"), boxes)
    assert np.isnan(figure.plotly().data[0].z[np.triu_indices(4, 1)]).all()
    kinds = {trace.name for trace in figure.plotly().data if trace.type == "scatter"}
    assert kinds == {shape.name for shape in figure.plotly().layout.shapes}
    assert kinds == {"trigger", "correct output"}
    assert list(figure.plotly().layout.xaxis.ticktext) == ["a", "␣", "b", "↵"]


def test_attention_pair_says_where_predictions_are_wrong():
    right = np.array([True, False, True, False])
    knowable = np.array([True, True, False, False])
    predictions = Predictions(list("xyzx"), np.array([0.2, 0.5, 0.9, 0.1]), right, knowable)
    pair = figures.attention_pair(np.eye(4), np.eye(4), list("abcd"), [], predictions)
    bars = pair.plotly().data[-1]
    assert list(bars.marker.opacity) == [1, 1, 0.35, 0.35]
    assert [
        ("✗" in text, "wrong" in hint)
        for text, hint in zip(bars.text, bars.customdata, strict=True)
    ] == [
        # no mark where it could not have known
        (False, False),
        (True, True),
        (False, False),
        (False, True),
    ]


def states(count: int = 5) -> list[dict]:
    """A map and curves at so many snapshots."""
    curve = Curve("loss", np.arange(count), RANDOM.random(count))
    snapshots = []
    for index in range(count):
        figure = figures.curves([curve], "step", "loss", at=index)
        matrix = RANDOM.normal(size=(4, 4))
        heat = figures.small_map(matrix, (None, None), ("", ""), "score", 3.0)
        figure.add_trace(heat.data[0])
        snapshots.append(figure.update_layout(title={"text": f"step {index}"}).to_dict())
    return snapshots


def test_a_frame_holds_what_moves_and_brings_every_state_to_every_other():
    snapshots = states()
    frames = clock_frames(snapshots)
    curve, moving, heat = range(3)
    for frame, expected in zip(frames, snapshots, strict=True):
        assert frame["traces"] == [moving, heat] and frame["layout"].keys() == {"title"}
        assert set(frame["data"][1]) == {"type", "z"}
        state = {**snapshots[2], "data": [dict(trace) for trace in snapshots[2]["data"]]}
        for place, change in zip(frame["traces"], frame["data"], strict=True):
            state["data"][place] |= change
        assert {**state, "layout": state["layout"] | frame["layout"]} == expected
    assert curve not in frames[0]["traces"]


def test_a_figure_whose_traces_change_cannot_be_moved():
    first, second = states(2)
    second["data"].pop()
    with pytest.raises(ValueError, match="same traces at every snapshot"):
        clock_frames([first, second])


def test_coarsening_takes_means_of_what_is_there():
    assert np.allclose(block_means(np.arange(9.0).reshape(3, 3), 2), [[2, 3.5], [6.5, 8]])
    assert np.allclose(block_means(np.array([[np.inf, 4.0], [np.nan, -np.inf]]), 2), [[1]])


def test_themed_changes_colours_and_keeps_data():
    light = figures.heatmap(RANDOM.normal(size=(65, 65)), ALPHABET, ALPHABET, "score")
    dark = figures.themed(light, dark=True)
    assert np.array_equal(dark.plotly().data[0].z, light.plotly().data[0].z)
    assert dark.plotly().layout.font.color == TO_DARK[INK]
    assert light.plotly().layout.font.color == INK
    assert dark.plotly().layout.coloraxis.colorscale != light.plotly().layout.coloraxis.colorscale
    assert figures.themed(dark, dark=False).to_dict() == light.to_dict()
    assert figures.themed(light, dark=False) is light


def test_themed_reaches_the_colour_of_a_part_of_a_text():
    ticks = {"ticktext": [f'<span style="color:{INK}">#1d2126</span>']}
    dark = figures.themed(Figure(layout={"yaxis": ticks}), dark=True)
    assert dark.layout["yaxis"]["ticktext"] == [
        f'<span style="color:{TO_DARK[INK]}">#1d2126</span>'
    ]


def test_themed_reaches_every_trace():
    predictions = Predictions(
        ["a"] * 200, np.full(200, 0.5), np.arange(200) % 2 == 0, np.ones(200, bool)
    )
    pair = figures.attention_pair(np.eye(200), np.eye(200), ["a"] * 200, [], predictions)
    assert PAPER not in figures.themed(pair, dark=True).plotly().data[-1].marker.color


def test_no_two_colours_change_into_one():
    assert len(set(TO_DARK.values())) == len(TO_DARK)


def test_bars_name_what_was_not_run():
    figure = figures.bars(
        ["before", "after"],
        [0.9, np.nan],
        "accuracy",
        errors=[0.01, np.nan],
        lines=[("Bayes", 0.98, "floor")],
    )
    assert list(figure.plotly().data[0].text) == ["0.9", "not run"]


def test_a_low_bar_has_its_value_above_it():
    figure = figures.bars(["before", "after"], [0.99, 0.0116], "accuracy", y_range=(0, 1.05))
    bars = figure.plotly().data[0]
    assert list(bars.text) == ["0.99", "0.0116"]
    assert list(bars.textposition) == ["inside", "outside"]
    assert bars.textfont.size == 15 and not bars.cliponaxis


def test_spectrum_is_on_a_log_scale():
    assert figures.spectrum({"W": [3.0, 1.0, 0.1]}, ["layer 1"]).plotly().layout.yaxis.type == "log"


def test_large_maps_become_json_quickly():
    maps = [figures.heatmap(RANDOM.normal(size=(256, 256)), None, None, "score") for _ in range(4)]
    start = time.perf_counter()
    assert sum(len(json.dumps(figure.to_dict())) for figure in maps) < 2_000_000
    assert time.perf_counter() - start < 1  # 0.02 s on an idle machine


@pytest.mark.parametrize(
    "limits, labels",
    [
        ((0.002, 0.03), ["0.002", "0.005", "0.01", "0.02"]),
        ((0.9, 2.2), ["1", "1.5", "2"]),
        ((0.01, 1.0), ["0.01", "0.02", "0.05", "0.1", "0.2", "0.5", "1"]),
    ],
)
def test_a_short_log_axis_has_its_numbers_written_out(limits, labels):
    figure = figures.curves([Curve("a", [0, 1], limits)], "x", "y", log_y=True, y_range=limits)
    assert list(figure.plotly().layout.yaxis.ticktext) == labels
    assert np.allclose(figure.plotly().layout.yaxis.tickvals, [float(label) for label in labels])


def test_a_long_log_axis_has_powers_of_ten():
    figure = figures.curves(
        [Curve("a", [0, 1], (1e-6, 10.0))], "x", "y", log_y=True, y_range=(1e-6, 10.0)
    )
    assert list(figure.plotly().layout.yaxis.ticktext) == ["10⁻⁶", "10⁻⁴", "10⁻²", "1"]
    assert np.allclose(figure.plotly().layout.yaxis.tickvals, [1e-6, 1e-4, 1e-2, 1])


def test_the_mean_over_seeds_leaves_out_what_has_no_value():
    rows = [[1.0, np.nan, np.nan], [3.0, 4.0, np.inf]]
    np.testing.assert_array_equal(figures.mean_of(rows), [2.0, 4.0, np.nan])
    np.testing.assert_array_equal(figures.mean_of(rows[1]), [3.0, 4.0, np.nan])


@pytest.mark.parametrize(
    ("value", "text"),
    [(-1.2346, "−1.235"), (-0.0001, "0.000"), (float("nan"), "–"), (float("inf"), "–")],
)
def test_a_number_is_written_with_a_true_minus(value, text):
    assert figures.number_text(value) == text


def test_a_projectors_figure_has_larger_type_and_more_room_and_the_same_data():
    series = [figures.Curve("trained", np.arange(3.0), np.arange(3.0))]
    figure = figures.curves(series, "step", "loss", lines=[("floor", 1.0, "floor")])
    larger = figures.enlarged(figure)
    assert larger.data == figure.data and larger.layout["height"] == figure.layout["height"]
    assert figure.layout["xaxis"]["tickfont"]["size"] < 14
    assert larger.layout["xaxis"]["tickfont"]["size"] >= 14
    assert larger.layout["annotations"][0]["font"]["size"] >= 14
    assert larger.layout["margin"]["l"] > figure.layout["margin"]["l"]


def test_a_projectors_lines_are_wide_and_what_has_no_line_gets_none():
    steps = np.arange(3.0)
    figure = figures.curves([figures.Curve("CG", steps, steps, "conjugate gradient")], "step", "y")
    figure.add_trace(Trace(x=steps, y=steps, mode="markers"))
    line, points = figures.enlarged(figure).data[-2:]
    assert figure.data[-2]["line"]["width"] < 2.7 <= line["line"]["width"]
    assert "line" not in points and points == figure.data[-1]
