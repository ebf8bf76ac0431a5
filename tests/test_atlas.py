"""The atlas: every run of its grids, thinned, is found like any other; whole runs come first."""

import dataclasses
import shutil
import sys

import numpy as np
import pytest
from house import TOY, house

from icl_core import registry
from icl_core.command.cli import main
from icl_core.contract.experiment import Atlas, Claim, Metric
from icl_core.evidence import measurements
from icl_core.jobs import queue, spawn, worker
from icl_core.runs import atlas as files
from icl_core.runs import store
from icl_core.runs.atlas import HALF, Mapped, pack_atlas, thin
from icl_core.runs.request import Request
from icl_core.sweeps import atlas
from icl_core.sweeps.setting_grid import parse
from icl_core.sweeps.sweep import Sweep

OVER = ("d=4,8", "rate=0.05,0.1")
OVERALL = Claim(
    id="toy.map", label="runs", kind="ours", text="All are there.", source="here", at_least=4.0
)


def base():
    return registry.experiment(TOY).config(steps=100)


@pytest.fixture(autouse=True, scope="module")
def planned():
    """The throw-away paper, with an atlas and nothing else to ship."""
    experiment = registry.experiment(TOY)
    mapped = dataclasses.replace(
        experiment,
        atlas=Atlas(((base(), OVER),), lambda measured: [Metric(OVERALL, float(len(measured)))]),
        claims=(*experiment.claims, OVERALL),
        presets=(dataclasses.replace(experiment.presets[0], shipped=False),),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules[f"icl_core.papers.{TOY}"], "EXPERIMENT", mapped)
        registry.experiment.cache_clear()
        atlas.grids.cache_clear()
        yield
    registry.experiment.cache_clear()
    atlas.grids.cache_clear()


@pytest.fixture(scope="module")
def once(planned, tmp_path_factory):
    """The atlas as a file, and the whole runs that it was made of."""
    folder = tmp_path_factory.mktemp("once")
    with pytest.MonkeyPatch.context() as patch, house(folder, patch) as own_store:
        patch.setattr(spawn, "ensure_workers", lambda count=None: worker.work(once=True, slots=1))
        keys = [queue.submit(Request(TOY, config)) for config in cells()]
        while not all(own_store.exact(TOY, key) for key in keys):
            worker.work(once=True, slots=1)
        whole = {config: own_store.load(own_store.find(Request(TOY, config))) for config in cells()}
        assert main(["build", TOY]) == 0
        assert own_store.headers(TOY) == []  # what was made for the atlas is in it
    return folder / "artifacts", whole


@pytest.fixture
def built(once, tmp_path, monkeypatch):
    """A store of one's own with the atlas."""
    shutil.copytree(once[0], tmp_path / "artifacts")
    with house(tmp_path, monkeypatch) as own_store:
        yield own_store


def cells():
    return [cell.config for cell in parse(TOY, OVER, base()).cells]


def test_every_run_of_the_grid_is_found_thinned_with_what_it_measured(built, once):
    whole = once[1]
    for config in cells():
        header = built.find(Request(TOY, config))
        run = built.load(header)
        assert header.origin == "atlas" and run.config == config and run.digest == header.digest
        assert run.info["metrics"] == whole[config].info["metrics"]
        assert len(run.snapshot_steps) <= files.SNAPSHOTS < len(whole[config].snapshot_steps)
        assert (run.snapshot_steps[0], run.snapshot_steps[-1]) == (0, 100)
        np.testing.assert_array_equal(run["final/weights"], whole[config]["final/weights"])
        with pytest.raises(ValueError, match="read-only"):
            run["final/weights"][0] = 0


def test_snapshots_that_hold_only_their_steps_are_all_kept():
    steps = {"snapshot/step": np.arange(21), "lengths/share": np.zeros(21)}
    assert len(thin(steps)["snapshot/step"]) == 21
    assert len(thin(steps | {"snapshot/w": np.zeros((21, 2))})["snapshot/step"]) == files.SNAPSHOTS


