"""Which tests a change can fail, as `--changed` tells it."""

from types import SimpleNamespace

import pytest
from house import ROOT

from tests import changed

INDUCTION = "icl_core/papers/birth/induction"


@pytest.mark.parametrize(
    ("file", "test", "subjects", "chosen"),
    [
        (f"{INDUCTION}/draw/matrices.py", "papers/test_birth_stage", [], True),
        (f"{INDUCTION}/draw/matrices.py", "papers/test_gdssm_model", [], False),
        (f"{INDUCTION}/draw/matrices.py", "test_contract", ["birth.induction"], True),
        (f"{INDUCTION}/draw/matrices.py", "test_contract", ["birth.steps"], False),
        (f"{INDUCTION}/draw/matrices.py", "test_golden", ["gdssm.layer"], False),
        (f"{INDUCTION}/draw/matrices.py", "browser/test_cells", [], True),
        (f"{INDUCTION}/draw/matrices.py", "browser/test_gdssm", [], False),
        (f"{INDUCTION}/draw/matrices.py", "browser/test_pages", ["birth"], True),
        (f"{INDUCTION}/words.md", "test_contract", ["birth.induction"], True),
        (f"{INDUCTION}/words.md", "test_texts", [], True),
        # what all experiments of a paper share, and their versions
        ("icl_core/papers/birth/shared/probes.py", "test_golden", ["birth.dimension"], True),
        ("icl_core/papers/birth/shared/probes.py", "test_golden", ["gdssm.layer"], False),
        ("icl_core/papers/birth/__init__.py", "test_golden", ["birth.induction"], True),
        # experiments that a test names in part, or reads all of
        ("icl_core/papers/birth/counting/words.py", "papers/test_birth_script", [], True),
        ("icl_core/papers/memformers/learned/train.py", "papers/test_memformers_at_once", [], True),
        ("icl_core/papers/memformers/theorems/claims.py", "test_findings", [], True),
        ("icl_core/papers/gdssm/lesson.py", "browser/test_lessons", [], True),
        # tests, and what tests import
        ("tests/drawn.py", "papers/test_memformers_further", [], True),
        ("tests/drawn.py", "test_statistics", [], False),
        ("tests/test_store.py", "test_store", [], True),
        # nobody tells who needs these
        ("pages/ui/stage/films.py", "test_statistics", [], True),
        ("icl_core/contract/knobs.py", "test_statistics", [], True),
        ("tests/papers_extra/toy/walk/words.md", "test_jobs", [], True),
        ("tests/faults/fault_killed.py", "test_faults_injected", [], True),
        ("tests/conftest.py", "test_statistics", [], True),
        ("icl_core/papers/birth/gone.py", "test_statistics", [], True),
        # documents
        ("icl_core/LIBRARY.md", "test_library", [], True),
        ("icl_core/LIBRARY.md", "test_statistics", [], False),
        ("README.md", "test_documents_true", [], True),
    ],
)
def test_a_change_is_tested_by_those_that_it_can_fail(file, test, subjects, chosen):
    path = ROOT / "tests" / f"{test}.py"
    assert path.exists()
    assert changed.selector([file])(path, subjects) == chosen


def test_any_parameter_can_be_asked_about():
    values = {"id": "gdssm.layer", "paper": SimpleNamespace(name="birth"), "text": "é" * 3000}
    item = SimpleNamespace(callspec=SimpleNamespace(params=values | {"number": 3, "none": None}))
    assert changed.parameters(item) == ["gdssm.layer", "birth"]


def test_nothing_is_tested_where_nothing_has_changed():
    assert not changed.selector([])(ROOT / "tests" / "test_store.py", [])
