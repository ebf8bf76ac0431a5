"""The stage of every experiment of GD-SSM: its seats, and that nothing but the training moves with
the clock."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from icl_core import figures, registry
from icl_core.contract import knobs
from icl_core.contract.experiment import STAGE, Drawing, Panel, Run
from icl_core.figures.frames import clock_frames
from icl_core.papers import gdssm
from icl_core.papers.gdssm.layer.accumulated_state import typical
from icl_core.papers.gdssm.layer.settings import View
from icl_core.runs import store

EXPERIMENTS = [f"gdssm.{name}" for name in gdssm.PAPER.experiments]
PRESETS = [
    (id, preset.name)
    for id in EXPERIMENTS
    for preset in registry.experiment(id).presets
    if preset.shipped
]
STILL = ("range", "cmin", "cmax", "domain", "type")  # of axes and colours


@cache
def shipped(id: str, preset: str) -> Run:
    header = store.default().preset(id, preset)
    assert header is not None
    run = store.default().load(header)
    assert run is not None
    return run


def views(id: str, run: Run) -> list[Any]:
    """The default view at every snapshot."""
    view = registry.experiment(id).view()
    if "snapshot" not in knobs.knobs_of(type(view)):
        return [view]
    return [replace(view, snapshot=index) for index in range(len(run.snapshot_steps))]


def staged(id: str, run: Run) -> list[Drawing]:
    return [
        each
        for each in registry.experiment(id).drawings
        if each.place == STAGE and each.applies(run.config)
    ]


def still(panel: Panel) -> dict[str, dict[str, Any]]:
    """What must not move of the axes and colours of a panel."""
    assert panel.figure is not None
    layout = panel.figure.to_dict()["layout"]
    axes = {
        name: each
        for name, each in layout.items()
        if name.startswith(("xaxis", "yaxis", "coloraxis"))
    }
    return {name: {key: each.get(key) for key in STILL} for name, each in axes.items()}


@pytest.mark.parametrize("id, preset", PRESETS)
def test_a_stage_has_seats_without_a_hole_and_at_most_eight_drawers(id, preset):
    run = shipped(id, preset)
    seats = sum(2 if each.wide else 1 for each in staged(id, run))
    assert seats in (2, 3, 4, 6)
    places = {
        each.place for each in registry.experiment(id).drawings if each.applies(run.config)
    } - {STAGE}
    assert len(places) + 3 <= 8  # with View, Evidence and Why


@pytest.mark.parametrize("id, preset", PRESETS)
def test_only_what_is_drawn_moves_with_the_clock_under_titles_that_fit_their_seats(id, preset):
    run = shipped(id, preset)
    shown = staged(id, run)
    few = sum(2 if each.wide else 1 for each in shown) in (2, 4)  # wider seats
    for drawing in shown:
        seen = views(id, run)
        if not drawing.moving:  # then the ends and one between show it
            seen = [seen[0], seen[len(seen) // 2], seen[-1]]
        panels = [drawing.draw(run, view) for view in seen]
        made = clock_frames(
            [panel.figure.to_dict() for panel in panels if panel.figure]
        )  # refuses traces that change
        assert len(made) == len(panels)
        assert all(still(panel) == still(panels[0]) for panel in panels), drawing.name
        assert drawing.moving or not any(frame["traces"] or frame["layout"] for frame in made), (
            drawing.name
        )
        room = 80 if drawing.wide else 56 if few else 50
        assert max(len(panel.title) for panel in panels) <= room, drawing.name


@pytest.mark.parametrize("id, preset", PRESETS)
def test_the_headline_is_a_line(id, preset):
    run = shipped(id, preset)
    for view in views(id, run):
        assert len(registry.experiment(id).headline(run, view)) <= 112


@pytest.mark.parametrize("id, preset", [("gdssm.layer", "layer"), ("gdssm.nonlinear", "figure 4B")])
def test_the_headline_follows_the_training(id, preset):
    run = shipped(id, preset)
    said = [registry.experiment(id).headline(run, view) for view in views(id, run)]
    assert len(set(said)) == len(said)


def test_with_one_feature_the_state_of_a_construction_lies_on_the_line():
    run = shipped("gdssm.layer", "one feature")
    built = {
        name.split("/")[1]: array
        for name, array in run.tensors.items()
        if name.startswith("constructed/")
    }
    seeds, count = run.config.seeds, len(run.snapshot_steps)
    kept = {
        f"snapshot/{n}": np.repeat(np.repeat(a, seeds, 0)[None], count, 0) for n, a in built.items()
    }
    state, exact = typical(Run(run.config, {**run.tensors, **kept}), View())
    np.testing.assert_allclose(state, exact, atol=1e-5)
    untrained, _ = typical(run, View(snapshot=0))
    assert np.abs(untrained - exact).max() > 0.1


def test_maps_in_a_row_share_their_scale_and_only_the_first_names_its_rows():
    matrices = {"one": np.eye(3), "two": 2 * np.eye(3)}
    layout = figures.small_maps(
        matrices, (list("abc"), None), ("row", "column"), "entry", 1.5
    ).to_dict()["layout"]
    assert (layout["coloraxis"]["cmin"], layout["coloraxis"]["cmax"]) == (-1.5, 1.5)
    assert layout["yaxis"]["ticktext"] == ["a", "b", "c"] and not any(layout["yaxis2"]["ticktext"])
    assert (
        layout["xaxis"]["domain"][1]
        < layout["xaxis2"]["domain"][0]
        < layout["xaxis2"]["domain"][1]
        <= 1
    )
