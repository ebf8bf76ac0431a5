"""The database of the queue: several processes change it at once, and whatever happens to its file
is said in a sentence."""

import hashlib
import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial

import pytest
from house import ROOT, TOY, change, config, others_may_change, wait_for

from icl_core.contract.knobs import BadSetting
from icl_core.jobs import queue, table
from icl_core.jobs.folder import Job
from icl_core.runs import database, disk, owners
from icl_core.runs.request import Request

pytestmark = pytest.mark.usefixtures("runs")
TAKERS = 4
JOBS = 60
TAKE = """
import sys
from icl_core.jobs.worker import take_job
from icl_core.jobs import queue
from icl_core.runs import database
print("ready", flush=True)
sys.stdin.readline()
for state in queue.states():
    with database.transaction():
        own_job = take_job(state.key)
        if own_job:
            own_job.job.write_state(status="done")
    if own_job:
        print(state.key, flush=True)
        own_job.lock.close()
"""
COUNT = """
from icl_core.jobs import table
from icl_core.runs import database
while True:
    with database.transaction() as connection:
        connection.execute("INSERT INTO owners VALUES (hex(randomblob(8)), 'a', 0.0)")
    print(".", end="", flush=True)
"""


def started(code: str) -> subprocess.Popen:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, **pipes)


@pytest.mark.long
def test_no_job_is_taken_twice_by_several_processes():
    keys = [queue.submit(Request(TOY, config(seed=seed))) for seed in range(JOBS)]
    takers = [started(TAKE) for _ in range(TAKERS)]
    for taker in takers:
        assert taker.stdout and taker.stdout.readline() == "ready\n"
    taken_keys = [line for taker in takers for line in taker.communicate("go\n", 120)[0].split()]
    assert sorted(taken_keys) == sorted(keys)


def has_more(count: int) -> bool:
    return database.rows("SELECT count(*) FROM owners")[0][0] > count


def test_what_a_killed_process_has_written_is_there_and_nothing_by_half():
    owners.add("first", "a")
    for _ in range(3):
        before = database.rows("SELECT count(*) FROM owners")[0][0]
        writer = started(COUNT)
        wait_for(partial(has_more, before + 20), "rows")
        writer.send_signal(signal.SIGKILL)
        dots = writer.communicate()[0]
        written = database.rows("SELECT count(*) FROM owners")[0][0] - before
        assert len(dots) <= written <= len(dots) + 1
        assert database.rows("PRAGMA integrity_check") == [("ok",)]


def test_a_transaction_is_whole_or_not_at_all_and_others_wait_for_it():
    key = queue.submit(Request(TOY, config()))
    with pytest.raises(ZeroDivisionError), database.transaction():
        table.write_cancel(key, "cancelled")
        assert table.cancel_request(key) == "cancelled" and not others_may_change()
        raise ZeroDivisionError
    assert table.cancel_request(key) == "" and others_may_change()


def test_what_needs_the_change_on_the_disk_happens_after_it():
    seen = []
    with database.transaction():
        owners.add("item", "a")
        database.after_commit(lambda: seen.append(others_may_change()))
        assert not seen
    assert seen == [True]
    with pytest.raises(ZeroDivisionError), database.transaction():
        database.after_commit(lambda: seen.append("never"))
        raise ZeroDivisionError
    assert seen == [True]
    database.after_commit(lambda: seen.append("at once"))
    assert seen == [True, "at once"]


def test_every_change_is_on_the_disk_and_nothing_is_mapped_into_memory():
    with database.transaction() as connection:
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("truncate",)
        assert connection.execute("PRAGMA mmap_size").fetchone() in ((0,), None)


def test_a_child_of_a_process_that_has_used_it_uses_it_as_well():
    queue.submit(Request(TOY, config()))
    context = multiprocessing.get_context("fork")
    child = context.Process(target=lambda: queue.submit(Request(TOY, config(seed=1))))
    child.start()
    child.join(60)
    assert child.exitcode == 0 and len(queue.states()) == 2


