"""What the GD-SSM's scripts say of settings other than the first, and that a number has
one source."""

from dataclasses import replace

import pytest

from icl_core import registry
from icl_core.contract import story
from icl_core.papers.gdssm.layer import grafted
from icl_core.papers.gdssm.layer.draw import interventions
from tests.cells import shipped


@pytest.mark.parametrize(
    ("name", "preset", "change", "words"),
    [
        ("learns", "classroom", {}, "Of 5 examples a token holds x y"),
        ("learns", "classroom", {}, "one multiplication is done"),
        ("learns", "N-D", {}, "both multiplications are to be learned"),
        ("learns", "1-D", {}, "Of 10 examples"),
        ("nonlinear", "figure 4B", {"N": 7}, "7 points"),
        ("corrections", "paper size", {"N": 20}, "20 examples"),
        ("sizes", "N-D", {}, "f numbers in each, predict"),
        ("sizes", "1-D", {}, "f numbers in each x, predict"),
        ("comparison", "N-D", {}, "10 models predict"),
        ("comparison", "1-D", {}, "9 models predict"),
    ],
)
def test_tasks_are_told_as_a_setting_has_them(name, preset, change, words):
    experiment = registry.experiment(f"gdssm.{name}")
    configs = {preset.name: preset.config for preset in experiment.presets}
    assert words in story.task_of(experiment.story.task, replace(configs[preset], **change))


def test_what_a_graft_leaves_is_what_its_drawing_shows():
    run = shipped("gdssm.layer", "layer")
    view = registry.experiment("gdssm.layer").view(one_a="zero")
    data = interventions.graft(run, view).data
    assert data is not None
    assert data["loss"][:2].tolist() == pytest.approx(grafted.after(run, view), abs=1e-5)
