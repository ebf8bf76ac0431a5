"""Runs go to disk and back; what is damaged, foreign or old counts as absent and is said."""

import dataclasses
import os
import pickle
import shutil
import sqlite3
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import diskcache
import numpy as np
import pytest
from house import ROOT, TOY
from safetensors.numpy import load

from icl_core import registry
from icl_core.contract import knobs
from icl_core.runs import local, store
from icl_core.runs.file import pack
from icl_core.runs.request import Request
from icl_core.runs.run_index import BytesDisk, Refused, RunCache

TENSORS = {
    "curve/loss": np.array([[1.0, 0.5, np.nan]], np.float32),
    "a/half": np.arange(3, dtype=np.float16),
    "b/double": np.array(np.pi),
    "c/whole": np.array([[1, -2]], np.int64),
    "d/flags": np.array([True, False, True]),
    "e/state": np.arange(5, dtype=np.uint8),
    "f/empty": np.zeros((0, 4), np.float32),
}
INFO = {"seconds": 1.5, "loss": 0.5, "device": "CPU", "metrics": []}


@pytest.fixture
def config():
    return registry.experiment(TOY).config(steps=50)


@pytest.mark.parametrize("way", ["save", "ship"])
def test_a_run_comes_back_as_it_was(runs, config, way):
    getattr(runs, way)(TOY, config, TENSORS, INFO)
    header = runs.find(Request(TOY, config))
    run = runs.load(header)
    assert run.config == config and run.finished and run.digest == header.digest
    assert header.origin == {"save": "local", "ship": "shipped"}[way]
    assert header.info == {**INFO, "version": 1}
    assert run.tensors.keys() == TENSORS.keys()
    for name, tensor in TENSORS.items():
        np.testing.assert_array_equal(run[name], tensor, strict=True)
    with pytest.raises(ValueError, match="read-only"):
        run["d/flags"][0] = False


def test_safetensors_itself_reads_the_file(runs, config):
    tensors = load(runs.save(TOY, config, TENSORS, INFO).path.read_bytes())
    for name, expected in TENSORS.items():
        np.testing.assert_array_equal(tensors[name], expected, strict=True)


def test_a_dtype_the_file_cannot_hold_is_refused(runs, config):
    with pytest.raises(TypeError, match="'x' must be of one of the dtypes"):
        runs.save(TOY, config, {"x": np.array([1j])}, INFO)


def damage_cut(content):
    return content[:-3]


def damage_flip(content):
    return content[:-3] + bytes([content[-3] ^ 4]) + content[-2:]


def damage_replace(content):
    return b"not a run at all"


def damage_foreign(content):
    return pack(TENSORS, {"experiment": TOY, "version": 1, "config": {"steps": 51}})


@pytest.mark.parametrize("damage", [damage_cut, damage_flip, damage_replace, damage_foreign])
@pytest.mark.parametrize("way", ["save", "ship"])
def test_a_damaged_file_is_set_aside_and_its_run_offered_anew(runs, config, damage, way):
    path = getattr(runs, way)(TOY, config, TENSORS, INFO).path
    path.write_bytes(damage(path.read_bytes()))
    header = runs.find(Request(TOY, config))
    assert header is None or runs.load(header) is None
    assert runs.find(Request(TOY, config)) is None and runs.headers(TOY) == []
    assert len(runs.messages()) == 1 and "expected" in runs.messages()[0]
    assert path.exists() == (way == "ship")
    assert len(list(runs.local.glob("aside/*.safetensors"))) == (way == "save")
    getattr(runs, way)(TOY, config, TENSORS, INFO)
    assert runs.load(runs.find(Request(TOY, config))) is not None


def test_settings_that_are_out_of_range_today_make_a_run_absent(runs):
    values = {**knobs.values(registry.experiment(TOY).config()), "steps": -1}
    runs.save(TOY, values, TENSORS, INFO)
    assert runs.headers(TOY) == [] and "steps must be" in runs.messages()[0]


def test_a_run_of_another_version_is_invisible(runs, config, monkeypatch):
    runs.save(TOY, config, TENSORS, INFO)
    monkeypatch.setitem(registry.papers()["toy"].experiments, "walk", 2)
    assert runs.find(Request(TOY, config)) is None
    assert runs.headers() == [] and runs.messages() == []
    monkeypatch.undo()


def test_more_seeds_serve_for_fewer_and_the_smallest_such_run(runs, config):
    for seeds in (8, 4):
        runs.ship(TOY, dataclasses.replace(config, seeds=seeds), TENSORS, INFO)
    assert runs.find(Request(TOY, config)).config["seeds"] == 4
    assert runs.find(Request(TOY, dataclasses.replace(config, seeds=5))).config["seeds"] == 8
    assert runs.find(Request(TOY, dataclasses.replace(config, seeds=9))) is None
    assert runs.find(Request(TOY, dataclasses.replace(config, d=9))) is None


