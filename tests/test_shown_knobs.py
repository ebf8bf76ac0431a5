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


def setting_of(id: str, preset, config, refused: str = "") -> address.Setting:
    """The setting of an address, with the view that an experiment starts from."""
    experiment = registry.experiment(id)
    fields = knobs.values(config)
    name = id.split(".")[1]
    return address.Setting(
        id, name, experiment, preset, config, fields, experiment.view(), (), refused
    )


def sidebar_fields(config, refused: str = "") -> set[str]:
    """The fields of the comparison's sidebar."""
    preset = registry.experiment("gdssm.comparison").presets[0]
    setting = setting_of("gdssm.comparison", preset, config, refused)
    return {field for field in knobs.knobs_of(type(config)) if sidebar.has_effect(setting, field)}


@pytest.mark.parametrize(("form", "other"), [("authors", "plain"), ("plain", "authors")])
def test_a_knob_that_changes_nothing_is_not_asked_for(form, other):
    config = registry.experiment("gdssm.comparison").config(form=form)
    every = set(knobs.values(config))
    assert sidebar_fields(config) == every - ONLY_THERE[other]


def test_while_a_setting_is_refused_all_knobs_are_there_to_mend_it():
    config = registry.experiment("gdssm.comparison").config()
    refused = "width must make at least 4 hidden numbers"
    assert sidebar_fields(config, refused) == set(knobs.values(config))


@pytest.mark.parametrize(
    ("name", "prefix"), [("layer", "one_"), ("1-D", "scalar_"), ("two layers", "several_")]
)
def test_a_drawer_asks_for_the_parts_of_the_model_that_it_draws(name, prefix):
    presets = registry.experiment("gdssm.layer").presets
    preset = next(preset for preset in presets if preset.name == name)
    setting = setting_of("gdssm.layer", preset, preset.config)
    fields = drawers._fields(setting, Run(preset.config, {}), "Graft")
    assert fields and all(field.startswith(prefix) for field in fields)


def test_a_text_stands_in_every_drawer_that_reads_it_and_another_field_in_one_place():
    experiment = registry.experiment("birth.induction")
    assert panels.drawers_of(experiment, "sequence") == {"Your own sequence", "The circuit"}
    assert panels.drawers_of(experiment, "followed") == {"The circuit"}
    assert panels.drawers_of(experiment, "measure") == {STAGE}
    constructed = registry.experiment("birth.constructed")
    assert panels.drawers_of(constructed, "cross_talk") == {STAGE}  # of two drawers
