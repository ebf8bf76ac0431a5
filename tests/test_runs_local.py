"""The runs made here survive the loss of their index, their folder and the right to write."""

import dataclasses
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import diskcache
import numpy as np
import pytest
from house import ROOT, TOY
from test_store import INFO, TENSORS

from icl_core import registry
from icl_core.runs import run_index, store
from icl_core.runs.request import Request


@pytest.fixture
def configs():
    return [registry.experiment(TOY).config(steps=50, seed=seed) for seed in range(3)]


def afresh(runs):
    """The same folders as another process sees them."""
    runs.close()
    return store.Store(runs.shipped, runs.local)


def keys(runs):
    return {header.key for header in runs.headers(TOY)}


@pytest.mark.parametrize(
    ("word", "damaged"), [(b"NEW.size", b"LEW.size"), (b"access_time REAL", b"acbess_time REAL")]
)
@pytest.mark.parametrize("when", ["same process", "another"])
def test_an_index_whose_schema_makes_no_sense_is_made_anew(runs, configs, word, damaged, when):
    saved = runs.save(TOY, configs[0], TENSORS, INFO)
    runs.close()
    database = runs.local / "runs" / "cache.db"
    content = database.read_bytes()
    assert word in content
    database.write_bytes(content.replace(word, damaged))
    runs = afresh(runs) if when == "another" else runs
    assert when == "same process" or keys(runs) == {saved.key}
    more = runs.save(TOY, configs[1], TENSORS, INFO)
    for _ in range(2):
        assert keys(runs) == keys(afresh(runs)) == {saved.key, more.key}
    assert "the index was made anew" in " ".join(runs.messages())


def test_runs_are_found_by_their_files_where_neither_the_index_nor_its_fault_can_be_read(
    runs, configs, monkeypatch
):
    saved = runs.save(TOY, configs[0], TENSORS, INFO)

    def unreadable():
        raise OSError("an odd disk")

    for name in ("damaged", "paths"):
        monkeypatch.setattr(runs._made._cache, name, unreadable)
    assert runs._made.paths() == {saved.key: saved.path}


@pytest.mark.parametrize(
    "damage", [b"no database " * 1000, b"", None], ids=["foreign", "empty", "gone"]
)
@pytest.mark.parametrize("when", ["same process", "another"])
def test_a_lost_index_is_made_anew_from_the_files(runs, configs, damage, when):
    saved = [runs.save(TOY, config, TENSORS, INFO) for config in configs]
    assert len(keys(runs)) == 3
    runs.close()
    for path in (runs.local / "runs").glob("cache.db*"):
        path.write_bytes(damage) if damage is not None else path.unlink()
    saved[0].path.write_bytes(saved[0].path.read_bytes()[:-3])
    runs = afresh(runs) if when == "another" or not damage else runs
    assert keys(runs) == {header.key for header in saved[1:]}
    messages = runs.messages()
    assert ("the index was made anew" in " ".join(messages)) == bool(damage)
    assert str(saved[0].path) in " ".join(messages) and len(messages) == 1 + bool(damage)
    assert len(list((runs.local / "aside").glob("*.safetensors"))) == 1
    header = runs.save(TOY, configs[0], TENSORS, INFO)
    assert runs.load(header) and keys(afresh(runs)) == {header.key for header in saved}


def test_an_index_that_is_damaged_in_the_middle_keeps_no_run_from_being_saved(runs, configs):
    for config in configs[:2]:
        runs.save(TOY, config, TENSORS, INFO)
    runs.close()
    path = runs.local / "runs" / "cache.db"
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))
    runs.save(TOY, configs[2], TENSORS, INFO)
    assert len(keys(runs)) == 3