def test_the_nearest_run_is_the_one_with_the_smallest_difference(runs, config):
    assert runs.nearest(Request(TOY, config)) is None
    for change in ({"d": 64}, {"d": 10}, {"rate": 10.0}):
        runs.save(TOY, dataclasses.replace(config, **change), TENSORS, INFO)
    assert runs.nearest(Request(TOY, config)).config["d"] == 10
    assert runs.nearest(Request(TOY, dataclasses.replace(config, rate=9.0))).config["rate"] == 10.0
    runs.save(TOY, dataclasses.replace(config, seed=1000), TENSORS, INFO)
    assert runs.nearest(Request(TOY, config)).config["seed"] == 1000


def test_the_shipped_run_is_found_by_the_name_of_its_preset(runs, config):
    runs.ship(TOY, config, TENSORS, {**INFO, "presets": ["classroom"]})
    assert runs.preset(TOY, "classroom").key == runs.find(Request(TOY, config)).key
    assert runs.preset(TOY, "paper") is None


def test_only_local_runs_can_be_deleted(runs, config):
    local = runs.save(TOY, config, TENSORS, INFO)
    shipped = runs.ship(TOY, config, TENSORS, INFO)
    assert runs.find(Request(TOY, config)).origin == "shipped"
    with pytest.raises(ValueError, match="must be local"):
        runs.delete(shipped)
    runs.delete(local)
    assert [header.origin for header in runs.headers()] == ["shipped"] and not local.path.exists()
    assert runs.load(local) is None


@pytest.fixture
def small(tmp_path, config):
    """A store with room for two runs and a half."""
    record = {"experiment": TOY, "version": 1, "config": knobs.values(config), **INFO}
    limit = int(2.5 * len(pack(TENSORS, record)))
    with closing(store.Store(tmp_path / "artifacts", tmp_path / "cache", limit)) as small:
        yield small


def test_the_longest_unused_run_goes_first(small, config):
    first, second, third = (dataclasses.replace(config, seed=seed) for seed in (1, 2, 3))
    small.save(TOY, first, TENSORS, INFO)
    small.save(TOY, second, TENSORS, INFO)
    # looking is no use, loading is
    assert small.headers() and small.load(small.find(Request(TOY, first))) is not None
    small.save(TOY, third, TENSORS, INFO)
    there = [bool(small.find(Request(TOY, one))) for one in (first, second, third)]
    assert there == [True, False, True]
    with pytest.raises(knobs.BadSetting, match=r"the run would take .* bytes or more"):
        small.save(TOY, config, {"x": np.zeros(small.limit)}, INFO)
    assert len(small.headers()) == 2


def test_runs_used_in_a_future_that_never_came_go_before_new_ones(small, config):
    configs = [dataclasses.replace(config, seed=seed) for seed in range(4)]
    for one in configs[:2]:
        small.save(TOY, one, TENSORS, INFO)
    with closing(sqlite3.connect(small.local / "runs" / "cache.db")) as database, database:
        # the clock is set back
        database.execute("UPDATE Cache SET access_time = access_time + 1e6")
    for one in configs[2:]:
        small.save(TOY, one, TENSORS, INFO)
    assert [bool(small.find(Request(TOY, one))) for one in configs] == [False, False, True, True]


@pytest.mark.parametrize(
    ("text", "size"),
    [("1000", 1000), ("2GiB", 2**31), ("1.5 kB", 1500), ("3M", 3 * 10**6), ("5B", 5)],
)
def test_sizes_are_read(text, size):
    assert local.size_limit(text) == size


@pytest.mark.parametrize("text", ["much", "-1", "9" * 400, "9" * 30 + "TiB", "99999999999TiB"])
def test_a_size_that_is_none_is_refused(text):
    with pytest.raises(ValueError, match=r"ICL_CACHE_LIMIT must be .*, got '.{1,45}$"):
        local.size_limit(text)


def test_the_cache_belongs_to_its_owner_alone(runs, config):
    path = runs.save(TOY, config, TENSORS, INFO).path
    assert stat.S_IMODE(os.stat(path.parent).st_mode) == 0o700
    assert stat.S_IMODE(os.stat(runs.local).st_mode) == 0o700


class Bomb:
    """Unpickling it would leave a trace."""

    def __reduce__(self):
        return (os.mkdir, ("exploded",))


def plant(path, **columns):
    """Change the one row of the cache's database."""
    with sqlite3.connect(path) as database:
        for name, value in columns.items():
            database.execute(f"UPDATE Cache SET {name} = ?", (value,))
    database.close()