def test_looking_makes_no_file(runs):
    assert queue.states() == [] and owners.owners_of("item") == set()
    assert not runs.local.exists()


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda path: path.write_bytes(b"no database" * 900), id="another file"),
        pytest.param(lambda path: os.truncate(path, 5000), id="cut"),
        pytest.param(lambda path: _overwrite(path, 0, b"\0" * 100), id="its head"),
        pytest.param(lambda path: _overwrite(path, 4096, b"\xff" * 4096), id="a page"),
        pytest.param(lambda path: _drop_table(path), id="a table is missing"),
        pytest.param(lambda path: _rename_column(path), id="a column has another name"),
    ],
)
def test_a_damaged_one_is_set_aside_with_a_sentence_and_all_goes_on(runs, damage):
    key = queue.submit(Request(TOY, config()))
    damage(database.path())
    queue.states()
    assert queue.submit(Request(TOY, config())) == key and queue.state(key).status == "queued"
    assert owners.owners_of(key) == {""}
    (message,) = runs.messages()
    assert "was damaged, or of an older version, and set aside as" in message
    assert len([path for path in (runs.local / "aside").iterdir() if path.suffix == ".db"]) == 1


def _overwrite(path, start: int, content: bytes) -> None:
    with open(path, "r+b") as file:
        file.seek(start)
        file.write(content)


