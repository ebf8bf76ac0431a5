"""What an experiment computes belongs to its version: nothing may change and leave the shipped numbers standing."""

import os
from pathlib import Path

import pytest

os.environ.setdefault("ICL_PAPERS", str(Path(__file__).parent / "papers_extra"))

from icl_core import registry
from icl_core.papers.birth.shared import probes
from tests import golden

SHIPPED = [name for name in registry.experiment_ids() if not name.startswith("toy.")]


@pytest.mark.parametrize("name", SHIPPED)
def test_what_a_version_computes_does_not_change(name):
    assert not golden.complaint(name, golden.read().get(name), golden.entry(name))


def test_another_recall_is_noticed(monkeypatch):
    """The probe's value is what all panels of an induction head show: half of it must not pass as the same version."""
    recall = probes.recall
    monkeypatch.setattr(probes, "recall", lambda *given: recall(*given) / 2)
    known = golden.read()["birth.induction"]
    said = golden.complaint("birth.induction", known, golden.entry("birth.induction"))
    version = known["version"]
    assert said.startswith(
        f"birth.induction computes something else than version {version} did: raise its version, or mend it"
    )