@pytest.mark.parametrize(
    "columns",
    [
        {"mode": 4, "filename": None, "value": "pickled"},
        {"mode": 4},
        {"mode": 1, "filename": None, "value": b"x"},
        {"raw": 0, "key": "pickled"},
        {"filename": "../../secret.safetensors"},
        {"filename": "/etc/passwd"},
        {"key": "../x"},
    ],
    ids=str,
)
def test_rows_that_are_not_ours_are_refused_and_never_unpickled(
    runs, config, tmp_path, monkeypatch, columns
):
    monkeypatch.chdir(tmp_path)
    header = runs.save(TOY, config, TENSORS, INFO)
    # the files were looked through: only the index tells of them from now on
    assert runs.find(Request(TOY, config))
    runs.close()
    bomb = pickle.dumps(Bomb())
    row = {name: bomb if value == "pickled" else value for name, value in columns.items()}
    plant(runs.local / "runs" / "cache.db", **row)
    assert runs.find(Request(TOY, config)) is None
    assert "refused" in runs.messages()[0]
    runs.load(header)
    runs.delete(header)
    if "key" not in columns:  # under another key the row is out of reach
        assert runs.save(TOY, config, TENSORS, INFO)
    assert not (tmp_path / "exploded").exists()


def test_the_disk_refuses_pickles_both_ways(tmp_path):
    disk = BytesDisk(str(tmp_path))
    for refused in (
        lambda: disk.put(1),
        lambda: disk.put(("a",)),
        lambda: disk.get(b"\x80", False),
        lambda: disk.store({}, False, key="a"),
        lambda: disk.fetch(4, "a.val", None, False),
    ):
        with pytest.raises(Refused):
            refused()
    outside = tmp_path.with_suffix(".txt")
    outside.write_text("not yours")
    disk.remove(f"../{outside.name}")
    assert outside.exists()
    for name in ("../a", "/a", "a/b", "", None, ".hidden"):
        with pytest.raises(Refused, match="must stay in the cache's folder"):
            disk.fetch(2, name, None, False)


def test_a_database_that_fails_is_said_and_the_run_is_loaded_all_the_same(
    runs, config, monkeypatch
):
    def locked(*_, **__):
        raise sqlite3.OperationalError("database is locked")

    header = runs.save(TOY, config, TENSORS, INFO)
    monkeypatch.setattr(diskcache.Cache, "get", locked)
    monkeypatch.setattr(diskcache.Cache, "delete", locked)
    assert runs.load(header) is not None
    runs.delete(header)
    assert runs.messages() == [
        f"The cache of runs in {runs.local / 'runs'} could not be changed: database is locked."
    ]
    monkeypatch.setattr(diskcache.Cache, "set", locked)
    with pytest.raises(OSError, match="could not be written"):
        runs.save(TOY, config, TENSORS, INFO)


def test_many_can_look_while_a_file_changes(runs, config):
    path = runs.ship(TOY, config, TENSORS, INFO).path
    good = path.read_bytes()

    def look(number):
        if number % 5 == 0:
            path.write_bytes(good if number % 2 else good[:-3])
        return runs.headers(TOY)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(look, range(200)))
    path.write_bytes(good)
    assert runs.load(runs.find(Request(TOY, config))) is not None


def test_many_can_create_the_cache_at_once(tmp_path):
    def create(number):
        with closing(RunCache(tmp_path / "runs", 10**6, print)) as run_cache:
            run_cache.put(f"run{number}", b"content")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(create, range(8)))
    assert len(RunCache(tmp_path / "runs", 10**6, print).paths()) == 8


def test_the_front_page_finds_and_loads_without_torch(runs, config):
    runs.ship(TOY, config, TENSORS, {**INFO, "presets": ["classroom"]})
    code = (
        "import sys; from icl_core.evidence import measurements\n"
        "from icl_core.runs import store\nfrom icl_core.runs.request import Request\n"
        "s = store.default()\n"
        f"run = s.load(s.preset('{TOY}', 'classroom'), typed=False)\n"
        f"assert run.config.steps == 50 and not measurements.counts(s) and s.find("
        f"Request('{TOY}', run.config))\n"
        "assert 'torch._C' not in sys.modules and not [n for n in sys.modules if "
        "n.startswith('icl_core.papers.toy.')]"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_a_shipped_run_in_the_folder_of_another_experiment_is_ignored(runs, config, monkeypatch):
    header = runs.ship(TOY, config, TENSORS, {**INFO, "presets": ["classroom"]})
    other = runs.shipped / "toy" / "other"
    other.mkdir()
    shutil.copy(header.path, other)
    monkeypatch.setattr(registry, "experiment_ids", lambda: [TOY, "toy.other"])
    assert [h.path for h in runs.headers()] == [header.path]
    (message,) = runs.messages()
    assert message.endswith(f"is ignored: expected a run of another experiment, got one of {TOY}.")