def _drop_table(path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TABLE owners")


def _rename_column(path) -> None:
    content = path.read_bytes().replace(b"experiment TEXT", b"axperiment TEXT")
    path.write_bytes(content)


def test_what_can_still_be_read_of_a_damaged_one_is_kept():
    keys = [queue.submit(Request(TOY, config(seed=seed))) for seed in range(5)]
    _drop_table(database.path())
    assert owners.owners_of(keys[0]) == set()
    assert [state.key for state in queue.states()] == keys


def test_one_of_a_newer_version_is_left_alone_with_a_sentence(runs):
    queue.submit(Request(TOY, config()))
    with closing(sqlite3.connect(database.path())) as connection:
        connection.execute("PRAGMA user_version = 9")
    before = database.path().read_bytes()
    assert queue.states() == [] and "is of a newer version of this dashboard" in runs.messages()[0]
    with pytest.raises(OSError, match=r"newer version of this dashboard \(form 9; this one knows"):
        queue.submit(Request(TOY, config(seed=1)))
    assert database.path().read_bytes() == before


def test_a_network_drive_is_refused_with_a_sentence(runs, monkeypatch):
    monkeypatch.setattr(database, "file_system", lambda folder: "nfs4")
    with pytest.raises(OSError, match=r"is on a network drive \(nfs4\)"):
        queue.submit(Request(TOY, config()))
    assert "ICL_CACHE_DIR names a folder on a disk of this machine" in runs.messages()[0]


def test_the_file_system_of_a_folder_is_that_of_the_deepest_mount(monkeypatch, tmp_path):
    class Mount:
        def __init__(self, mountpoint, fstype):
            self.mountpoint = str(mountpoint)
            self.fstype = fstype

    mounts = [Mount("/", "ext4"), Mount(tmp_path, "NFS4"), Mount(tmp_path / "x", "tmpfs")]
    monkeypatch.setattr(disk.psutil, "disk_partitions", lambda all: mounts)
    disk.file_system.cache_clear()
    systems = [disk.file_system(folder) for folder in (tmp_path / "a", tmp_path / "x" / "b")]
    disk.file_system.cache_clear()
    assert systems == ["nfs4", "tmpfs"]


def test_a_full_disk_and_one_that_is_busy_for_long_are_told(monkeypatch):
    queue.submit(Request(TOY, config()))
    with pytest.raises(OSError, match="the disk is full"), database.transaction() as connection:
        connection.execute(f"PRAGMA max_page_count = {database.path().stat().st_size // 4096}")
        connection.execute("INSERT INTO owners VALUES (hex(zeroblob(100000)), 'a', 0)")
    monkeypatch.setattr(database, "PATIENCE", 0.1)
    with closing(sqlite3.connect(database.path(), isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(OSError, match=r"another process has kept .* locked"):
            queue.submit(Request(TOY, config(seed=1)))
        assert queue.states() == []  # a look does not raise


def test_a_link_in_its_place_is_not_followed(runs, tmp_path):
    queue.submit(Request(TOY, config()))
    outside = tmp_path / "outside.db"
    database.path().rename(outside)
    before = outside.read_bytes()
    database.path().symlink_to(outside)
    with pytest.raises(OSError, match="must be a file"):
        queue.submit(Request(TOY, config(seed=1)))
    assert queue.states() == [] and outside.read_bytes() == before


def test_a_read_only_server_reads_it_and_changes_nothing(monkeypatch):
    key = queue.submit(Request(TOY, config()))
    before = database.path().read_bytes(), database.path().stat().st_mtime_ns
    monkeypatch.setenv("ICL_READ_ONLY", "1")
    assert [state.key for state in queue.states()] == [key]
    with pytest.raises(BadSetting, match="read-only"):
        queue.submit(Request(TOY, config(seed=1)))
    assert (database.path().read_bytes(), database.path().stat().st_mtime_ns) == before


def test_the_tables_change_only_with_their_version():
    statements = "".join((*database.TABLES.values(), *database.TRIGGERS))
    digest = hashlib.sha256(statements.encode()).hexdigest()[:12]
    assert (database.VERSION, digest) == (2, "2ecad439d5ed")


def test_a_database_of_an_older_version_is_set_aside_with_a_sentence(runs):
    queue.submit(Request(TOY, config()))
    with closing(sqlite3.connect(database.path())) as connection:
        connection.execute("DROP TABLE jobs")
        connection.execute("CREATE TABLE jobs (key TEXT PRIMARY KEY)")
        connection.execute("PRAGMA user_version = 1")
    queue.submit(Request(TOY, config(seed=1)))
    (state,) = queue.states()
    assert state.config["seed"] == 1
    assert "of an older version, and set aside as" in database.message()
    assert list((runs.local / "aside").glob("queue-*.db"))


def test_who_watches_is_noted_once_a_while(monkeypatch):
    key = queue.submit(Request(TOY, config()))
    queue.watch(key, "page")
    seen = database.rows("SELECT seen FROM watchers")
    queue.watch(key, "page")
    assert database.rows("SELECT seen FROM watchers") == seen
    change("UPDATE watchers SET seen = ?", time.time() - 2 * queue.WATCHED)
    queue.watch(key, "page")
    assert database.rows("SELECT seen FROM watchers") > seen


def test_threads_that_look_while_it_changes_see_every_job():
    keys = [queue.submit(Request(TOY, config(seed=seed))) for seed in range(20)]

    def look(number: int) -> int:
        if number % 3 == 0:
            table.move(keys[number % 20], turn=number)
        return len(queue.states())

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(look, range(200))) == {20}


def test_what_did_not_come_to_be_is_not_remembered():
    key = queue.submit(Request(TOY, config()))
    with pytest.raises(ZeroDivisionError), database.transaction():
        table.move(key, turn=5)
        assert [state.turn for state in queue.states()] == [5]
        raise ZeroDivisionError
    change("UPDATE jobs SET turn = 7")  # the same number of changes as before
    assert [state.turn for state in queue.states()] == [7]


def test_who_cancels_at_once_with_another_cancels():
    def cancel(visitor: str) -> bool:
        return queue.cancel(key, visitor=visitor)

    with ThreadPoolExecutor(2) as pool:
        for seed in range(15):
            for visitor in "ab":
                key = queue.submit(Request(TOY, config(seed=seed)), visitor=visitor)
            assert sorted(pool.map(cancel, "ab")) == [False, True]
            assert queue.state(key).status == "cancelled"


def test_a_locked_database_costs_nothing_that_was_trained(monkeypatch):
    job = Job(queue.submit(Request(TOY, config())))
    for path in (job.checkpoint, job.live, job.preview):
        path.write_bytes(b"trained")
    monkeypatch.setattr(database, "PATIENCE", 0.1)
    with closing(sqlite3.connect(database.path(), isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        for use in (lambda: job.write_state(status="failed"), job.request):
            with pytest.raises(OSError, match="another process has kept"):
                use()
    assert all(path.exists() for path in (job.checkpoint, job.live, job.preview))


def test_a_folder_in_which_nothing_can_be_set_aside_is_told(runs):
    queue.submit(Request(TOY, config()))
    database.path().write_bytes(b"no database" * 900)
    (runs.local / "aside").touch()
    assert queue.states() == []
    with pytest.raises(OSError):
        queue.submit(Request(TOY, config()))


def test_of_a_damaged_one_every_row_is_kept_that_can_be_read():
    keys = [queue.submit(Request(TOY, config(seed=seed))) for seed in range(4)]
    change("UPDATE jobs SET visitor = CAST(x'ff' AS TEXT) WHERE key = ?", keys[1])
    _drop_table(database.path())
    assert owners.owners_of(keys[0]) == set()
    assert {state.key for state in queue.states()} == set(keys)
