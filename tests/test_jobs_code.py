"""Two versions of the dashboard, or two checkouts, on one cache: whose code trains what."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import streamlit as st
from house import ROOT, TOY, ask, config, house
from streamlit.testing.v1 import AppTest
from test_links import open_page

from icl_core import registry
from icl_core.command.cli import main
from icl_core.contract.knobs import BadSetting
from icl_core.jobs import job_progress, phase_helper, queue, spawn, starts, table, train, worker
from icl_core.jobs.folder import Job, hold_lock, jobs_folder
from icl_core.runs import code
from icl_core.runs.header import key_of_record
from icl_core.share.run_file import open_run
from pages.ui.controls import training
from pages.ui.look import menu

OTHER = "9.9.9+0123456789ab"


@pytest.fixture(autouse=True)
def own_store(tmp_path, monkeypatch):
    with house(tmp_path, monkeypatch) as store:
        yield store


@pytest.fixture
def started(monkeypatch):
    """The environment of each worker that was started, in whose place nothing runs."""
    environments = []
    monkeypatch.setattr(
        spawn, "_start_workers", lambda count, wanted, *options: environments.extend(wanted)
    )
    return environments


@contextmanager
def other_code(name: str = OTHER, folder: str = "there", version: int = 1) -> Iterator[None]:
    """Let this process be one of other code, with this version of the experiment."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(code, "name", lambda: name)
        patch.setattr(code, "place", lambda: folder)
        patch.setattr(code, "identity", lambda: f"{name}@{folder}")
        patch.setitem(registry.papers()["toy"].experiments, "walk", version)
        forget_looks()
        yield
    forget_looks()


def forget_looks() -> None:
    """Read all jobs anew, as another process does."""
    table._last_look = table._Look()
    queue._placed_states.clear()


def work(slots: int = 9) -> int:
    return worker.work(once=True, slots=slots)


def test_a_worker_takes_only_what_its_own_code_was_asked_for(own_store, started):
    with other_code():
        key = ask()
    assert work() == 0 and spawn.ensure_workers(9) == 0 and not started
    said = training.describe(queue.state(key))
    assert said.startswith("Waiting: ") and f"{OTHER} in there" in said and code.name() in said
    with other_code():
        assert spawn.ensure_workers(9) == 1 and started[0][table.CODE] == f"{OTHER}@there"
        assert work() == 1
    assert own_store.exact(TOY, key).info["code"] == OTHER


def test_a_job_of_code_that_is_gone_says_so_and_can_be_taken_away(tmp_path):
    machine = code.place().partition(":")[0]
    (tmp_path / "icl_core").mkdir()
    with other_code(folder=f"{machine}:{tmp_path}"):
        key = ask()
    assert "waits for a worker" in queue.state(key).message
    (tmp_path / "icl_core").rmdir()
    forget_looks()
    message = queue.state(key).message
    assert "That folder is gone" in message and message.endswith("cancel it")
    assert queue.cancel(key)
    assert [job for job in queue.states() if not job.ended] == []


def test_a_job_goes_to_the_code_of_who_asked_last(own_store):
    with other_code():
        key = ask()
    requests = table.request_count()
    ask()
    assert table.request_count() > requests  # workers that wait look again
    assert queue.state(key).message == "" and work() == 1
    assert own_store.exact(TOY, key).info["code"] == code.name()


def test_a_job_that_changes_hands_as_a_worker_takes_it_is_left():
    key = ask()
    with other_code():
        ask()
    assert not Job(key).is_due() and worker.take_job(key) is None


def test_equal_code_elsewhere_and_what_was_here_before_count_as_the_code_here():
    name = code.name()
    own = code.identity()
    seen = {
        f"{name}@elsewhere": own,
        f"{OTHER}@{code.place()}": own,
        own: own,
        f"{OTHER}@elsewhere": f"{OTHER}@elsewhere",
        "": "",
    }
    assert {identity: code.as_seen_here(identity) for identity in seen} == seen


def test_an_edited_checkout_goes_on_with_what_it_was_asked_for_before(own_store):
    with other_code(folder=code.place()):
        key = ask()
    assert work() == 1 and own_store.exact(TOY, key).info["code"] == code.name()


def test_what_was_asked_for_with_an_earlier_version_of_the_same_checkout_fails_with_both_versions():
    key = ask()
    with other_code(folder=code.place(), version=2):
        assert work() == 1
        message = queue.state(key).message
    assert f"version 1 of {TOY}" in message and "version 2" in message and "restart" in message


