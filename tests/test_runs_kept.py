"""Which run is shown where several could be, the form of a file to the byte, and which runs make
room for others."""

import dataclasses
import json
import os
import sqlite3
from types import SimpleNamespace

import diskcache
import numpy as np
import pytest
from house import TOY, change
from test_store import INFO, TENSORS

from icl_core import registry
from icl_core.contract.knobs import BadSetting
from icl_core.machine import device
from icl_core.runs import database, documents, owners, run_index
from icl_core.runs.atlas import Mapped, pack_atlas
from icl_core.runs.disk import write_whole
from icl_core.runs.file import Damaged, _seal, canonical, pack, read, unpack
from icl_core.runs.header import key_of_record, stored_settings
from icl_core.runs.request import Request
from icl_core.runs.run_index import RunCache

RECORD = {
    "experiment": TOY,
    "version": 1,
    "config": {"rate": 0.5, "d": 2.0},
    "metrics": [{"b": 1, "a": 2}],
}


def config(**values):
    return registry.experiment(TOY).config(**values)


def charted(runs, *configs):
    """An atlas of these runs."""
    mapped = [Mapped(stored_settings(config), {"seconds": 1.0}, TENSORS) for config in configs]
    write_whole(runs.atlases.path(TOY), pack_atlas(TOY, stored_settings(config()), mapped, []))


def test_of_runs_equally_near_a_shipped_one_is_shown_then_one_made_here_then_the_atlas(runs):
    """Another seed is as far as any other, so that these are equally near."""
    charted(runs, config(seed=1))
    assert runs.nearest(Request(TOY, config())).origin == "atlas"
    runs.save(TOY, config(seed=2), TENSORS, INFO)
    assert runs.nearest(Request(TOY, config())).origin == "local"
    runs.ship(TOY, config(seed=3), TENSORS, INFO)
    assert runs.nearest(Request(TOY, config())).origin == "shipped"
    assert runs.nearest(Request(TOY, config(seed=2))).config["seed"] == 2  # but nearer is nearer
    assert [header.origin for header in runs.every(TOY)] == ["shipped", "local", "atlas"]


@pytest.mark.parametrize("seeds", [range(1, 7), range(6, 0, -1)])
def test_of_runs_equally_near_and_of_one_origin_it_is_always_the_same_in_whatever_order_they_came(
    runs, seeds
):
    keys = [runs.save(TOY, config(seed=seed), TENSORS, INFO).key for seed in seeds]
    assert runs.nearest(Request(TOY, config())).key == min(keys)


def test_a_file_is_the_same_in_whatever_order_its_parts_are_named():
    nested = {**RECORD, "config": {"d": 2, "rate": 0.5}, "metrics": [{"a": 2, "b": 1}]}
    assert canonical(RECORD) == canonical(nested)
    assert pack(TENSORS, {**RECORD, "config": {"d": 2.0, "rate": 0.5}}) == pack(TENSORS, RECORD)
    assert list(unpack(pack(TENSORS, RECORD))[1]) == sorted(TENSORS)


def test_the_record_is_one_key_of_sorted_json_and_tensors_begin_where_they_can_be_mapped():
    content = pack(TENSORS, RECORD)
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    (text,) = header.pop("__metadata__").values()
    record = json.loads(text)
    assert list(record) == sorted(record) and "\n" not in text
    assert list(record["config"]) == ["d", "rate"] and list(record["metrics"][0]) == ["a", "b"]
    assert length % 8 == 0
    for name, tensor in header.items():
        start, end = tensor["data_offsets"]
        assert start % TENSORS[name].itemsize == 0 and end - start == TENSORS[name].nbytes
        assert content[8 + length + start : 8 + length + end] == TENSORS[name].tobytes()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 2.0, "a": (1, 0.5)}, '{"a":[1,0.5],"b":2}'),
        ({1: True, "x": None}, '{"1":true,"x":null}'),
        ([-0.0, 1e22, "ä"], '[0,10000000000000000000000,"\\u00e4"]'),
    ],
)
def test_canonical_json_is_as_it_always_was(value, text):
    """Keys and digests of all runs hang on it."""
    assert canonical(value) == text


@pytest.mark.parametrize("missing", ["experiment", "version", "config"])
def test_a_file_without_what_names_a_run_is_none(missing):
    content = pack(TENSORS, RECORD)
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    record = json.loads(header["__metadata__"]["run"])
    del record[missing], record["seal"]
    header["__metadata__"]["run"] = json.dumps({**record, "seal": _seal(record)}, sort_keys=True)
    packed = json.dumps(header).encode()
    sentence = "expected a run's experiment, version, config in the metadata, got "
    with pytest.raises(Damaged, match=sentence):
        unpack(len(packed).to_bytes(8, "little") + packed + content[8 + length :])