def test_many_can_make_the_index_anew_at_once(runs, configs):
    for config in configs:
        runs.save(TOY, config, TENSORS, INFO)
    runs.close()
    (runs.local / "runs" / "cache.db").write_bytes(b"no database " * 1000)
    others = [store.Store(runs.shipped, runs.local) for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        assert all(len(result) == 3 for result in pool.map(keys, others))
    assert sum("made anew" in message for other in others for message in other.messages()) == 1


def test_a_run_whose_row_was_never_written_is_taken_in(runs, configs):
    header = runs.save(TOY, configs[0], TENSORS, INFO)
    orphan = runs.save(TOY, configs[1], TENSORS, INFO)
    content = orphan.path.read_bytes()
    runs.delete(orphan)
    orphan.path.write_bytes(content)
    draft = orphan.path.with_name(f".{orphan.path.name}.999999999-1")
    draft.write_bytes(content)
    runs = afresh(runs)
    assert keys(runs) == {header.key, orphan.key} and runs.messages() == []
    assert not draft.exists()
    runs.delete(orphan)
    assert keys(runs) == {header.key} and not orphan.path.exists()


@pytest.mark.parametrize("folder", ["", "runs", "runs/cache.db"])
def test_a_folder_removed_under_a_worker_is_made_anew_and_the_run_kept(runs, configs, folder):
    runs.save(TOY, configs[0], TENSORS, INFO)
    removed = runs.local / folder
    shutil.rmtree(removed) if removed.is_dir() else removed.unlink()
    headers = [runs.save(TOY, config, TENSORS, INFO) for config in configs[1:]]
    assert {header.key for header in headers} <= keys(runs) and all(map(runs.load, headers))
    assert stat.S_IMODE((runs.local / "runs").stat().st_mode) == 0o700


def test_the_file_is_synced_before_its_row_counts(runs, configs, monkeypatch):
    runs.save(TOY, configs[0], TENSORS, INFO)
    counts = []
    fsync = os.fsync

    def synced(descriptor):
        counts.append(len(runs._made._cache.paths()))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", synced)
    runs.save(TOY, configs[1], TENSORS, INFO)
    assert counts == [1, 1] and len(runs._made._cache.paths()) == 2


def test_all_that_is_kept_is_for_its_owner_alone(runs, configs):
    runs.save(TOY, configs[0], TENSORS, INFO)
    for path in (runs.local, *runs.local.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def below_a_file(folder, monkeypatch):
    """A cache that cannot be made."""
    folder.rename(folder.with_name("elsewhere"))
    folder.write_text("in the way")


def read_only(folder, monkeypatch):
    """As a cache on a read-only medium, or of another user, who lets us read. Root may write: so it
    is said only."""
    monkeypatch.setattr(os, "access", lambda path, mode: not str(path).startswith(str(folder)))


@pytest.mark.parametrize("hinder", [below_a_file, read_only])
def test_where_nothing_can_be_written_shipped_runs_are_shown_and_one_sentence_says_so(
    runs, configs, monkeypatch, hinder
):
    runs.ship(TOY, configs[0], TENSORS, INFO)
    runs.save(TOY, configs[1], TENSORS, INFO)
    assert runs.messages() == []
    hinder(runs.local, monkeypatch)
    runs = afresh(runs)
    assert runs.load(runs.find(Request(TOY, configs[0]))) is not None
    local = runs.find(Request(TOY, configs[1]))
    assert (local is not None and runs.load(local) is not None) == (hinder is read_only)
    (message,) = runs.messages()
    assert message.startswith(f"Nothing can be trained or kept here: {runs.local} must be a folder")
    with pytest.raises(OSError, match="must be a folder that this user may write to"):
        runs.save(TOY, configs[2], TENSORS, INFO)


def test_a_run_that_is_known_not_to_fit_can_be_refused_before_it_is_trained(tmp_path, configs):
    runs = store.Store(tmp_path / "artifacts", tmp_path / "cache", limit=100_000)
    small = dataclasses.replace(configs[0], d=4)
    assert runs.least_size(Request(TOY, small)) == 0
    runs.ship(TOY, small, {"x": np.zeros(20_000)}, INFO)
    larger = dataclasses.replace(small, d=5, seed=9)
    smaller = dataclasses.replace(small, d=3)
    assert runs.least_size(Request(TOY, larger)) == 160_000
    assert runs.least_size(Request(TOY, smaller)) == 160_000 * 9 // 16  # the square of 3 / 4
    refusal = r"the run would take 160,000 bytes or more, the limit is 100,000 bytes \(ICL_CACHE"
    with pytest.raises(ValueError, match=refusal):
        runs.check_room(runs.least_size(Request(TOY, larger)))
    runs.check_room(100_000)


def test_a_damaged_stray_beside_a_whole_run_takes_it_not_away(runs, configs):
    saved = runs.save(TOY, configs[0], TENSORS, INFO)
    (saved.path.parent / f"{saved.key}-00000000.safetensors").write_bytes(b"garbage" * 20)
    runs = afresh(runs)
    assert keys(runs) == {saved.key} and runs.load(runs.headers(TOY)[0]) is not None
    assert len(list((runs.local / "aside").glob("*.safetensors"))) == 1


@pytest.mark.parametrize("seen", [False, True], ids=["not yet seen", "seen"])
def test_an_index_that_is_cut_off_in_use_ends_no_process_and_loses_no_run(runs, configs, seen):
    """What is mapped into memory would end it, as the system has nothing to give for what is
    missing."""
    saved = runs.save(TOY, configs[0], TENSORS, INFO)
    assert not seen or keys(runs) == {saved.key}
    files = list((runs.local / "runs").glob("cache.db*"))
    assert {file.name for file in files} == {"cache.db", "cache.db-journal"}
    for file in files:
        os.truncate(file, 0)
    assert runs.load(saved) is not None and keys(runs) == {saved.key}
    runs.save(TOY, configs[1], TENSORS, INFO)
    assert len(keys(runs)) == 2


def as_before(runs) -> Path:
    """The index as an earlier version left it, which mapped its journal."""
    runs.close()
    folder = runs.local / "runs"
    with closing(diskcache.Cache(str(folder), disk=run_index.BytesDisk)) as earlier:
        assert earlier._sql("PRAGMA journal_mode").fetchone() == ("wal",)
    return folder


def test_an_index_of_an_earlier_version_is_used_as_it_is_while_that_has_it_open(runs, configs):
    runs.save(TOY, configs[0], TENSORS, INFO)
    folder = as_before(runs)
    with closing(sqlite3.connect(folder / "cache.db")) as earlier:
        assert earlier.execute("SELECT count(*) FROM Cache").fetchone() == (1,)
        runs.save(TOY, configs[1], TENSORS, INFO)
        assert earlier.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert len(keys(runs)) == earlier.execute("SELECT count(*) FROM Cache").fetchone()[0] == 2
    runs = afresh(runs)
    runs.save(TOY, configs[2], TENSORS, INFO)
    assert len(keys(runs)) == 3 and not list(folder.glob("cache.db-[ws]*"))


@pytest.mark.parametrize("before", [False, True], ids=["new", "of an earlier version"])
def test_processes_that_open_an_index_together_do_not_wait_for_each_other(runs, configs, before):
    folder = as_before(runs) if before else runs.local / "runs"
    code = (
        "import sys; from pathlib import Path; from icl_core.runs import "
        "run_index\nsys.stdin.read(1)\n"
        f"for _ in range(20): run_index.create(Path({str(folder)!r}), 10**6).close()\n"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, cwd=ROOT)
        for _ in range(3)
    ]
    for process in processes:
        process.stdin.write(b".")
        process.stdin.flush()
    assert [process.wait(timeout=30) for process in processes] == [0, 0, 0]
    runs.save(TOY, configs[0], TENSORS, INFO)
    assert not list(folder.glob("cache.db-[ws]*"))


def test_a_change_that_was_cut_short_is_no_damage(runs, configs):
    """A process that is killed as it writes leaves half a change, and beside it what was there
    before."""
    saved = [runs.save(TOY, config, TENSORS, INFO) for config in configs[:2]]
    runs.close()
    database = runs.local / "runs" / "cache.db"
    whole = database.read_bytes()
    with closing(sqlite3.connect(database, isolation_level=None)) as killed:
        killed.execute("PRAGMA cache_size = 1")  # so that it writes before it is told to
        killed.execute("BEGIN IMMEDIATE")
        killed.execute("CREATE TABLE filler (content)")
        killed.executemany("INSERT INTO filler VALUES (?)", [("x" * 4096,)] * 50)
        journal = Path(f"{database}-journal").read_bytes()
        half = database.read_bytes()
        killed.execute("ROLLBACK")
    assert half != whole and journal
    database.write_bytes(half)
    Path(f"{database}-journal").write_bytes(journal)
    runs = afresh(runs)
    assert keys(runs) == {header.key for header in saved} and runs.load(saved[0])
    runs.save(TOY, configs[2], TENSORS, INFO)
    assert len(keys(runs)) == 3 and not (runs.local / "aside").exists()
    with closing(sqlite3.connect(database)) as read:
        assert not read.execute("SELECT name FROM sqlite_master WHERE name = 'filler'").fetchall()