def test_what_is_there_is_not_made_again_and_the_file_stays_as_it_is(built, monkeypatch):
    path = built.atlases.path(TOY)
    before = path.stat().st_mtime_ns
    monkeypatch.setattr(worker, "train_job", None)  # nothing may be trained
    assert main(["build", TOY]) == 0
    assert path.stat().st_mtime_ns == before


def test_between_grid_points_the_nearest_run_is_shown_and_a_whole_one_comes_first(built):
    between = dataclasses.replace(base(), d=7)
    assert built.find(Request(TOY, between)) is None
    assert built.nearest(Request(TOY, between)).config["d"] == 8
    config = cells()[0]
    run = built.load(built.find(Request(TOY, config)))
    header = built.save(TOY, config, run.tensors, {"seconds": 1, "metrics": []})
    assert built.find(Request(TOY, config)) == header


def test_a_sweep_takes_the_runs_of_the_atlas(built):
    look = Sweep(parse(TOY, OVER, base())).look()
    assert look.counts["done"] == 4 and "toy.recovered" in look.metrics


def test_what_is_measured_over_all_runs_is_among_the_findings(built):
    findings = measurements.of_experiment(TOY, built)
    (finding,) = [finding for finding in findings if finding.metric.claim.id == OVERALL.id]
    assert (finding.metric.value, finding.verdict) == (4.0, "found here")
    assert measurements.counts(built)["toy"]["ours"] == {"found here": 1}


def test_an_experiment_without_an_atlas_loses_the_file(built, monkeypatch):
    monkeypatch.setattr(atlas, "configs", lambda name: [])
    assert main(["build", TOY]) == 0
    assert not built.atlases.path(TOY).exists() and built.find(Request(TOY, cells()[0])) is None


@pytest.mark.parametrize(
    "damage",
    [lambda b: b[:-1], lambda b: b[:-9] + bytes([b[-9] ^ 1]) + b[-8:], lambda b: b"x" * 99],
)
def test_a_damaged_atlas_counts_as_absent_and_is_said(built, damage):
    header = built.find(Request(TOY, cells()[0]))
    path = built.atlases.path(TOY)
    path.write_bytes(damage(path.read_bytes()))
    assert built.load(header) is None
    assert any(str(path) in message and "expected" in message for message in built.messages())


def test_an_atlas_of_another_version_or_experiment_counts_as_absent(built, monkeypatch):
    path = built.atlases.path(TOY)
    path.rename(built.atlases.path("birth.induction"))
    assert not built.atlases.headers("birth.induction")
    assert "got that of toy.walk" in built.messages()[-1]
    built.atlases.path("birth.induction").rename(path)
    assert len(built.atlases.headers(TOY)) == 4
    monkeypatch.setattr(registry, "version", lambda name: 2)
    assert not built.atlases.headers(TOY)


def test_half_precision_changes_weights_by_a_thousandth_and_curves_only_where_it_does_not_show():
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(64, 64)).astype(np.float32)
    tiny = (rng.random((40, 40)) * 1e-7).astype(np.float32)  # halves would lose it
    loss = np.geomspace(1, 1e-3, 2000).astype(np.float32)
    thinned = thin(
        {"final/W": weights, "curve/gap": tiny, "curve/loss": loss, "final/a": weights[0]}
    )
    assert {name: array.dtype.name for name, array in thinned.items()} == {
        "final/W": "float16",
        "curve/gap": "float32",
        "curve/loss": "float16",
        "final/a": "float32",
    }
    assert np.abs(thinned["final/W"] - weights).max() <= HALF * np.abs(weights).max()
    np.testing.assert_allclose(thinned["curve/loss"], loss, rtol=HALF)


def test_what_several_runs_share_is_kept_once():
    frozen = np.ones((300, 300), np.float32)
    runs = [
        Mapped({"steps": n}, {"metrics": []}, {"frozen/P": frozen, "final/a": np.float32([n])})
        for n in range(9)
    ]
    assert len(pack_atlas(TOY, {}, runs, [])) < 2 * frozen.nbytes


def test_the_store_keeps_whole_runs_and_those_of_the_atlas_apart(built):
    assert store.default().headers(TOY) == [] and len(store.default().every(TOY)) == 4
