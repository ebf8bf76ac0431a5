"""A link, a pipe or a folder in place of a lock or of a message to a worker stops nobody."""

import os
import subprocess

import pytest
from house import TOY, house

from icl_core import registry
from icl_core.contract.knobs import NotHere
from icl_core.jobs import folder, queue, spawn, worker
from icl_core.jobs.folder import Job
from icl_core.jobs.shared import SharedTrainings
from icl_core.papers.birth.shared import text_counts
from icl_core.runs import documents


def link(path) -> None:
    path.symlink_to("/dev/zero")


ODD = pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, link])


@pytest.fixture(autouse=True)
def runs(tmp_path, monkeypatch):
    with house(tmp_path, monkeypatch) as made:
        yield made


def config(**values):
    return registry.experiment(TOY).config(**{"steps": 20, **values})


def trained(key: str) -> bool:
    return worker.work(once=True, slots=1) == 1 and queue.state(key).status == "done"


@ODD
@pytest.mark.parametrize("name", ["lock", "cancel"])
def test_in_place_of_what_a_job_is_held_and_ended_by(make, name):
    key = queue.submit(TOY, config())
    make(Job(key).folder / name)
    assert trained(key)


@ODD
@pytest.mark.parametrize(
    "name", ["queue.lock", "slot-0.lock", "reserve", "workers.log", "pace.json", folder.ASKED]
)
def test_in_place_of_what_all_jobs_share(make, name, monkeypatch):
    key, started = queue.submit(TOY, config()), []
    path = folder.jobs_folder() / name
    path.unlink(missing_ok=True)
    make(path)
    with monkeypatch.context() as patch:
        patch.setattr(subprocess, "Popen", lambda *given, **more: started.append(given))
        assert spawn.ensure_workers(1) == 1 and len(started) == 1
    assert trained(key)


@ODD
def test_a_job_can_be_cancelled_all_the_same(make):
    key = queue.submit(TOY, config())
    make(Job(key).cancel)
    Job(key).give_up("left")
    assert Job(key).cancelled() == "left"


@ODD
def test_in_place_of_what_a_training_shared_by_workers_tells(make):
    job = Job(queue.submit(TOY, config()))
    job.phases.mkdir()
    here, there = SharedTrainings(job, {}), SharedTrainings(job, {})
    make(here._path("a", "step"))
    assert there.steps() == 0 and here.begin("a")
    here.step("a", 7)
    assert there.steps() == 7
    here.leave()


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