def test_the_name_of_the_code_is_of_its_python_files_alone(tmp_path, monkeypatch):
    assert re.fullmatch(r"\d+\.\d+\.\d+\+[0-9a-f]{12}", code.name())
    assert code.source_digest().startswith(code.name().partition("+")[2])
    monkeypatch.setattr(code.papers, "__path__", [str(tmp_path)])
    (tmp_path / "words.md").write_text("a caption")
    digests = [code.source_digest()]
    (tmp_path / "words.md").write_text("another")
    digests.append(code.source_digest())
    (tmp_path / "train.py").write_text("seed = 1\n")
    digests.append(code.source_digest())
    (tmp_path / "train.py").write_text("seed = 2\n")
    digests.append(code.source_digest())
    assert digests[0] == digests[1] and len(set(digests)) == 3


def asked_before(version: int) -> str:
    """A request as the dashboard wrote it before it noted the code."""
    request = {"experiment": TOY, "version": version, "config": {**vars(config())}, "asked": 1}
    key = key_of_record(request)
    variables = table.current_environment()
    del variables[table.CODE]
    place = {"environment": variables, "visitor": "", "turn": 0, "later": False}
    Job(key).enqueue({**request, **place})
    return key


def test_a_request_that_names_no_code_is_for_its_version():
    present = asked_before(1)
    with other_code(version=2):
        assert work() == 0 and spawn.ensure_workers(9) == 0
        said = training.describe(queue.state(present))
        assert "an earlier version of the dashboard, with version 1" in said
        assert OTHER in said
    assert work() == 1 and queue.state(present).status == "done"


@pytest.mark.parametrize("watched", [True, False])
def test_an_idle_worker_ends_for_an_earlier_version_that_counts_on_it(watched):
    """That version starts none of its own beside it, even where a slot is free."""
    key = asked_before(1)
    if watched:
        queue.watch(key, "terminal-1")
    with other_code(version=2):
        assert worker._must_leave(9) == watched


def test_a_worker_of_other_code_is_not_counted_on_and_ends_where_it_holds_the_last_place(started):
    with other_code():
        key = ask()
        jobs_folder().mkdir(exist_ok=True)
    starts.note_slot(0)  # as a worker of the code here does
    with hold_lock(spawn.slot_lock(0)):
        assert not worker._must_leave(2) and worker._must_leave(1)
        with other_code():
            assert spawn.ensure_workers(1) == 0
            said = training.describe(queue.state(key))
            assert f"is for {OTHER} in there" in said
        holder = f"process {os.getpid()}, a worker of {code.name()} in {code.place()}:"
        assert holder in said
        with other_code():
            assert spawn.ensure_workers(2) == 1 and started[0][table.CODE] == f"{OTHER}@there"
            assert queue.state(key).message == ""


def test_a_worker_that_has_not_said_who_it_is_is_no_obstacle(started):
    key = ask()
    with hold_lock(spawn.slot_lock(0)):
        assert spawn.ensure_workers(1) == 0 and queue.state(key).message == ""


