"""What an experiment computes belongs to its version: nothing may change and leave the shipped
numbers standing. The same short runs are drawn while they go on."""

import pytest
from house import TOY

from icl_core import registry
from icl_core.contract.experiment import Run
from icl_core.papers.birth.shared import probes
from tests import golden
from tests.recorder import Watching

SHIPPED = [name for name in registry.experiment_ids() if name != TOY]


@pytest.fixture(scope="module", params=SHIPPED)
def computation(request):
    """An experiment's name, what ten steps of it come to, and what there was to draw on the way."""
    watching = Watching()
    return request.param, golden.entry(request.param, watching), watching.shown


def test_what_a_version_computes_does_not_change(computation):
    name, computed, _ = computation
    assert not golden.complaint(name, golden.read().get(name), computed)


def test_a_run_that_is_still_going_can_be_drawn(computation):
    """Whatever it has reached: its first curves, a phase that has ended, the beginning
    of the next."""
    name, _, partial = computation
    experiment = registry.experiment(name)
    config = golden.ten_steps(name)
    live = [drawing for drawing in experiment.drawings if drawing.live and drawing.applies(config)]
    assert partial or not live
    for tensors in partial:
        for drawing in live:
            panel = drawing.draw(Run(config, tensors, finished=False), experiment.view())
            assert panel.title, drawing.name


@pytest.mark.long
@pytest.mark.parametrize("name", SHIPPED)
def test_ten_steps_have_the_shapes_of_their_signatures(name):
    """They are checked where long tests are run (`shapes.py`)."""
    experiment = registry.experiment(name)
    experiment.run(golden.ten_steps(name), Watching())


@pytest.mark.long
def test_another_recall_is_noticed(monkeypatch):
    """The probe's value is what all panels of an induction head show: half of it must not pass as
    the same version."""
    recall = probes.recall
    monkeypatch.setattr(probes, "recall", lambda *arguments: recall(*arguments) / 2)
    reference = golden.read()["birth.induction"]
    complaint = golden.complaint("birth.induction", reference, golden.entry("birth.induction"))
    assert complaint.startswith(
        f"birth.induction computes something else than version {reference['version']} did: raise "
        "its version, or mend it"
    )
