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
from house import TOY, change, house
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


@pytest.fixture
def runs(tmp_path, monkeypatch):
    with house(tmp_path, monkeypatch) as made:
        yield made


def config(**values):
    return registry.experiment(TOY).config(**values)


def charted(runs, *configs):
    """An atlas of these runs."""
    base = stored_settings(config())
    packed = pack_atlas(
        TOY,
        base,
        [Mapped(stored_settings(each), {"seconds": 1.0}, TENSORS) for each in configs],
        [],
    )
    write_whole(runs.atlases.path(TOY), packed)


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
    made = [runs.save(TOY, config(seed=seed), TENSORS, INFO) for seed in seeds]
    assert runs.nearest(Request(TOY, config())).key == min(header.key for header in made)


def test_a_file_is_the_same_in_whatever_order_its_parts_are_named():
    nested = {**RECORD, "config": {"d": 2, "rate": 0.5}, "metrics": [{"a": 2, "b": 1}]}
    assert canonical(RECORD) == canonical(nested)
    assert pack(TENSORS, {**RECORD, "config": {"d": 2.0, "rate": 0.5}}) == pack(TENSORS, RECORD)
    assert list(unpack(pack(TENSORS, RECORD))[1]) == sorted(TENSORS)


def test_the_record_is_one_key_of_sorted_json_and_tensors_begin_where_they_can_be_mapped():
    content = pack(TENSORS, RECORD)
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    (told,) = header.pop("__metadata__").values()
    assert list(json.loads(told)) == sorted(json.loads(told)) and "\n" not in told
    assert list(json.loads(told)["config"]) == ["d", "rate"] and list(
        json.loads(told)["metrics"][0]
    ) == ["a", "b"]
    assert length % 8 == 0
    for name, entry in header.items():
        start, end = entry["data_offsets"]
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
    kept = json.loads(header["__metadata__"]["run"])
    del kept[missing], kept["seal"]
    header["__metadata__"]["run"] = json.dumps({**kept, "seal": _seal(kept)}, sort_keys=True)
    packed = json.dumps(header).encode()
    with pytest.raises(
        Damaged, match="expected a run's experiment, version, config in the metadata, got "
    ):
        unpack(len(packed).to_bytes(8, "little") + packed + content[8 + length :])


@pytest.fixture
def pauses(monkeypatch):
    """How long a creation waited, without waiting."""
    waited = []
    monkeypatch.setattr(run_index.time, "sleep", waited.append)
    return waited


def failing(monkeypatch, times, problem):
    """The cache cannot be opened that many times."""
    opened, tried = run_index.Index, []

    def opens(*given, **options):
        tried.append(options)
        if len(tried) <= times:
            raise sqlite3.OperationalError(problem)
        return opened(*given, **options)

    monkeypatch.setattr(run_index, "Index", opens)
    return tried


def test_a_cache_that_others_create_is_tried_ten_times_with_ever_longer_pauses(
    tmp_path, monkeypatch, pauses
):
    tried = failing(monkeypatch, 9, "database is locked")
    run_index.create(tmp_path / "runs", 1000).close()
    assert len(tried) == 10 and pauses == [0.05 * 2**n for n in range(9)]
    assert tried[-1]["disk"] is run_index.BytesDisk and tried[-1]["size_limit"] == 1000


@pytest.mark.parametrize(
    ("problem", "tries"), [("database is locked", 10), ("unable to open database file", 1)]
)
def test_a_cache_that_stays_locked_is_given_up_and_another_fault_at_once(
    tmp_path, monkeypatch, pauses, problem, tries
):
    tried = failing(monkeypatch, 99, problem)
    with pytest.raises(sqlite3.OperationalError, match=problem):
        run_index.create(tmp_path / "runs", 1000)
    assert len(tried) == tries and len(pauses) == tries - 1


@pytest.fixture
def cache(tmp_path):
    told = []
    made = RunCache(tmp_path / "runs", 30, told.append)
    yield made
    made.close()
    assert told == []


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
    assert sorted(path.name for path in cache.folder.glob("*.safetensors")) == sorted(
        path.name for path in cache.paths().values()
    )


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
    assert cache.files() == [
        (name[0], cache.folder / name) for name in (names[2], names[1], names[0])
    ]