def test_a_checkpoint_of_other_code_is_begun_anew():
    job = Job(ask())
    with other_code():
        theirs = job_progress.JobProgress(
            job, phase_helper.identity_of(job.request()), 1, lambda: False, lambda: True
        )
        theirs._step = 7
        theirs.total = 20
        theirs._save_checkpoint({"now/x": np.ones(3)})
    for name, first in ((OTHER, 7), (code.name(), 0)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(code, "name", lambda name=name: name)
            progress = job_progress.JobProgress(
                job, phase_helper.identity_of(job.request()), 1, lambda: False, lambda: True
            )
        assert progress.first_step == first and (progress.resume() is None) == (not first)


def page() -> None:
    from pages.ui.paper_page import show

    show("toy")


def test_a_stored_run_of_other_code_is_shown_as_one(own_store, monkeypatch, capsys):
    monkeypatch.setattr(menu, "frame", lambda *of, **more: st.container())
    monkeypatch.setattr(spawn, "warm", lambda: None)
    with other_code():
        key = ask(steps=30)
        work()
    note = f"Computed by other code of the same version ({OTHER}; here {code.name()})."
    assert main(["run", TOY, "--set", "steps=30"]) == 0
    assert note in capsys.readouterr().err
    header = own_store.exact(TOY, key)
    assert note in open_run(header.path).report()
    app = AppTest.from_function(page, default_timeout=120)
    app.query_params["steps"] = "30"
    captions = [re.sub(r"\\(\W)", r"\1", caption.value) for caption in app.run().caption]
    assert any(note in caption for caption in captions)
    table_shown = open_page("runs", "").dataframe[0].value
    assert list(table_shown["Code"]) == [note]
    with other_code():
        assert not code.note(header)


@pytest.mark.parametrize(
    ("info", "said"),
    [
        ({}, "It is not noted which code computed it"),
        ({"code": OTHER}, f"({OTHER}; here "),
        ({"code": ["<b>", "\n"]}, "Computed by other code"),
        ({"code": OTHER, "given": "a.safetensors"}, ""),
        ({"given": "a.safetensors"}, ""),
    ],
)
def test_what_is_said_of_a_runs_code(own_store, info, said):
    arrays = {"x": np.ones(2)}
    note = code.note(own_store.save(TOY, config(), arrays, info))
    assert said in note and bool(note) == bool(said) and "\n" not in note
    assert code.note(own_store.ship(TOY, config(), arrays, info)) == ""


def test_each_code_has_a_dispatcher_of_its_own_for_a_scheduler(monkeypatch):
    """It would wait for ever for that of the other, which takes none of its jobs."""
    monkeypatch.setenv("ICL_SCHEDULER", "tcp://127.0.0.1:9")
    with hold_lock(spawn.slot_lock(0)):
        assert spawn.are_all_taken(1)
        with other_code():
            assert not spawn.are_all_taken(1)


def test_the_source_is_looked_at_for_each_new_request(monkeypatch):
    """Else a worker took, within the second after a change, what was asked of the new code."""
    files = {"train.py": 1}
    monkeypatch.setattr(train, "source_mtimes", lambda: dict(files))
    monkeypatch.setattr(train, "LOOK", 1e9)
    source = train.SourceWatch()
    assert not source.changed(5)
    files["train.py"] = 2
    assert not source.changed(5) and source.changed(6)


def checkout(folder: Path, edited: str, old: str, new: str) -> Path:
    """A copy of the core with one line changed."""
    shutil.copytree(ROOT / "icl_core", folder / "icl_core")
    path = folder / edited
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))
    return folder


def run_there(folder: Path, cache: Path, steps: int) -> tuple[list[float], str]:
    """The first two numbers that a command measures in a checkout, and what it says."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ICL_")}
    command = ["run", "gdssm.layer", "--json", "--set", "f=2", "N=4", "seeds=1", f"steps={steps}"]
    process = subprocess.run(
        [sys.executable, "-m", "icl_core", *command],
        cwd=folder,
        env={**environment, "ICL_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    values = [row["value"] for row in json.loads(process.stdout)]
    return [value for value in values if value is not None][:2], process.stderr


@pytest.mark.long
def test_who_asks_gets_what_their_own_checkout_computes(tmp_path):
    """The other checkout's worker is idle on the same cache as the second command asks."""
    seed = "10_000 + config.seed"
    train_file = "icl_core/papers/gdssm/shared/train.py"
    here = checkout(tmp_path / "here", train_file, seed, seed)
    there = checkout(tmp_path / "there", train_file, seed, "20_000 + config.seed")
    run_there(here, tmp_path / "cache", 40)
    values, said = run_there(there, tmp_path / "cache", 41)
    assert values == pytest.approx([2.01365, 6.39938], rel=1e-3) and not said
    values, said = run_there(here, tmp_path / "cache", 41)  # of the same key: shared, and said
    assert values == pytest.approx([2.01365, 6.39938], rel=1e-3)
    assert "Computed by other code of the same version" in said


@pytest.mark.long
def test_an_older_version_gets_its_run_beside_a_newer_ones_worker(tmp_path):
    paper = "icl_core/papers/gdssm/__init__.py"
    version = registry.version("gdssm.layer")
    line = f'"layer": {version},'
    newer = checkout(tmp_path / "newer", paper, line, line)
    older = checkout(tmp_path / "older", paper, line, f'"layer": {version - 1},')
    run_there(newer, tmp_path / "cache", 40)
    values, said = run_there(older, tmp_path / "cache", 42)
    assert len(values) == 2 and not said


def test_a_file_of_the_source_that_is_gone_when_it_is_read_does_no_harm(tmp_path, monkeypatch):
    (tmp_path / "train.py").write_text("x = 1\n")
    monkeypatch.setattr(code, "source_folders", lambda: [tmp_path])
    before = code.source_digest()
    (tmp_path / ".#train.py").symlink_to("nobody@nowhere")  # an editor's lock
    assert code.source_digest() == before


def test_a_variable_that_cannot_be_read_is_refused_where_a_run_is_asked_for(monkeypatch):
    monkeypatch.setenv("ICL_FAST", "off")
    with pytest.raises(BadSetting, match="ICL_FAST must be 0 or 1, got 'off'"):
        table.check_environment()
