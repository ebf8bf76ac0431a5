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
def made(request):
    """An experiment's name, what ten steps of it come to, and what there was to draw on the way."""
    watching = Watching()
    return request.param, golden.entry(request.param, watching), watching.shown


def test_what_a_version_computes_does_not_change(made):
    name, now, _ = made
    assert not golden.complaint(name, golden.read().get(name), now)


def test_a_run_that_is_still_going_can_be_drawn(made):
    """Whatever it has reached: its first curves, a phase that has ended, the beginning
    of the next."""
    name, _, shown = made
    experiment = registry.experiment(name)
    config = golden.ten_steps(experiment)
    live = [each for each in experiment.drawings if each.live and each.applies(config)]
    assert shown or not live
    for tensors in shown:
        for drawing in live:
            assert drawing.draw(Run(config, tensors, finished=False), experiment.view()).title, (
                drawing.name
            )


def test_another_recall_is_noticed(monkeypatch):
    """The probe's value is what all panels of an induction head show: half of it must not pass as
    the same version."""
    recall = probes.recall
    monkeypatch.setattr(probes, "recall", lambda *given: recall(*given) / 2)
    known = golden.read()["birth.induction"]
    said = golden.complaint("birth.induction", known, golden.entry("birth.induction"))
    version = known["version"]
    assert said.startswith(
        f"birth.induction computes something else than version {version} did: raise its version, "
        "or mend it"
    )