def test_a_run_is_read_with_its_tensors_in_order_and_none_can_be_written(tmp_path):
    (tmp_path / "x").write_bytes(pack(TENSORS, RECORD))
    record, tensors = read(tmp_path / "x")
    assert {name: record[name] for name in RECORD} == RECORD and not any(
        t.flags.writeable for t in tensors.values()
    )
    assert all(
        np.array_equal(tensors[n], TENSORS[n], equal_nan=n.startswith("curve")) for n in TENSORS
    )


def test_settings_are_plain_in_whatever_form_they_come():
    values = stored_settings(config(seed=3))
    for form in (values, SimpleNamespace(**values), config(seed=3)):
        assert stored_settings(form) == values and stored_settings(form) is not form
    assert stored_settings(dataclasses.replace(config(), d=5))["d"] == 5


def test_what_an_atlas_keeps_in_half_precision_comes_in_single_and_cannot_be_written(runs):
    halves = {"final/W": np.linspace(0, 1, 8, dtype=np.float16), "final/a": np.arange(3)}
    write_whole(
        runs.atlases.path(TOY),
        pack_atlas(
            TOY, {}, [Mapped(stored_settings(config(seed=1)), {"seconds": 1.0}, halves)], []
        ),
    )
    run = runs.load(runs.find(Request(TOY, config(seed=1))))
    assert run["final/W"].dtype == np.float32 and run["final/a"].dtype == halves["final/a"].dtype
    np.testing.assert_array_equal(run["final/W"], halves["final/W"])
    assert not run["final/W"].flags.writeable and not run["final/a"].flags.writeable


def test_of_those_who_asked_the_oldest_are_forgotten_a_tenth_at_a_time(runs, monkeypatch):
    monkeypatch.setattr(owners, "MOST", 20)
    for number in range(21):
        owners.add(f"{number:02}", "a")
        change("UPDATE owners SET added = ? WHERE item = ?", number, f"{number:02}")
    assert owners.owners_of("00") == owners.owners_of("02") == set() and owners.owners_of("03") == {
        "a"
    }
    assert database.rows("SELECT count(*) FROM owners") == [
        (18,)
    ]  # so that not every one that comes makes room


def test_so_much_room_is_said_to_be_missing():
    documents._check("a run", [2**19, 2**19], 2**20)
    with pytest.raises(
        BadSetting, match=r"^a run may take 1\.0 MiB here, they would take 1\.5 MiB with this one; "
    ):
        documents._check("a run", [2**20, 2**19], 2**20)


def test_a_run_that_needs_more_memory_than_there_is_is_shown_and_not_trained(runs, monkeypatch):
    """Another machine or GPU has made it."""
    experiment = registry.experiment("birth.induction")
    large = experiment.config()
    header = runs.save("birth.induction", large, TENSORS, INFO)
    monkeypatch.setattr(device, "memory", lambda: 1)
    runs._headers._seen.clear()
    assert [shown.key for shown in runs.headers("birth.induction")] == [header.key]
    loaded = runs.load(header)
    assert loaded and loaded.config == large
    with pytest.raises(BadSetting, match="must fit the memory of"):
        experiment.config(seed=1)


def test_a_run_is_deleted_though_its_row_cannot_be(runs, monkeypatch):
    """A change of the index needs room for its journal."""
    header = runs.save(TOY, config(), TENSORS, INFO)

    def full(*given):
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(diskcache.Cache, "delete", full)
        runs.delete(header)
    assert (
        not header.path.exists()
        and runs.find(Request(TOY, config())) is None
        and runs.headers(TOY) == []
    )
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
    assert (
        record["config"] == stored_settings(config(seed=1)) and key_of_record(record) == mapped.key
    )
    assert tensors.keys() == TENSORS.keys()
    ours = runs.save(TOY, config(seed=2), TENSORS, INFO)
    assert runs.content(ours) == ours.path.read_bytes()
