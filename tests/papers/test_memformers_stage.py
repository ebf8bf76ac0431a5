"""The stage: few seats, which move with the clock while their axes and colour ranges
stand still."""

from dataclasses import replace
from functools import cache

import pytest

from icl_core import build, registry
from icl_core.contract.experiment import STAGE
from icl_core.contract.knobs import knobs_of
from icl_core.figures.frames import clock_frames
from icl_core.runs import store

IDS = [
    f"memformers.{name}" for name in ("methods", "convergence", "variances", "mixture", "learned")
]
WRITTEN = 45  # letters of a title that fit above a seat


@cache
def first_run(experiment_id):
    return store.default().load(
        store.default().exact(experiment_id, build.wanted_runs(experiment_id)[0].key)
    )


def on_stage(experiment, config):
    drawings = [drawing for drawing in experiment.drawings if drawing.place == STAGE]
    return [drawing for drawing in drawings if drawing.applies(config)]


def views(experiment, run):
    """The default view at every snapshot; alone where there are none."""
    view = experiment.view()
    if "snapshot" not in knobs_of(experiment.view):
        return [view]
    return [replace(view, snapshot=index) for index in range(len(run.snapshot_steps) or 1)]


def fixed(figure):
    """What must not move: the ranges of the axes and of the colours."""
    axes = {
        name: axis.get("range")
        for name, axis in figure.layout.items()
        if name.startswith(("xaxis", "yaxis"))
    }
    colours = {
        name: (s["cmin"], s["cmax"])
        for name, s in figure.layout.items()
        if name.startswith("coloraxis")
    }
    return axes, colours


@pytest.mark.parametrize("experiment_id", IDS)
def test_the_stage_has_two_to_six_seats_in_every_preset_and_few_drawers(experiment_id):
    experiment = registry.experiment(experiment_id)
    for preset in experiment.presets:
        seats = sum(1 + drawing.wide for drawing in on_stage(experiment, preset.config))
        assert seats in (2, 3, 4, 6), preset.name
    # those that every experiment has come to them
    assert len({drawing.place for drawing in experiment.drawings} - {STAGE}) <= 4


@pytest.mark.parametrize("experiment_id", IDS)
def test_a_stage_panel_keeps_its_traces_and_ranges_at_every_snapshot(experiment_id):
    experiment = registry.experiment(experiment_id)
    run = first_run(experiment_id)
    for drawing in on_stage(experiment, run.config):
        panels = [drawing.draw(run, view) for view in views(experiment, run)]
        clock_frames([panel.figure.to_dict() for panel in panels])  # raises if traces differ
        if len(panels) > 1 and drawing.moving:
            ranges, _ = fixed(panels[0].figure)
            assert all(ranges.values()), "plotly would choose a range for each snapshot"
            assert all(fixed(panel.figure) == fixed(panels[0].figure) for panel in panels)
        assert max(len(panel.title) for panel in panels) <= WRITTEN or drawing.wide


@pytest.mark.parametrize("experiment_id", IDS[:2])
def test_the_headline_is_short_and_changes_with_the_snapshot(experiment_id):
    experiment = registry.experiment(experiment_id)
    run = first_run(experiment_id)
    headlines = [experiment.headline(run, view) for view in views(experiment, run)]
    assert len(set(headlines)) == len(headlines) and max(map(len, headlines)) <= 115


def test_the_layers_steps_end_on_the_lines_of_theory():
    experiment = registry.experiment("memformers.convergence")
    run = first_run("memformers.convergence")
    steps = next(drawing for drawing in experiment.drawings if drawing.name == "steps")
    first, *_, last = (steps.draw(run, view).figure for view in views(experiment, run))
    lines = sorted(shape["y0"] for shape in last.layout["shapes"])
    assert sorted(last.data[0]["y"]) == pytest.approx(lines, abs=0.05)
    assert sorted(first.data[0]["y"]) != pytest.approx(lines, abs=0.3)


def test_the_dot_of_the_deepest_model_ends_on_its_line():
    experiment = registry.experiment("memformers.methods")
    run = first_run("memformers.methods")
    by_depth = next(drawing for drawing in experiment.drawings if drawing.name == "by_depth")
    first, *_, last = (by_depth.draw(run, view).figure.data for view in views(experiment, run))
    line = next(trace for trace in last if trace.get("name") == "trained")
    assert last[-1]["y"] == [pytest.approx(line["y"][-1])]
    assert first[-1]["y"][0] > 0 > last[-1]["y"][0]
