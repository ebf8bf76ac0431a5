"""The stage of every experiment of GD-SSM: its seats, and that nothing but the training moves with
the clock."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from test_gdssm_panels import as_built

from icl_core import figures, registry
from icl_core.contract import knobs
from icl_core.contract.experiment import STAGE, Drawing, Panel, Run
from icl_core.figures.frames import clock_frames
from icl_core.papers import gdssm
from icl_core.papers.gdssm.layer.accumulated_state import typical
from icl_core.papers.gdssm.layer.settings import View
from tests import cells

EXPERIMENTS = [f"gdssm.{name}" for name in gdssm.PAPER.experiments]
PRESETS = [
    (id, preset.name)
    for id in EXPERIMENTS
    for preset in registry.experiment(id).presets
    if preset.shipped
]
STILL = ("range", "cmin", "cmax", "domain", "type")  # of axes and colours


shipped = cache(cells.shipped)


def views(id: str, run: Run) -> list[Any]:
    """The default view at every snapshot."""
    view = registry.experiment(id).view()
    if "snapshot" not in knobs.knobs_of(type(view)):
        return [view]
    return [replace(view, snapshot=index) for index in range(len(run.snapshot_steps))]


def staged(id: str, run: Run) -> list[Drawing]:
    drawings = [drawing for drawing in registry.experiment(id).drawings if drawing.place == STAGE]
    return [drawing for drawing in drawings if drawing.applies(run.config)]


def seats_of(drawings: list[Drawing]) -> int:
    return sum(1 + drawing.wide for drawing in drawings)


def still(panel: Panel) -> dict[str, dict[str, Any]]:
    """What must not move of the axes and colours of a panel."""
    assert panel.figure is not None
    layout = panel.figure.to_dict()["layout"]
    return {
        name: {key: axis.get(key) for key in STILL}
        for name, axis in layout.items()
        if name.startswith(("xaxis", "yaxis", "coloraxis"))
    }


@pytest.mark.parametrize("id, preset", PRESETS)
def test_a_stage_has_two_to_six_panels_and_at_most_eight_drawers(id, preset):
    run = shipped(id, preset)
    assert 2 <= len(staged(id, run)) <= 6
    drawings = registry.experiment(id).drawings
    places = {drawing.place for drawing in drawings if drawing.applies(run.config)}
    assert len(places - {STAGE}) + 3 <= 8  # with View, Evidence and Why


@pytest.mark.long
@pytest.mark.parametrize("id, preset", PRESETS)
def test_only_what_is_drawn_moves_with_the_clock_under_titles_that_fit_their_seats(id, preset):
    run = shipped(id, preset)
    drawings = staged(id, run)
    wide_seats = seats_of(drawings) in (2, 4)
    for drawing in drawings:
        moments = views(id, run)
        if not drawing.moving:  # then the ends and one between show it
            moments = [moments[0], moments[len(moments) // 2], moments[-1]]
        panels = [drawing.draw(run, view) for view in moments]
        # refuses traces that change
        frames = clock_frames([panel.figure.to_dict() for panel in panels if panel.figure])
        assert len(frames) == len(panels)
        assert all(still(panel) == still(panels[0]) for panel in panels), drawing.name
        moves = any(frame["traces"] or frame["layout"] for frame in frames)
        assert drawing.moving or not moves, drawing.name
        room = 80 if drawing.wide else 56 if wide_seats else 50
        assert max(len(panel.title) for panel in panels) <= room, drawing.name


@pytest.mark.parametrize("id, preset", PRESETS)
def test_the_headline_is_a_line(id, preset):
    run = shipped(id, preset)
    for view in views(id, run):
        assert len(registry.experiment(id).headline(run, view)) <= 112


@pytest.mark.parametrize("id, preset", [("gdssm.layer", "layer"), ("gdssm.nonlinear", "figure 4B")])
def test_the_headline_follows_the_training(id, preset):
    run = shipped(id, preset)
    headlines = [registry.experiment(id).headline(run, view) for view in views(id, run)]
    assert len(set(headlines)) == len(headlines)


def test_with_one_feature_the_state_of_a_construction_lies_on_the_line():
    run = shipped("gdssm.layer", "one feature")
    state, exact = typical(as_built(run), View())
    np.testing.assert_allclose(state, exact, atol=1e-5)
    untrained, _ = typical(run, View(snapshot=0))
    assert np.abs(untrained - exact).max() > 0.1


def test_maps_in_a_row_share_their_scale_and_only_the_first_names_its_rows():
    matrices = {"one": np.eye(3), "two": 2 * np.eye(3)}
    maps = figures.small_maps(matrices, (list("abc"), None), ("row", "column"), "entry", 1.5)
    layout = maps.to_dict()["layout"]
    assert (layout["coloraxis"]["cmin"], layout["coloraxis"]["cmax"]) == (-1.5, 1.5)
    assert layout["yaxis"]["ticktext"] == ["a", "b", "c"] and not any(layout["yaxis2"]["ticktext"])
    left, right = layout["xaxis2"]["domain"]
    assert layout["xaxis"]["domain"][1] < left < right <= 1
