"""What the GD-SSM's scripts say of settings other than the first, and that a number has
one source."""

from dataclasses import replace

import pytest

from icl_core import registry
from icl_core.contract import story
from icl_core.papers.gdssm.layer import grafted
from icl_core.papers.gdssm.layer.draw import interventions
from icl_core.runs import store


@pytest.mark.parametrize(
    ("experiment", "preset", "change", "says"),
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
def test_tasks_are_told_as_a_setting_has_them(experiment, preset, change, says):
    found = registry.experiment(f"gdssm.{experiment}")
    config = next(each.config for each in found.presets if each.name == preset)
    assert says in story.task_of(found.story.task, replace(config, **change))


def test_what_a_graft_leaves_is_what_its_drawing_shows():
    experiment = registry.experiment("gdssm.layer")
    header = store.default().preset("gdssm.layer", "layer")
    assert header is not None
    run, view = store.default().load(header), experiment.view(one_a="zero")
    assert run is not None
    data = interventions.graft(run, view).data
    assert data is not None and data["loss"][:2].tolist() == pytest.approx(
        grafted.after(run, view), abs=1e-5
    )