@pytest.fixture
def pauses(monkeypatch):
    """How long a creation waited, without waiting."""
    durations = []
    monkeypatch.setattr(run_index.time, "sleep", durations.append)
    return durations


def failing(monkeypatch, times, problem):
    """The cache cannot be opened that many times."""
    Index = run_index.Index
    attempts = []

    def open_index(*arguments, **options):
        attempts.append(options)
        if len(attempts) <= times:
            raise sqlite3.OperationalError(problem)
        return Index(*arguments, **options)

    monkeypatch.setattr(run_index, "Index", open_index)
    return attempts


def test_a_cache_that_others_create_is_tried_ten_times_with_ever_longer_pauses(
    tmp_path, monkeypatch, pauses
):
    attempts = failing(monkeypatch, 9, "database is locked")
    run_index.create(tmp_path / "runs", 1000).close()
    assert len(attempts) == 10 and pauses == [0.05 * 2**n for n in range(9)]
    assert attempts[-1]["disk"] is run_index.BytesDisk and attempts[-1]["size_limit"] == 1000


@pytest.mark.parametrize(
    ("problem", "tries"), [("database is locked", 10), ("unable to open database file", 1)]
)
def test_a_cache_that_stays_locked_is_given_up_and_another_fault_at_once(
    tmp_path, monkeypatch, pauses, problem, tries
):
    attempts = failing(monkeypatch, 99, problem)
    with pytest.raises(sqlite3.OperationalError, match=problem):
        run_index.create(tmp_path / "runs", 1000)
    assert len(attempts) == tries and len(pauses) == tries - 1


@pytest.fixture
def cache(tmp_path):
    messages = []
    run_cache = RunCache(tmp_path / "runs", 30, messages.append)
    yield run_cache
    run_cache.close()
    assert messages == []


def test_only_as_many_runs_go_as_must_and_those_longest_unused(cache):
    """diskcache's own culling would take ten at once."""
    for number in range(3):
        cache.put(f"run{number}", bytes(10))
    assert list(cache.paths()) == ["run0", "run1", "run2"]  # they fill it to the byte
    cache.use("run0")
    cache.put("run3", bytes(10))
    assert list(cache.paths()) == ["run2", "run0", "run3"]
    cache.put("run4", bytes(11))
    assert list(cache.paths()) == ["run3", "run4"]
    assert set(cache.folder.glob("*.safetensors")) == set(cache.paths().values())


def test_a_run_that_is_kept_anew_takes_the_place_of_its_former_file(cache):
    former = cache.put("run", bytes(10))
    path = cache.put("run", bytes(20))
    assert cache.paths() == {"run": path} and not former.exists() and path.stat().st_size == 20


def test_the_run_just_kept_stays_though_a_clock_set_back_makes_it_the_oldest(cache, monkeypatch):
    for number in range(3):
        cache.put(f"run{number}", bytes(10))
    monkeypatch.setattr(diskcache.core.time, "time", lambda: 1.0)
    cache.put("late", bytes(10))
    assert set(cache.paths()) == {"late", "run1", "run2"}


def test_a_run_that_vanished_takes_no_room(cache):
    for number in range(3):
        cache.put(f"run{number}", bytes(10))
    cache.paths()["run2"].unlink()
    cache.put("run3", bytes(10))
    assert set(cache.paths()) == {"run0", "run1", "run2", "run3"}


def test_files_are_told_by_name_the_oldest_first_and_nothing_else_is(cache):
    assert cache.files() == []
    names = ["b-0000000a.safetensors", "a-0000000b.safetensors", "a-0000000a.safetensors"]
    for age, name in enumerate([*names, "notes.txt", "a.safetensors", ".a-0000000a.safetensors"]):
        write_whole(cache.folder / name, b"x")
        os.utime(cache.folder / name, (1000 - min(age, 1), 1000 - min(age, 1)))
    assert cache.files() == [(name[0], cache.folder / name) for name in reversed(names)]


