"""A tensor that several shipped runs have in common is stored once; the runs do not change."""

import dataclasses

import numpy as np
import pytest
from house import TOY
from safetensors.numpy import save

from icl_core import registry
from icl_core.command.cli import main
from icl_core.runs import shared_tensors
from icl_core.runs.file import Damaged, read, read_record, unpack
from icl_core.runs.request import Request

LARGE = np.arange(10_000, dtype=np.float32).reshape(100, 100)
SMALL = np.ones(3)
INFO = {"metrics": [], "seconds": 1.5}


def config(seed: int = 0):
    return registry.experiment(TOY).config(seed=seed)


def ship(runs, seed: int):
    """A run with a frozen matrix that all seeds have and one of its own."""
    tensors = {"frozen/P": LARGE, "final/W": LARGE + seed, "curve/loss": SMALL}
    return runs.ship(TOY, config(seed), tensors, INFO)


@pytest.fixture
def shared(runs):
    """Two shipped runs, once their common tensor is stored once, and the file of that tensor."""
    headers = [ship(runs, seed) for seed in (1, 2)]
    assert runs.share_tensors([TOY]) == []
    (path,) = (runs.shipped / "toy" / "shared").iterdir()
    return headers, path


def test_it_is_stored_once_and_the_runs_are_as_before(runs, shared):
    headers, path = shared
    assert path.stat().st_size < LARGE.nbytes + 200
    for header in headers:
        settings = config(header.config["seed"])
        now = runs.find(Request(TOY, settings))
        run = runs.load(now)
        assert now.path.stat().st_size < 1.2 * LARGE.nbytes
        assert (now.key, now.digest, now.info) == (header.key, header.digest, header.info)
        assert (run.config, run.digest, run.info) == (settings, header.digest, header.info)
        assert list(run.tensors) == ["curve/loss", "final/W", "frozen/P"]
        np.testing.assert_array_equal(run["frozen/P"], LARGE)
        assert not run["frozen/P"].flags.writeable
        assert read_record(now.path)["shared"] == {"frozen/P": path.stem}
    assert runs.messages() == []


def test_what_is_shared_already_is_not_written_again(runs, shared):
    files = sorted(runs.shipped.rglob("*.safetensors"))
    times = [path.stat().st_mtime_ns for path in files]
    assert runs.share_tensors([TOY]) == []
    assert [path.stat().st_mtime_ns for path in files] == times


def test_a_downloaded_run_is_a_file_with_all_its_tensors(runs, shared):
    header = runs.find(Request(TOY, config(1)))
    record, tensors = unpack(runs.content(header))
    assert "shared" not in record and record["digest"] == header.digest
    np.testing.assert_array_equal(tensors["frozen/P"], LARGE)
    with pytest.raises(Damaged, match="expected a file with all its tensors, got one without"):
        read(header.path)


def test_what_only_one_run_has_goes_back_into_its_file(runs, shared):
    headers, path = shared
    headers[0].path.unlink()
    assert runs.share_tensors([TOY]) == [path] and not path.exists()
    whole = runs.find(Request(TOY, config(2)))
    assert "shared" not in read_record(whole.path) and runs.load(whole) is not None


def test_small_tensors_and_those_of_local_runs_are_left_alone(runs, monkeypatch):
    ship(runs, 1)
    runs.save(TOY, config(2), {"frozen/P": LARGE}, INFO)
    monkeypatch.setattr(shared_tensors, "SMALLEST", LARGE.nbytes + 1)
    ship(runs, 3)
    assert runs.share_tensors([TOY]) == [] and not (runs.shipped / "toy" / "shared").exists()


@pytest.mark.parametrize("damage", [b"no tensor", save({"tensor": LARGE + 1}), save({"x": LARGE})])
def test_with_a_damaged_shared_tensor_the_runs_are_ignored(runs, shared, damage):
    headers, path = shared
    path.write_bytes(damage)
    assert runs.load(runs.find(Request(TOY, config(1)))) is None
    assert runs.find(Request(TOY, config(1))) is None
    (message,) = runs.messages()
    assert f"{headers[0].path} is ignored: expected a tensor of it in {path}, got " in message


def test_without_a_shared_tensor_the_runs_are_ignored(runs, shared):
    headers, path = shared
    path.unlink()
    runs._headers._seen.clear()
    assert runs.headers(TOY) == []
    assert sorted(runs.messages()) == sorted(
        f"{header.path} is ignored: expected a tensor of it in {path}, got no such file."
        for header in headers
    )


def test_the_build_shares_tensors_and_prunes_those_of_no_run(runs, monkeypatch):
    experiment = registry.experiment(TOY)
    presets = [dataclasses.replace(preset, shipped=False) for preset in experiment.presets]
    unshipped = dataclasses.replace(experiment, presets=presets)
    monkeypatch.setattr(registry, "experiment", lambda name: unshipped)
    stray = runs.shipped / "toy" / "shared" / "0.safetensors"
    stray.parent.mkdir(parents=True)
    stray.write_bytes(b"of no run")
    assert main(["build", TOY]) == 0 and not stray.exists()
