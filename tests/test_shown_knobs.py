"""Which knobs the sidebar and the drawers show: those that change something, and all of a refused
setting."""

import pytest

from icl_core import registry
from icl_core.contract import knobs
from icl_core.contract.experiment import STAGE, Run
from pages.ui.controls import sidebar
from pages.ui.link import address
from pages.ui.stage import drawers, panels

ONLY_THERE = {"authors": {"norm", "width", "bias", "heads", "layers"}, "plain": {"parameters"}}


def shown(config, refused: str = "") -> set[str]:
    """The fields of the comparison's sidebar."""
    experiment = registry.experiment("gdssm.comparison")
    chosen, view = knobs.values(config), experiment.view()
    setting = address.Setting(
        "gdssm.comparison",
        "comparison",
        experiment,
        experiment.presets[0],
        config,
        chosen,
        view,
        (),
        refused,
    )
    return {
        field for field in knobs.knobs_of(experiment.config) if sidebar.has_effect(setting, field)
    }


@pytest.mark.parametrize(("form", "other"), [("authors", "plain"), ("plain", "authors")])
def test_a_knob_that_changes_nothing_is_not_asked_for(form, other):
    config = registry.experiment("gdssm.comparison").config(form=form)
    every = set(knobs.values(config))
    assert shown(config) == every - ONLY_THERE[other]


def test_while_a_setting_is_refused_all_knobs_are_there_to_mend_it():
    config = registry.experiment("gdssm.comparison").config()
    assert shown(config, "width must make at least 4 hidden numbers") == set(knobs.values(config))


@pytest.mark.parametrize(
    ("preset", "prefix"), [("layer", "one_"), ("1-D", "scalar_"), ("two layers", "several_")]
)
def test_a_drawer_asks_for_the_parts_of_the_model_that_it_draws(preset, prefix):
    experiment = registry.experiment("gdssm.layer")
    found = next(each for each in experiment.presets if each.name == preset)
    run, view = Run(found.config, {}), experiment.view()
    setting = address.Setting(
        "gdssm.layer", "layer", experiment, found, found.config, {}, view, (), ""
    )
    fields = drawers._fields(setting, run, "Graft")
    assert fields and all(field.startswith(prefix) for field in fields)


def test_a_text_stands_in_every_drawer_that_reads_it_and_another_field_in_one_place():
    experiment = registry.experiment("birth.induction")
    assert panels.drawers_of(experiment, "sequence") == {"Your own sequence", "The circuit"}
    assert panels.drawers_of(experiment, "followed") == {"The circuit"} and panels.drawers_of(
        experiment, "measure"
    ) == {STAGE}
    assert panels.drawers_of(registry.experiment("birth.constructed"), "cross_talk") == {
        STAGE
    }  # of two drawers