def test_a_run_is_read_with_its_tensors_in_order_and_none_can_be_written(tmp_path):
    (tmp_path / "x").write_bytes(pack(TENSORS, RECORD))
    record, tensors = read(tmp_path / "x")
    assert {name: record[name] for name in RECORD} == RECORD
    assert not any(tensor.flags.writeable for tensor in tensors.values())
    for name, expected in TENSORS.items():
        np.testing.assert_array_equal(tensors[name], expected, strict=True)


def test_settings_are_plain_in_whatever_form_they_come():
    values = stored_settings(config(seed=3))
    for form in (values, SimpleNamespace(**values), config(seed=3)):
        assert stored_settings(form) == values and stored_settings(form) is not form
    assert stored_settings(dataclasses.replace(config(), d=5))["d"] == 5


def test_what_an_atlas_keeps_in_half_precision_comes_in_single_and_cannot_be_written(runs):
    halves = {"final/W": np.linspace(0, 1, 8, dtype=np.float16), "final/a": np.arange(3)}
    mapped = Mapped(stored_settings(config(seed=1)), {"seconds": 1.0}, halves)
    write_whole(runs.atlases.path(TOY), pack_atlas(TOY, {}, [mapped], []))
    run = runs.load(runs.find(Request(TOY, config(seed=1))))
    single = halves["final/W"].astype(np.float32)
    np.testing.assert_array_equal(run["final/W"], single, strict=True)
    np.testing.assert_array_equal(run["final/a"], halves["final/a"], strict=True)
    assert not run["final/W"].flags.writeable and not run["final/a"].flags.writeable


def test_of_those_who_asked_the_oldest_are_forgotten_a_tenth_at_a_time(runs, monkeypatch):
    monkeypatch.setattr(owners, "MOST", 20)
    for number in range(21):
        owners.add(f"{number:02}", "a")
        change("UPDATE owners SET added = ? WHERE item = ?", number, f"{number:02}")
    assert owners.owners_of("00") == owners.owners_of("02") == set()
    assert owners.owners_of("03") == {"a"}
    # so that not every one that comes makes room
    assert database.rows("SELECT count(*) FROM owners") == [(18,)]


def test_so_much_room_is_said_to_be_missing():
    documents._check("a run", [2**19, 2**19], 2**20)
    sentence = r"^a run may take 1\.0 MiB here, they would take 1\.5 MiB with this one; "
    with pytest.raises(BadSetting, match=sentence):
        documents._check("a run", [2**20, 2**19], 2**20)


def test_a_run_that_needs_more_memory_than_there_is_is_shown_and_not_trained(runs, monkeypatch):
    """Another machine or GPU has made it."""
    experiment = registry.experiment("birth.induction")
    large = experiment.config()
    header = runs.save("birth.induction", large, TENSORS, INFO)
    monkeypatch.setattr(device, "memory", lambda: 1)
    runs._headers._seen.clear()
    assert [h.key for h in runs.headers("birth.induction")] == [header.key]
    loaded = runs.load(header)
    assert loaded and loaded.config == large
    with pytest.raises(BadSetting, match="must fit the memory of"):
        experiment.config(seed=1)


def test_a_run_is_deleted_though_its_row_cannot_be(runs, monkeypatch):
    """A change of the index needs room for its journal."""
    header = runs.save(TOY, config(), TENSORS, INFO)

    def full(*arguments):
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(diskcache.Cache, "delete", full)
        runs.delete(header)
    assert not header.path.exists() and runs.headers(TOY) == []
    assert runs.find(Request(TOY, config())) is None
    again = runs.save(TOY, config(), TENSORS, INFO)
    assert runs.find(Request(TOY, config())) == again and runs.load(again)


def test_what_cannot_be_deleted_stays_its_owners(runs, monkeypatch):
    header = runs.save(TOY, config(), TENSORS, INFO)
    owners.add(header.key, "a")

    def refuse(key):
        raise PermissionError("not yours")

    monkeypatch.setattr(runs._made, "delete", refuse)
    with pytest.raises(PermissionError):
        runs.delete(header, "a")
    assert owners.owners_of(header.key) == {"a"}


def test_a_run_of_an_atlas_is_given_away_as_a_file_of_its_own(runs):
    charted(runs, config(), config(seed=1))
    mapped = runs.find(Request(TOY, config(seed=1)))
    record, tensors = unpack(runs.content(mapped))
    assert record["config"] == stored_settings(config(seed=1))
    assert key_of_record(record) == mapped.key
    assert tensors.keys() == TENSORS.keys()
    ours = runs.save(TOY, config(seed=2), TENSORS, INFO)
    assert runs.content(ours) == ours.path.read_bytes()
