"""A link, a pipe or a folder in place of what a visitor gave or of the database stops nobody."""

import os

import pytest
from house import TOY, house
from test_store import INFO, TENSORS

from icl_core import own_matrices, registry, text_counts
from icl_core.contract.knobs import NotHere
from icl_core.runs import documents, store


def link(path) -> None:
    path.symlink_to("/dev/zero")


ODD = pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, link])


@pytest.fixture(autouse=True)
def runs(tmp_path, monkeypatch):
    with house(tmp_path, monkeypatch) as made:
        yield made


def config(**values):
    return registry.experiment(TOY).config(**{"steps": 20, **values})


@ODD
@pytest.mark.parametrize("kind", [text_counts, own_matrices])
def test_in_place_of_what_a_visitor_gave(make, kind):
    path = kind.path_of("0" * 16)
    path.parent.mkdir(parents=True)
    make(path)
    with pytest.raises(NotHere, match="must be as they were kept, got others"):
        kind.load("0" * 16)
    assert documents.all_documents() == []


def test_what_is_larger_than_can_be_given_is_not_read(monkeypatch):
    path = text_counts.path_of(documents.keep("text", text_counts.count("to be or not")))
    monkeypatch.setattr(text_counts, "LARGEST", path.stat().st_size - 1)
    text_counts._load.cache_clear()
    with pytest.raises(NotHere, match="must be as they were kept"):
        text_counts.load(path.stem)


@ODD
@pytest.mark.parametrize("name", ["cache.db", "cache.db-journal", "cache.db-shm"])
def test_in_place_of_the_database(runs, make, name):
    kept = runs.save(TOY, config(), TENSORS, INFO)
    runs.close()
    make(runs.local / "index.lock")
    path = runs.local / "runs" / name
    path.unlink(missing_ok=True)
    make(path)
    again = store.Store(runs.shipped, runs.local)
    assert [header.key for header in again.headers(TOY)] == [kept.key] and again.load(
        kept
    ) is not None
    (message,) = again.messages()
    assert "was damaged and set aside; the index was made anew" in message
    again.save(TOY, config(seed=1), TENSORS, INFO)
    assert len(again.headers(TOY)) == 2
