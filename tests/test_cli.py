"""The command line: exit codes, tables, JSON, files, the build."""

import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest
from house import EXTRA, ROOT, TOY, house_that_trains, wait_for
from recorder import Recorder

from icl_core import build, registry
from icl_core.command.cli import main
from icl_core.evidence import measurements
from icl_core.jobs import queue, terminal
from icl_core.runs.request import Request

FAST = ["--set", "steps=20", "d=3"]


@pytest.fixture(autouse=True)
def runs(tmp_path, monkeypatch):
    with house_that_trains(tmp_path, monkeypatch) as own_store:
        yield own_store


def test_list_names_every_experiment(capsys):
    assert main(["list"]) == 0
    output = capsys.readouterr().out
    assert all(name in output for name in registry.experiment_ids())


def test_show_explains_settings_presets_and_glossary(capsys):
    assert main(["show", TOY]) == 0
    output = capsys.readouterr().out
    for text in (
        "Watch the loss fall",
        "inputs d: 1 to 64",
        "rate=0.1",
        "seed_shown",
        "classroom",
        "As in the",
        "η",
    ):
        assert text in output


def test_run_prints_a_table_and_json(capsys):
    assert main(["run", TOY, *FAST]) == 0
    table = capsys.readouterr().out
    assert "teacher found" in table and "reproduced" in table
    assert main(["run", TOY, *FAST, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["claim"] for row in rows] == ["toy.recovered", "toy.exact"]
    expected = {
        "paper",
        "experiment",
        "claim",
        "kind",
        "quote",
        "setting",
        "preset",
        "value",
        "error",
        "verdict",
    }
    assert expected <= rows[0].keys()
    assert (rows[0]["kind"], rows[0]["quote"], rows[0]["setting"]) == (
        "paper",
        "the student finds its teacher",
        "any setting",
    )
    assert (rows[1]["verdict"], rows[1]["experiment"], rows[1]["relation"]) == (
        "fails",
        TOY,
        "at most",
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "toy.none"], "there is no experiment 'toy.none'"),
        (["run", TOY, "--preset", "x"], "--preset must be one of classroom, paper"),
        (["run", TOY, "--set", "d=1000"], "d must be a whole number from 1 to 64, got 1000"),
        (["run", TOY, "--set", "d=many"], "d must be a whole number"),
        (["run", TOY, "--set", "d"], "a setting must be written NAME=VALUE, got 'd'"),
        (["run", TOY, "--set", "z=1"], "there is no setting 'z'"),
        (["figure", TOY, "--out", "x.png"], "--out must end in .html or .json"),
        (
            ["figure", TOY, "--out", "x.json", "--drawing", "x"],
            "--drawing must be one of loss, weights",
        ),
        (["figure", TOY, "--out", "x.json", "--view", "snapshot=99"], "snapshot must be"),
        (["build", TOY, "--preset", "x"], "--preset must name a shipped preset"),
        (["build", TOY, "--jobs", "-1"], "--jobs must be at least 1, got -1"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_values_are_said_on_stderr(capsys, arguments, message):
    assert main(arguments) == 2
    streams = capsys.readouterr()
    assert message in streams.err and not streams.out and queue.states() == []


def test_a_training_that_fails_exits_with_1(capsys):
    assert main(["run", TOY, "--set", "rate=10", "steps=200"]) == 1
    assert "the training failed: it diverged at step" in capsys.readouterr().err


def test_figure_writes_a_page_that_needs_no_network(tmp_path):
    out = tmp_path / "all.html"
    assert main(["figure", TOY, *FAST, "--out", str(out)]) == 0
    page = out.read_text(encoding="utf-8")
    assert page.count("Plotly.newPlot(") >= 2 and "The student meets the teacher" in page
    assert len(page) > 10**6 and "<script src=" not in page and 'src="https://cdn' not in page


def test_figure_writes_plotly_json(tmp_path):
    import plotly.graph_objects as go

    out = tmp_path / "one.json"
    what = ["--drawing", "weights", "--view", "snapshot=0"]
    assert main(["figure", TOY, *FAST, *what, "--out", str(out)]) == 0
    (panel,) = json.loads(out.read_text(encoding="utf-8"))
    assert panel["drawing"] == "weights" and panel["caption"].startswith("At first")
    student, teacher = go.Figure(panel["figure"]).data
    # zeros: it has learned nothing yet
    assert set(student.y["bdata"]) == {"A"} != set(teacher.y["bdata"])


def test_claims_that_no_run_has_measured_are_not_run(capsys, runs):
    assert main(["claims", "--json"]) == 0
    rows = {row["claim"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["toy.recovered"]["verdict"] == "not run" and rows["toy.recovered"]["value"] is None
    main(["run", TOY, *FAST])
    capsys.readouterr()
    main(["claims", "--json"])
    rows = [row for row in json.loads(capsys.readouterr().out) if row["paper"] == "toy"]
    assert [row["claim"] for row in rows] == ["toy.recovered", "toy.exact"]
    assert rows[0]["experiment"] == TOY
    assert main(["claims"]) == 0 and "teacher found" in capsys.readouterr().out


def test_a_finding_is_kept_by_id_and_value_and_its_words_stand_in_the_experiment(runs):
    main(["run", TOY, *FAST])
    (header,) = runs.headers(TOY)
    record = header.info["metrics"][0]
    assert record.keys() == {
        *("claim", "kind", "value", "error", "count"),
        *("unfinished", "reason", "verdict"),
    }
    run = runs.load(header)
    expected = registry.experiment(TOY).metrics(run)[0]
    (finding, _) = measurements.of_run(header)
    assert finding.metric == expected and finding.verdict == expected.verdict(run.config)


def test_metrics_measure_declared_claims_only(runs, change_toy):
    main(["run", TOY, *FAST])
    run = runs.load(runs.headers(TOY)[0])
    change_toy(claims=registry.experiment(TOY).claims[:1])
    with pytest.raises(KeyError, match=r"toy\.exact"):
        measurements.measure(registry.experiment(TOY), run)
    findings = measurements.of_run(runs.headers(TOY)[0])
    assert [finding.metric.claim.id for finding in findings] == ["toy.recovered"]


def set_first_claim(change_toy, at: dict) -> None:
    """The first claim of the throw-away experiment is one of this setting alone."""
    experiment = registry.experiment(TOY)
    first, *others = experiment.claims
    claims = {claim.id: claim for claim in (dataclasses.replace(first, at=at), *others)}
    change_toy(
        claims=tuple(claims.values()),
        metrics=lambda run: [
            dataclasses.replace(metric, claim=claims[metric.claim.id])
            for metric in experiment.metrics(run)
        ],
    )


@pytest.mark.long
def test_a_claim_is_what_it_is_at_the_worst_run_at_its_setting(capsys, runs, change_toy):
    """Runs elsewhere, and runs made here where there is a shipped one, do not count."""
    set_first_claim(change_toy, {"d": 8})
    assert main(["build", TOY]) == 0 and main(["run", TOY, "--set", "d=8", "steps=10"]) == 0
    summaries = measurements.summaries(measurements.collect(runs))
    summary = {summary.first.metric.claim.id: summary for summary in summaries}["toy.recovered"]
    assert summary.verdict == "reproduced"
    assert [finding.presets for finding in summary.here] == [("classroom",)]
    assert [finding.presets for finding in summary.elsewhere] == [("paper",)]
    assert measurements.counts(runs)["toy"] == {"paper": {"reproduced": 1}, "theory": {"fails": 1}}


def test_a_run_made_here_counts_where_no_shipped_one_is_at_the_setting(runs, change_toy):
    set_first_claim(change_toy, {"d": 3})
    assert main(["build", TOY, "--preset", "classroom"]) == 0
    assert main(["run", TOY, "--set", "d=3"]) == 0
    summaries = measurements.summaries(measurements.collect(runs))
    (summary,) = [summary for summary in summaries if summary.here and summary.elsewhere]
    assert summary.verdict == "reproduced" and summary.here[0].header.origin == "local"


def test_a_run_whose_settings_are_out_of_range_has_no_findings(runs):
    main(["run", TOY, *FAST])
    (header,) = runs.headers(TOY)
    assert measurements.of_run(header)
    beyond = dataclasses.replace(header, config={**header.config, "d": 10**6})
    assert measurements.of_run(beyond) == []


def test_build_ships_every_preset_skips_what_is_there_and_prunes(capsys, runs):
    experiment = registry.experiment(TOY)
    old = runs.ship(TOY, experiment.config(steps=11), {}, {"seconds": 1})
    assert main(["build", TOY]) == 0
    assert "teacher found" in capsys.readouterr().out
    headers = {tuple(header.info["presets"]): header for header in runs.headers(TOY)}
    assert headers.keys() == {("classroom",), ("paper",)} and not old.path.exists()
    assert all(header.origin == "shipped" for header in headers.values())
    assert headers["classroom",].config["seeds"] == 2
    assert runs.find(Request(TOY, experiment.presets[0].config)) == headers["classroom",]
    before = {header.path: header.path.stat().st_mtime_ns for header in headers.values()}
    assert main(["build", TOY, "--jobs", "2"]) == 0
    assert {path: path.stat().st_mtime_ns for path in before} == before


@pytest.mark.long
def test_build_leaves_the_models_of_further_seeds_out_of_a_large_run(runs, monkeypatch):
    """That of the run that opens the page keeps them."""
    monkeypatch.setattr(build, "LARGE_MODELS", 256)
    opening, other = registry.experiment(TOY).presets
    further = {"seed/2/final/W": np.zeros((8, 8), np.float32)}
    for preset, seeds in ((opening, 2), (other, 1)):
        config = dataclasses.replace(preset.config, seeds=seeds)
        tensors = registry.experiment(TOY).run(config, Recorder())
        runs.save(TOY, config, {**tensors, **further}, {"seconds": 1})
    assert main(["build", TOY]) == 0
    by_preset = {header.info["presets"][0]: runs.load(header) for header in runs.headers(TOY)}
    assert by_preset[opening.name].seeds_held == 2 and by_preset[other.name].seeds_held == 1
    assert by_preset[other.name].config.seeds == 1 and "curve/loss" in by_preset[other.name].tensors


@pytest.mark.long
def test_build_replaces_a_damaged_file(runs):
    assert main(["build", TOY, "--preset", "classroom"]) == 0
    (header,) = runs.headers(TOY)
    good = header.path.read_bytes()
    header.path.write_bytes(good[:-1])
    assert main(["build", TOY, "--preset", "classroom"]) == 0
    assert runs.load(runs.headers(TOY)[0]).digest == header.digest


@pytest.mark.long
def test_build_trains_a_run_with_a_damaged_tensor_again(capsys, runs):
    assert main(["build", TOY, "--preset", "classroom"]) == 0
    (header,) = runs.headers(TOY)
    good = header.path.read_bytes()
    header.path.write_bytes(good[:-1] + bytes([good[-1] ^ 1]))
    assert main(["build", TOY, "--preset", "classroom"]) == 0
    assert "is damaged; it is made anew" in capsys.readouterr().err
    assert runs.load(runs.headers(TOY)[0]).digest == header.digest


def test_build_names_a_run_that_cannot_be_read(capsys, runs, monkeypatch):
    monkeypatch.setattr(type(runs), "load", lambda *_: None)
    assert main(["build", TOY, "--preset", "classroom"]) == 1
    assert "toy.walk (classroom): Damaged: expected the run" in capsys.readouterr().err


@pytest.mark.long
def test_build_names_metrics_that_fail_and_ships_the_rest(capsys, runs, change_toy):
    measured = registry.experiment(TOY).metrics
    change_toy(metrics=lambda run: measured(run) if run.config.d == 16 else 1 / 0)
    assert main(["build", TOY]) == 1
    assert "toy.walk (classroom): ZeroDivisionError" in capsys.readouterr().err
    (header,) = [header for header in runs.headers(TOY) if header.config["d"] == 16]
    assert header.origin == "shipped"


def test_build_brings_what_is_said_of_a_run_up_to_date(runs, change_toy):
    assert main(["build", TOY, "--preset", "classroom"]) == 0
    digest = runs.headers(TOY)[0].digest
    measured = registry.experiment(TOY).metrics
    change_toy(
        metrics=lambda run: [dataclasses.replace(metric, error=0.5) for metric in measured(run)]
    )
    assert main(["build", TOY, "--preset", "classroom"]) == 0
    (header,) = runs.headers(TOY)
    assert header.digest == digest and header.info["metrics"][0]["error"] == 0.5


def test_build_names_a_training_that_failed(capsys, change_toy):
    experiment = registry.experiment(TOY)
    hot = dataclasses.replace(experiment.presets[0], config=experiment.config(rate=10.0, steps=200))
    change_toy(presets=(hot,))
    assert main(["build", TOY]) == 1
    assert "toy.walk (classroom): failed: it diverged" in capsys.readouterr().err


def test_equal_presets_share_a_run_and_what_is_not_shipped_has_none(change_toy):
    first = registry.experiment(TOY).presets[0]
    unshipped = dataclasses.replace(
        first, name="slow", config=registry.experiment(TOY).config(d=2), shipped=False
    )
    change_toy(presets=(first, dataclasses.replace(first, name="figure 1"), unshipped))
    (item,) = build.wanted_runs(TOY)
    assert item.presets == ["classroom", "figure 1"]


@pytest.mark.long
@pytest.mark.parametrize(
    ("command", "after", "message"),
    [
        (["run"], "cancelled", terminal.CANCELLED_HERE),
        (["build", "--jobs", "1"], "interrupted", terminal.INTERRUPTED),
        (
            ["sweep", "--over", "rate=0.1,0.2", "--jobs", "1"],
            "interrupted",
            terminal.INTERRUPTED,
        ),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_ctrl_c_cancels_a_run_and_interrupts_a_build_or_sweep(tmp_path, command, after, message):
    """In processes of their own, workers and all."""
    papers = tmp_path / "papers"
    shutil.copytree(EXTRA / "toy", papers / "long", ignore=shutil.ignore_patterns("__pycache__"))
    for path in papers.rglob("*.py"):
        longer = path.read_text(encoding="utf-8").replace("papers.toy", "papers.long")
        path.write_text(longer.replace("Config(),", "Config(steps=1_000_000),"), encoding="utf-8")
    arguments = [sys.executable, "-m", "icl_core", command[0], "long.walk", *command[1:]]
    # as from a terminal: a shell that runs the tests in its background has its children ignore
    # Ctrl-C
    heed = lambda: signal.signal(signal.SIGINT, signal.default_int_handler)  # noqa: E731
    environment = {**os.environ, "ICL_PAPERS": str(papers)}
    process = subprocess.Popen(
        arguments, cwd=ROOT, env=environment, preexec_fn=heed, text=True, stderr=subprocess.PIPE
    )
    wait_for(
        lambda: any(job.status == "running" and job.step > 3 for job in queue.states()),
        "a running job",
    )
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=90)
    assert (process.returncode, error) == (130, f"{message}\n")
    wait_for(lambda: after in [job.status for job in queue.states()], "the job to end")
    for job in queue.states():
        queue.cancel(job.key)
    wait_for(lambda: all(job.ended for job in queue.states()), "the rest to end")
