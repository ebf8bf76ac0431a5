"""What an experiment computes belongs to its version: nothing may change and leave the shipped
numbers standing. The same short runs are drawn while they go on."""

import os
from pathlib import Path

import pytest

os.environ.setdefault("ICL_PAPERS", str(Path(__file__).parent / "papers_extra"))

from icl_core import registry
from icl_core.contract.experiment import Run
from icl_core.papers.birth.shared import probes
from tests import golden
from tests.recorder import Watching

SHIPPED = [name for name in registry.experiment_ids() if not name.startswith("toy.")]


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
    name, _, tensors_on_the_way = computation
    experiment = registry.experiment(name)
    config = golden.ten_steps(experiment)
    live = [drawing for drawing in experiment.drawings if drawing.live and drawing.applies(config)]
    assert tensors_on_the_way or not live
    for tensors in tensors_on_the_way:
        for drawing in live:
            assert drawing.draw(Run(config, tensors, finished=False), experiment.view()).title, (
                drawing.name
            )


def test_another_recall_is_noticed(monkeypatch):
    """The probe's value is what all panels of an induction head show: half of it must not pass as
    the same version."""
    recall = probes.recall
    monkeypatch.setattr(probes, "recall", lambda *arguments: recall(*arguments) / 2)
    golden_entry = golden.read()["birth.induction"]
    complaint = golden.complaint("birth.induction", golden_entry, golden.entry("birth.induction"))
    version = golden_entry["version"]
    assert complaint.startswith(
        f"birth.induction computes something else than version {version} did: raise its version, "
        "or mend it"
    )
