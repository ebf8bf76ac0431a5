"""The bytes that a run will take at least: never more than it takes, and refused where it is asked
for."""

import numpy as np
from house import ROOT, TOY
from test_runs_kept import config
from test_store import INFO

from icl_core import registry
from icl_core.build import FEWER
from icl_core.command.cli import main
from icl_core.jobs import queue
from icl_core.runs import store
from icl_core.runs.file import tensor_sizes
from icl_core.runs.least_size import least_size, parts_of
from icl_core.runs.request import Request


def test_the_least_size_is_that_of_the_largest_run_scaled_to_the_settings(runs):
    for d in (4, 5, 6):
        runs.ship(TOY, config(d=d, seed=d), {"x": np.zeros(1000 * d)}, INFO)
    assert runs.least_size(Request(TOY, config(d=5))) == 40_000
    assert runs.least_size(Request(TOY, config(d=3))) == 8000 * 4 * 9 // 16
    headers = runs.headers(TOY)
    for header in headers:
        header.path.unlink()
    assert runs._headers.parts(headers[0]) == {}  # gone meanwhile


def test_counts_of_steps_and_seeds_scale_what_depends_on_them_alone():
    sizes = {
        "curve/loss": ((3, 7), 84),  # seeds, evaluations
        "final/W": ((8, 8), 256),
        "seed/2/final/W": ((8, 8), 128),
        "seed/3/final/W": ((8, 8), 128),
        "batch/loss": ((40,), 160),
    }
    settings = {
        "d": 8,
        "seeds": 3,
        "steps": 40,
        "seed": 7,
        "batch": 4,
        "rate": 0.5,
        "law": "uniform",
    }
    parts = parts_of(sizes, 3)
    least = lambda **changes: least_size([(settings, parts)], {**settings, **changes})  # noqa: E731
    assert least() == least(batch=1, seed=0, rate=0.1) == 84 + 256 + 2 * 128 + 160
    assert least(seeds=1) == 84 / 3 + 256 + 160 and least(seeds=2) == 84 * 2 / 3 + 256 + 128 + 160
    assert least(steps=10) == (84 + 160) / 4 + 256 + 2 * 128
    assert least(d=4) == least() // 4 and least(d=9, steps=50, seeds=4) == least()
    assert least(law="bigram") == 0 and least_size([({"d": 8}, parts)], settings) == 0


def test_no_stored_run_is_smaller_than_the_others_say():
    """Shipped runs hold all snapshots or few of them; a new one of the same settings holds all."""
    shipped = store.Store(ROOT / "artifacts", ROOT / "absent")
    for experiment_id in registry.experiment_ids():
        stored = {
            header.key: (header, shipped._headers.parts(header))
            for header in shipped.headers(experiment_id)
        }
        for key, (header, parts) in stored.items():
            snapshots = tensor_sizes(header.path).get("snapshot/step", ((0,), 0))[0]
            if snapshots == (FEWER,):
                continue
            others = [
                (other.config, other_parts)
                for other_key, (other, other_parts) in stored.items()
                if other_key != key
            ]
            assert least_size(others, header.config) <= sum(parts.values()), header.path


def test_a_run_that_will_not_fit_is_refused_before_it_is_trained(runs, monkeypatch, capsys):
    runs.ship(TOY, config(d=4), {"x": np.zeros(20_000)}, INFO)
    monkeypatch.setenv("ICL_CACHE_LIMIT", "100kB")
    store.default.cache_clear()
    refusal = (
        "the run would take 160,000 bytes or more, the limit is 100,000 bytes (ICL_CACHE_LIMIT)"
    )
    for words in (["run"], ["sweep", "--over", "rate=0.1,0.2"], ["figure", "--out", "x.html"]):
        assert main([words[0], TOY, "--set", "d=4", "seed=5", *words[1:]]) in (1, 2)
        printed = capsys.readouterr()
        assert refusal in printed.out + printed.err
    stored = runs.headers(TOY)[0]
    queue.submit(
        Request(TOY, stored.config)
    )  # it is there: nothing is trained, and nothing refused
    assert main(["build", TOY]) == 1
    assert capsys.readouterr().err.count(refusal) == 2  # its two presets
    assert queue.states() == [] and not (ROOT / "x.html").exists()


def test_of_many_runs_of_one_shape_one_is_looked_at(runs, monkeypatch):
    for seed in range(4):
        runs.save(TOY, config(d=5, seed=seed, rate=0.5 + seed), {"x": np.zeros(5000)}, INFO)
    runs.save(TOY, config(d=6), {"x": np.zeros(6000)}, INFO)
    looks = []
    parts = runs._headers.parts
    monkeypatch.setattr(runs._headers, "parts", lambda header: looks.append(1) or parts(header))
    assert runs.least_size(Request(TOY, config(d=5))) == 40_000 and len(looks) == 2
