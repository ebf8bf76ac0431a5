"""Files that are not as they were stored: no lock can be written, or a document is too large."""

import pytest
from house import TOY, house

from icl_core import registry
from icl_core.contract.knobs import NotHere
from icl_core.jobs import queue, worker
from icl_core.jobs.folder import Job
from icl_core.papers.birth.shared import text_counts
from icl_core.runs import documents


@pytest.fixture(autouse=True)
def runs(tmp_path, monkeypatch):
    with house(tmp_path, monkeypatch) as made:
        yield made


def config(**values):
    return registry.experiment(TOY).config(**{"steps": 20, **values})


def trained(key: str) -> bool:
    return worker.work(once=True, slots=1) == 1 and queue.state(key).status == "done"


def test_where_no_lock_of_a_training_can_be_written_it_is_trained_all_the_same():
    key = queue.submit(TOY, config())
    Job(key).phases.write_bytes(b"in the way")  # as on a disk that has become read-only
    assert trained(key)


def test_what_is_larger_than_can_be_given_is_not_read(monkeypatch):
    path = text_counts.path_of(documents.keep("text", text_counts.count("to be or not")))
    monkeypatch.setattr(text_counts, "LARGEST", path.stat().st_size - 1)
    text_counts._load.cache_clear()
    with pytest.raises(NotHere, match="must be as they were kept"):
        text_counts.load(path.stem)
