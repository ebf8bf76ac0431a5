"""What another process saves, replaces or deletes is seen, also where no clock tells of it; and
nothing is read twice."""

import dataclasses
import os
import time
from types import SimpleNamespace

import numpy as np
import pytest
from house import TOY
from test_store import INFO, TENSORS

from icl_core import registry
from icl_core.contract import settings_io
from icl_core.evidence import measurements
from icl_core.jobs import estimate
from icl_core.machine import limits
from icl_core.runs import header, kept_headers, local, store
from icl_core.runs.file import pack, read
from icl_core.runs.request import Request
from icl_core.runs.settings_index import SettingsIndex

pytestmark = pytest.mark.usefixtures("runs")


def config(seed: int = 0):
    return registry.experiment(TOY).config(steps=50, seed=seed)


def keys(runs) -> set[str]:
    return {header.key for header in runs.headers(TOY)}


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still, long after every change of a file."""
    own = SimpleNamespace(now=0.0)
    late = time.time() + 1000
    clocks = SimpleNamespace(monotonic=lambda: own.now, time=lambda: late)
    monkeypatch.setattr(local, "time", clocks)
    return own


@pytest.fixture
def other(runs):
    """The same folders as another process sees them."""
    process = store.Store(runs.shipped, runs.local)
    yield process
    process.close()


def save(runs, other):
    """Save another run."""
    return {other.save(TOY, config(1), TENSORS, INFO).key, *keys(runs)}


def delete(runs, other):
    """Delete the run."""
    other.delete(other.exact(TOY, next(iter(keys(runs)))))
    return set()


def remove(runs, other):
    """Remove the file of the run, but not its row in the index."""
    runs.headers(TOY)[0].path.unlink()
    return set()


@pytest.mark.parametrize("change", [save, delete, remove])
def test_what_another_process_changes_is_seen_at_the_next_look(runs, other, clock, change):
    runs.save(TOY, config(), TENSORS, INFO)
    assert len(keys(runs)) == 1
    after = change(runs, other)
    assert keys(runs) == after and runs.keys_made_here() == after


def hidden(runs, change):
    """Make a change that the times of folder and index do not show."""
    folder = runs.local / "runs"
    times = {path: path.stat().st_mtime_ns for path in (folder, folder / "cache.db")}
    change()
    for path, before in times.items():
        os.utime(path, ns=(before, before))


@pytest.mark.parametrize("change", [save, delete, remove])
def test_equal_times_hide_a_change_for_less_than_a_second(runs, other, clock, change):
    runs.save(TOY, config(), TENSORS, INFO)
    assert len(keys(runs)) == 1
    stamp = runs._made._cache.stamp()
    after: set[str] = set()
    hidden(runs, lambda: after.update(change(runs, other)))
    assert runs._made._cache.stamp() == stamp
    clock.now += 0.99
    assert keys(runs) == after and runs.keys_made_here() == after


@pytest.mark.parametrize("is_hidden", [False, True])
def test_a_file_that_replaces_another_of_its_name_is_read_again(runs, clock, is_hidden):
    saved = runs.save(TOY, config(), TENSORS, {**INFO, "device": "here"})
    assert runs.headers(TOY)[0].info["device"] == "here"
    record, tensors = read(saved.path)
    draft = saved.path.with_name("draft")

    def replace():
        draft.write_bytes(pack(tensors, {**record, "device": "rest"}))
        os.utime(draft, ns=(saved.path.stat().st_mtime_ns,) * 2)
        assert draft.stat().st_size == saved.path.stat().st_size
        os.replace(draft, saved.path)

    hidden(runs, replace) if is_hidden else replace()
    clock.now += 0.99
    (header_now,) = runs.headers(TOY)
    assert header_now.info["device"] == "rest"
    assert runs.exact(TOY, saved.key).info["device"] == "rest"


def test_a_file_written_over_in_place_is_read_again_when_its_run_is_asked_for(runs, clock):
    saved = runs.save(TOY, config(), TENSORS, {**INFO, "device": "here"})
    record, tensors = read(saved.path)
    times = saved.path.stat()
    saved.path.write_bytes(pack(tensors, {**record, "device": "rest"}))
    os.utime(saved.path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert runs.find(Request(TOY, config())).info["device"] == "rest"


def test_only_new_files_are_read_and_a_use_is_no_change(runs, other, clock, monkeypatch):
    for seed in range(3):
        runs.save(TOY, config(seed), TENSORS, INFO)
    index = runs.index(TOY)
    reads = []
    read_record = header.read_record
    monkeypatch.setattr(header, "read_record", lambda path: reads.append(path) or read_record(path))
    queries = []
    monkeypatch.setattr(runs._made._cache, "paths", lambda: queries.append(1) or {})
    assert runs.load(runs.find(Request(TOY, config(1)))) is not None
    assert runs.find(Request(TOY, config(9))) is None and len(keys(runs)) == 3
    clock.now += 0.99
    assert runs.index(TOY) is index and reads == queries == []
    monkeypatch.undo()
    monkeypatch.setattr(header, "read_record", lambda path: reads.append(path) or read_record(path))
    saved = other.save(TOY, config(9), TENSORS, INFO)
    reads.clear()
    assert runs.find(Request(TOY, config(9))) == saved and reads == [saved.path]
    assert len(runs.index(TOY).headers) == 4 and reads == [saved.path]


@pytest.fixture
def reads(monkeypatch):
    """The files whose headers were read."""
    paths = []
    read_record = header.read_record
    monkeypatch.setattr(header, "MANY", 3)
    monkeypatch.setattr(header, "read_record", lambda path: paths.append(path) or read_record(path))
    return paths


def seen_afresh(runs, reads):
    """What a new process finds, and which files it reads for that."""
    reads.clear()
    process = store.Store(runs.shipped, runs.local)
    headers = process.headers(TOY)
    process.close()
    return sorted(headers, key=lambda header: header.key), sorted(reads)


def test_a_new_process_reads_only_the_headers_that_no_earlier_one_has_kept(runs, reads):
    kept = runs.local / kept_headers.NAME
    saved = [runs.save(TOY, config(seed), TENSORS, INFO) for seed in range(2)]
    assert len(seen_afresh(runs, reads)[1]) == 2 and not kept.exists()
    saved.append(runs.save(TOY, config(2), TENSORS, INFO))
    by_key = sorted(saved, key=lambda header: header.key)
    assert seen_afresh(runs, reads) == (by_key, sorted(each.path for each in saved))
    assert kept.stat().st_mode & 0o777 == 0o600
    assert seen_afresh(runs, reads) == (by_key, [])
    runs.delete(saved[0])
    more = runs.save(TOY, config(3), TENSORS, INFO)
    record, tensors = read(saved[1].path)
    replacement = saved[1].path.with_name("draft")
    replacement.write_bytes(pack(tensors, {**record, "seconds": 99.0}))
    os.replace(replacement, saved[1].path)
    headers, files = seen_afresh(runs, reads)
    assert {each.key for each in headers} == {saved[1].key, saved[2].key, more.key}
    assert files == sorted([saved[1].path, more.path])
    (replaced,) = [each for each in headers if each.key == saved[1].key]
    assert replaced.info["seconds"] == 99.0


@pytest.mark.parametrize("damage", [b"", b"[]", b"no\n[]", None])
def test_kept_headers_that_are_damaged_are_as_good_as_none(runs, reads, damage):
    saved = [runs.save(TOY, config(seed), TENSORS, INFO) for seed in range(3)]
    seen_afresh(runs, reads)
    kept = runs.local / kept_headers.NAME
    content = kept.read_bytes()
    flipped = content[:-9] + bytes([content[-9] ^ 1]) + content[-8:]
    kept.write_bytes(flipped if damage is None else damage)
    headers, files = seen_afresh(runs, reads)
    assert len(headers) == len(files) == len(saved)
    assert seen_afresh(runs, reads)[1] == []  # they are kept anew


def test_a_server_that_stores_nothing_keeps_no_headers(runs, reads, monkeypatch):
    for seed in range(3):
        runs.save(TOY, config(seed), TENSORS, INFO)
    monkeypatch.setattr(limits, "read_only", lambda: True)
    assert len(seen_afresh(runs, reads)[1]) == 3
    assert not (runs.local / kept_headers.NAME).exists()


SHIPPED = store.default()
WITH_ATLAS = [id for id in registry.experiment_ids() if SHIPPED.atlases.headers(id)]
SEVERAL = [*WITH_ATLAS, "birth.laboratory", "memformers.methods"]


def moved(experiment_id):
    """Settings near those of the presets: of a run, and of none."""
    experiment = registry.experiment(experiment_id)
    presets = [preset.config for preset in experiment.presets[:3]]
    return [*presets, *(dataclasses.replace(preset, seed=7) for preset in presets)]


@pytest.mark.parametrize("experiment_id", SEVERAL)
def test_distances_by_the_index_are_those_of_run_by_run(experiment_id):
    runs = SHIPPED
    index = SettingsIndex(runs.every(experiment_id))
    settings_class = registry.experiment(experiment_id).config
    for settings in moved(experiment_id):
        request = Request(experiment_id, settings)
        one_by_one = [
            settings_io.distance(settings_class, request.settings, header.config)
            for header in index.headers
        ]
        np.testing.assert_array_equal(
            index.distances(settings_class, request.settings), one_by_one, strict=True
        )
        nearest = runs.nearest(request)
        assert nearest
        of_nearest = settings_io.distance(settings_class, request.settings, nearest.config)
        assert of_nearest == min(one_by_one)


@pytest.mark.parametrize("experiment_id", SEVERAL)
def test_differences_by_the_index_are_those_of_run_by_run(experiment_id):
    index = SettingsIndex(SHIPPED.every(experiment_id))
    for settings in moved(experiment_id):
        stored = Request(experiment_id, settings).settings
        names = list(stored)
        expected = [
            [header.config.get(name) != stored[name] for header in index.headers] for name in names
        ]
        np.testing.assert_array_equal(index.differences(names, stored), expected)
        others = [
            header
            for header in index.headers
            if {**header.config, "seeds": 1} == {**stored, "seeds": 1}
        ]
        assert list(index.same_but_seeds(stored)) == others


@pytest.mark.parametrize("experiment_id", SEVERAL)
def test_summaries_led_by_a_run_are_those_of_all_findings_with_its_own_first(
    experiment_id,
):
    every = measurements.of_experiment(experiment_id, SHIPPED)
    for shown in SHIPPED.every(experiment_id)[:40:3]:
        others = [finding for finding in every if finding.header != shown]
        expected = measurements.summaries([*measurements.of_run(shown), *others])
        assert measurements.summaries_led_by(shown, experiment_id, SHIPPED) == expected
    without = measurements.summaries_led_by(None, experiment_id, SHIPPED)
    assert without == measurements.summaries(every)


def test_findings_are_collected_anew_when_a_run_comes_or_goes(runs):
    def count():
        summaries = measurements.summaries_led_by(None, TOY, runs)
        return sum(len(summary.here + summary.elsewhere) for summary in summaries)

    claim = registry.experiment(TOY).claims[0]
    record = {"claim": claim.id, "kind": claim.kind, "value": 1.0, "error": None, "count": None}
    info = {**INFO, "metrics": [{**record, "unfinished": "", "reason": "", "verdict": "fails"}]}
    none = count()
    saved = runs.save(TOY, config(), TENSORS, info)
    other = runs.save(TOY, config(1), TENSORS, info)
    assert count() == none + 1  # the first takes the place of "not run"
    runs.delete(saved)
    assert count() == none
    runs.delete(other)
    assert count() == none


def test_an_estimate_is_the_weighted_mean_over_all_runs(runs):
    experiment = registry.experiment(TOY)
    from icl_core.machine import device

    seconds = {0: 1.0, 1: 3.0, 5: 2.0}
    for seed, took in seconds.items():
        info = {**INFO, "seconds": took, "device": device.describe()}
        runs.save(TOY, config(seed), TENSORS, info)
    asked = dataclasses.replace(config(2), d=16)
    total = weights = 0.0
    for seed, took in seconds.items():
        settings = Request(TOY, config(seed)).settings
        distance = settings_io.distance(experiment.config, Request(TOY, asked).settings, settings)
        weight = 1 / (distance + estimate.NEAR) ** 2
        total += weight * np.log(took / experiment.cost(config(seed)))
        weights += weight
    expected = estimate.FIGURES + np.exp(total / weights) * experiment.cost(asked)
    assert estimate.estimate_seconds(Request(TOY, asked)) == pytest.approx(expected, rel=1e-12)


def test_shipped_files_are_looked_at_again_after_a_second_or_once_the_folder_changes(
    runs, monkeypatch
):
    own = SimpleNamespace(now=0.0)
    monkeypatch.setattr(header, "time", SimpleNamespace(monotonic=lambda: own.now))
    name = TOY.replace(".", "/")
    folder = runs.shipped / name
    folder.mkdir(parents=True)
    path = folder / f"{'a' * 64}.safetensors"
    assert runs.headers(TOY) == []
    path.write_bytes(b"no run")
    looks = []
    monkeypatch.setattr(runs._headers, "_read", lambda *args: looks.append(args) or None)
    assert runs.headers(TOY) == []
    assert len(looks) == 1
    path.write_bytes(b"another")  # in place, which the folder does not tell
    runs.headers(TOY)
    assert len(looks) == 1
    own.now = 1.1
    runs.headers(TOY)
    assert len(looks) == 2
