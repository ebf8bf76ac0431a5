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
        ("learns", "classroom", {}, "holds the product x y"),
        ("learns", "classroom", {}, "the models have 5)"),
        ("learns", "N-D", {}, "both multiplications are left"),
        ("learns", "1-D", {}, "the models have 10)"),
        ("nonlinear", "figure 4B", {"N": 7}, "7 points"),
        ("corrections", "paper size", {"N": 20}, "20 examples"),
        ("sizes", "N-D", {}, "f numbers in each x and each y"),
        ("sizes", "1-D", {}, "f numbers in each x."),
        ("comparison", "N-D", {}, "The 10 models"),
        ("comparison", "1-D", {}, "The 9 models"),
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
