"""Maps of sweeps: what is missing is blank, what failed is crossed, where we are is marked, theory
is dotted."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from house import TOY

from icl_core import registry
from icl_core.contract.experiment import Theory
from icl_core.contract.number_text import significant, unit_of
from icl_core.figures import Scale, themed
from icl_core.papers.gdssm.shared import closed_forms
from icl_core.runs.store import Header
from icl_core.sweeps import setting_grid
from icl_core.sweeps.map import MapChoice, draw_map
from icl_core.sweeps.sweep import DONE, FAILED, MISSING, Outcome, SweepStatus

CLAIM = "toy.recovered"


def swept(
    *words, of=lambda at: 0.5, failed=(), missing=(), id=TOY, claim=CLAIM, error=None, **fields
):
    """A grid and a look at it: every cell measures `of` its values, but for those that are named by
    their index."""
    grid = setting_grid.parse(id, words, registry.experiment(id).config(**fields))

    def outcome(index, cell):
        if index in failed:
            return Outcome(cell, FAILED, "the <loss> is gone")
        if index in missing:
            return Outcome(cell, MISSING)
        info = {"metrics": [{"claim": claim, "value": of(cell.at), "error": error}]}
        return Outcome(cell, DONE, header=Header(id, "k", {}, info, "", "local", Path()))

    outcomes = tuple(outcome(index, cell) for index, cell in enumerate(grid.cells))
    return grid, SweepStatus(outcomes, 0.0)


def traces_of(panel):
    panel.figure.plotly()  # refuses what plotly does not know
    return {trace.get("name") or trace["type"]: trace for trace in panel.figure.data}


def test_a_map_leaves_what_is_missing_blank_and_crosses_what_failed():
    grid, look = swept(
        "d=2,4,8", "rate=0.1,1", of=lambda at: at["d"] * at["rate"], failed=(5,), missing=(2,)
    )
    panel = draw_map(grid, look, MapChoice(CLAIM, "d", "rate"))
    traces = traces_of(panel)
    # rates from below, d to the right
    expected = np.array([[0.2, np.nan, 0.8], [2.0, 4.0, np.nan]], np.float32)
    assert np.array_equal(traces["heatmap"]["z"], expected, equal_nan=True)
    assert (list(traces["failed"]["x"]), list(traces["failed"]["y"])) == ([np.log10(8)], [0.0])
    texts = dict(zip(traces["runs"]["customdata"], traces["runs"]["text"], strict=True))
    assert texts[5] == "d = 8, rate = 1<br>failed: the &lt;loss&gt; is gone"
    assert texts[2] == "d = 4, rate = 0.1<br>not asked for" and texts[1] == "d = 2, rate = 1<br>2"
    ends = "from 0.2 (inputs d = 2, step size η = 0.1) to 4 (inputs d = 4, step size η = 1)"
    assert panel.title == f"Teacher found: {ends}"
    # 2, 4, 8 and the knob of rate
    assert "(log scale)" in panel.figure.layout["xaxis"]["title"]["text"]
    assert list(panel.data["status"]) == ["done", "done", "missing", "done", "done", "failed"]
    themed(panel.figure, True).plotly()


def test_a_curve_has_a_band_where_there_are_errors_and_the_setting_on_screen():
    grid, look = swept("d=2,5,8", of=lambda at: at["d"] / 10, failed=(1,), error=0.05)
    here = registry.experiment(TOY).config(d=4, seeds=2)
    panel = draw_map(grid, look, MapChoice(CLAIM, "d", here=here))
    traces = traces_of(panel)
    line = traces["teacher found"]
    assert np.array_equal(line["y"], [0.2, np.nan, 0.8], equal_nan=True)
    assert list(line["x"]) == [2, 5, 8]
    assert any(trace.get("fill") == "toself" for trace in panel.figure.data)
    assert list(traces["failed"]["x"]) == [5] and traces["runs"]["text"][1].endswith("is gone")
    shapes = panel.figure.layout["shapes"]  # the line, and its piece up to the label
    assert [shape["x0"] for shape in shapes] == [4, 4]
    assert panel.title == "Teacher found: from 0.2 (inputs d = 2) to 0.8 (inputs d = 8)"


@pytest.mark.parametrize(
    ("fields", "marked"), [({}, True), ({"d": 64}, False), ({"steps": 20}, False)]
)
def test_the_setting_on_screen_is_marked_where_it_lies_on_the_map(fields, marked):
    grid, look = swept("d=2,4,16", "rate=0.1,1")
    here = dataclasses.replace(registry.experiment(TOY).config(), **fields)
    layout = draw_map(grid, look, MapChoice(CLAIM, "d", "rate", here=here)).figure.layout
    assert bool(layout.get("shapes")) == marked


def test_of_more_axes_the_others_stand_still():
    grid, look = swept("d=2,3", "rate=0.1,1", "steps=20,30,40", of=lambda at: at["steps"] + at["d"])
    traces = traces_of(draw_map(grid, look, MapChoice(CLAIM, "steps", "d", {"rate": 1.0})))
    assert np.array_equal(traces["heatmap"]["z"], [[22, 32, 42], [23, 33, 43]])
    assert [grid.cells[index].at["rate"] for index in traces["runs"]["customdata"]] == 6 * [1.0]
    line = traces_of(draw_map(grid, look, MapChoice(CLAIM, "d")))["teacher found"]
    assert np.array_equal(line["y"], [22, 23])


def test_names_and_single_values_can_be_axes():
    id = "birth.induction"
    claim = "recall-W_O2"
    grid, look = swept("triggers=random,fixed", "freeze_W_F=false,true", "d=64", id=id, claim=claim)
    panel = draw_map(grid, look, MapChoice(claim, "triggers", "freeze_W_F"))
    assert panel.figure.layout["xaxis"]["ticktext"] == ["random", "fixed"]
    assert panel.figure.layout["yaxis"]["ticktext"] == ["off", "on"]
    line = traces_of(draw_map(grid, look, MapChoice(claim, "triggers")))
    assert all(trace["mode"] in ("markers", "none") for trace in line.values())
    traces_of(draw_map(grid, look, MapChoice(claim, "d")))


def test_of_equal_numbers_the_colour_bar_has_one():
    grid, look = swept("d=2,4,8", "rate=0.1,1", missing=range(1, 6))
    bar = draw_map(grid, look, MapChoice(CLAIM, "d", "rate")).figure.layout["coloraxis"]
    assert bar["colorbar"]["ticktext"] == ["0.5"] and bar["cmin"] < 0.5 < bar["cmax"]


def test_small_numbers_share_a_unit_and_long_ones_are_shortened_to_fit():
    grid, look = swept("d=2,4,8", "rate=0.1,1", of=lambda at: 1e-4 * at["d"] * at["rate"])
    panel = draw_map(grid, look, MapChoice(CLAIM, "d", "rate"))
    traces = traces_of(panel)
    assert list(traces["numbers"]["text"]) == ["20", "40", "80", "200", "400"]
    assert list(traces["numbers on strong"]["text"]) == ["800"]
    bar = panel.figure.layout["coloraxis"]["colorbar"]
    title = bar["title"]["text"].replace("\N{NO-BREAK SPACE}", " ")
    assert title == "teacher found, in units of 10⁻⁶" and bar["ticktext"] == ["20", "410", "800"]
    assert panel.title.startswith("Teacher found: from 2·10⁻⁵ (")
    grid, look = swept(
        "d=2,3,4,5,6,7,8,9", "rate=0.1,1", of=lambda at: 0.12345 * at["d"] if at["d"] < 9 else -150
    )
    texts = list(traces_of(draw_map(grid, look, MapChoice(CLAIM, "d", "rate")))["numbers"]["text"])
    assert texts[:3] == ["0.25", "0.37", "0.49"]  # each as long as fits
    # no unit serves both
    grid, look = swept("d=2,3", "rate=0.1,1", of=lambda at: 5 if at["d"] == 2 else 5e7)
    layout = draw_map(grid, look, MapChoice(CLAIM, "d", "rate")).figure.layout
    assert "units" not in layout["coloraxis"]["colorbar"]["title"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0241, "0.0241"),
        (-0.5, "−0.5"),
        (-0.0, "0"),
        (1234, "1230"),
        (999.9, "1000"),
        (7.934e-5, "7.93·10⁻⁵"),
        (-2e-10, "−2·10⁻¹⁰"),
        (3.4e12, "3.4·10¹²"),
    ],
)
def test_a_number_is_written_as_people_write_it(value, text):
    assert significant(value) == text


@pytest.mark.parametrize(
    ("values", "unit"),
    [
        ([0.1, 5], 0),
        ([2e-3, 8e-5], -3),
        ([9999.0, 1.0], 0),
        ([2e6, 4e7], 6),
        ([5.0, 5e7], 0),
        ([0.0, 0.0], 0),
        ([np.nan, -3e-4, 0.0], -6),
        ([5e-324], 0),
    ],
)
def test_a_unit_serves_all_or_there_is_none(values, unit):
    assert unit_of(np.array(values)) == unit


def test_a_sweep_that_has_measured_nothing_is_an_empty_map():
    grid, look = swept("d=2,4,8", "rate=0.1,1", missing=range(6))
    for y in ("rate", ""):
        panel = draw_map(grid, look, MapChoice(CLAIM, "d", y))
        assert (panel.title == "Teacher found: no number yet" and "blank" in panel.caption) or not y
        traces_of(panel)


def test_theory_is_the_experiments_own_formula():
    id = "gdssm.corrections"
    claim = "corrected-gain"
    grid, look = swept("f=2,5,10", "N=2,10,20", id=id, claim=claim)
    line = traces_of(draw_map(grid, look, MapChoice(claim, "N", fixed={"f": 5})))["closed form"]

    def gain(f, N):
        return 1 - closed_forms.best_loss(f, N) / closed_forms.zero_loss(f)

    assert list(line["x"]) == list(range(2, 21))
    assert np.allclose(line["y"], [gain(5, N) for N in range(2, 21)])
    contours = traces_of(draw_map(grid, look, MapChoice(claim, "f", "N")))["closed form"]
    assert contours["z"].shape == (19, 9) and contours["z"][0, 0] == pytest.approx(gain(2, 2))
    experiment = registry.experiment(id)
    bounds = {declared.id: declared.bound for declared in experiment.claims}
    for theory in experiment.theory:  # at the paper's size it is the claim's own number
        assert theory.of(experiment.config()) == bounds[theory.claim]
    assert "closed form" not in traces_of(draw_map(grid, look, MapChoice("a2-transposes", "N")))


def test_a_number_of_its_own_has_contours_over_every_map_and_stops_where_a_setting_is_refused(
    monkeypatch,
):
    own = Theory("N over d squared", lambda config: config.N / config.d**2)
    laboratory = dataclasses.replace(registry.experiment("birth.laboratory"), theory=(own,))
    monkeypatch.setattr(registry, "experiment", lambda name: laboratory)
    grid, look = swept("d=32,64,128", "N=16,32,64", id="birth.laboratory", claim="frequent-first")
    panel = draw_map(grid, look, MapChoice("frequent-first", "d", "N"))
    contours = traces_of(panel)["N over d squared"]
    assert contours["z"][0, 0] == pytest.approx(16 / 32**2)
    assert np.isnan(contours["z"][-1, 0])  # N = 64, d = 32
    assert panel.caption.endswith("Dotted: N over d squared, by theory.")
    panel = draw_map(grid, look, MapChoice("frequent-first", "d"))
    assert "N over d squared" not in traces_of(panel)


@pytest.mark.parametrize("id", registry.experiment_ids())
def test_theory_speaks_of_declared_claims_and_gives_numbers(id):
    experiment = registry.experiment(id)
    for theory in experiment.theory:
        assert theory.claim in {"", *(claim.id for claim in experiment.claims)}
        assert np.isfinite([theory.of(preset.config) for preset in experiment.presets]).all()


def test_cells_end_half_way_and_lines_are_whole_where_values_are():
    assert np.allclose(Scale("d", (2, 8, 32), log=True).edges, np.log10([1, 4, 16, 64]))
    assert np.allclose(Scale("d", (5,)).edges, [4.5, 5.5])
    assert Scale("d", (2, 5)).between(81) == [2, 3, 4, 5]
    assert Scale("rate", (0.1, 1.0), log=True).between(3) == pytest.approx([0.1, 10**-0.5, 1.0])
