"""A claim verified: its runs trained anew, compared with what is stored, an error that was planted,
one verification at a time."""

import dataclasses
import html
import json
import os
import re
from importlib.metadata import version

import numpy as np
import psutil
import pytest
from house import TOY, house
from recorder import Recorder

from icl_core import registry
from icl_core.command import cli, guard
from icl_core.contract.claims import Claim, Metric
from icl_core.contract.experiment import Run
from icl_core.contract.knobs import BadSetting
from icl_core.evidence import claim_rows, measurements
from icl_core.machine import device
from icl_core.runs import code, store
from icl_core.verification import background, front, records, report, verify

CLAIM = f"{TOY}.toy.exact"
PUBLISHED = [name for name, paper in registry.papers().items() if paper.publication]


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """A store with a shipped run of the toy, of so few steps that it depends on its step size."""
    experiment = registry.experiment(TOY)
    config = experiment.config(steps=20, seeds=2)
    with house(tmp_path, monkeypatch) as own_store:
        tensors = experiment.run(config, Recorder())
        measured = measurements.measure(experiment, Run(config, tensors, {}))
        own_store.ship(TOY, config, tensors, {"metrics": measured, "presets": ["classroom"]})
        yield own_store


@pytest.fixture
def train_by(monkeypatch):
    """Has the toy's runs trained by another function."""
    experiment = registry.experiment

    def replace_run(compute) -> None:
        copy = dataclasses.replace(experiment(TOY), run=compute)
        monkeypatch.setattr(
            registry, "experiment", lambda name: copy if name == TOY else experiment(name)
        )

    return replace_run


def test_a_run_that_is_trained_anew_agrees_to_the_last_bit(runs, capsys):
    assert cli.main(["verify", CLAIM, "--json"]) == guard.DONE == 0
    (outcome,) = json.loads(capsys.readouterr().out)
    assert outcome["outcome"] == "agree" and outcome["same"] is True and outcome["reason"] == ""
    assert outcome["value"] == outcome["value_anew"] and outcome["verdict_anew"] != ""
    assert outcome["error"] == outcome["error_anew"] and outcome["seconds"] > 0
    row = claim_rows.row_of(runs, CLAIM)
    last = records.last_record(row)
    assert last is not None and last.outcome == verify.AGREE
    assert runs.headers() == [header for header in runs.headers() if header.origin == "shipped"]


def test_a_doubled_step_size_is_reported_as_differ(runs, train_by, capsys):
    train = registry.experiment(TOY).run
    train_by(
        lambda config, progress: train(dataclasses.replace(config, rate=2 * config.rate), progress)
    )
    assert cli.main(["verify", CLAIM]) == guard.DIFFER == 3
    output = capsys.readouterr().out
    assert output.startswith(f"{CLAIM}: differ; ") and "the digest is another" in output
    row = claim_rows.row_of(runs, CLAIM)
    assert getattr(records.last_record(row), "outcome", "") == verify.DIFFER


def test_what_takes_too_long_or_has_no_run_is_not_verified(runs, monkeypatch, capsys):
    assert cli.main(["verify", CLAIM, "--under", "0s"]) == guard.NOT_VERIFIED == 4
    assert "the time limit came before the end" in capsys.readouterr().out
    row = claim_rows.row_of(runs, "birth.induction.recall-W_O2")
    (outcome,) = verify.verify([row], runs)
    assert (outcome.outcome, outcome.reason) == (verify.NOT_VERIFIED, "no run is at its setting")
    with pytest.raises(SystemExit):
        cli.main(["verify", CLAIM, "--under", "10"])
    assert cli.main(["verify"]) == cli.main(["verify", "--all", CLAIM]) == guard.BAD_VALUE
    assert cli.main(["verify", "toy.walk.toy.exakt"]) == guard.BAD_VALUE
    monkeypatch.setenv("ICL_READ_ONLY", "1")
    assert cli.main(["verify", CLAIM]) == guard.BAD_VALUE


def test_a_training_that_fails_leaves_the_other_claims(runs, train_by):
    def fail(config, progress):
        raise ZeroDivisionError("of this test")

    train_by(fail)
    rows = [row for row in claim_rows.all_rows(runs) if row.experiment == TOY]
    outcomes = list(verify.verify(rows, runs))
    assert [outcome.claim for outcome in outcomes] == [row.name for row in rows] and len(rows) == 2
    reasons = {outcome.reason for outcome in outcomes if outcome.run}
    assert reasons == {"the training failed: ZeroDivisionError: of this test"}


def metric(value, error=None, count=None, tolerance=0.0):
    claim = Claim(
        id="a", label="a", kind="ours", text="", source="", at_least=0.0, tolerance=tolerance
    )
    return Metric(claim, value, error, count=count)


def test_two_numbers_agree_within_chance_tolerance_or_rounding():
    def differ(old, new, verdict="found here"):
        return bool(verify.difference(old, "found here", new, verdict))

    assert differ(metric(1.0), metric(1.0), "not found here")
    assert differ(metric(1.0), metric(1.001)) and not differ(metric(1.0), metric(1.00009))
    assert not differ(metric(1.0, tolerance=0.01), metric(1.009, tolerance=0.01))
    # of two means of three values each, 2.776 standard errors of their difference: 4 degrees
    limit = 2.776 * np.hypot(0.1, 0.2)
    old = metric(1.0, 0.1, 3)
    assert not differ(old, metric(1.0 + 0.999 * limit, 0.2, 3))
    assert differ(old, metric(1.0 + 1.001 * limit, 0.2, 3))
    assert differ(metric(1.0, 0.1), metric(1.0 + 0.28, 0.1))
    assert not differ(metric(1.0, 0.1), metric(1.27, 0.1))
    assert differ(metric(None), metric(1.0)) and not differ(metric(None), metric(None))


def test_of_all_claims_those_fit_whose_runs_are_trained_in_time(monkeypatch):
    rows = claim_rows.all_rows(store.default())
    seconds = {}
    monkeypatch.setattr(verify, "run_seconds", lambda header: seconds.setdefault(header.key, 10.0))
    fitting = verify.that_fit(rows, 25.0)
    keys = {run.header.key for row in fitting for run in verify.runs_of(row)}
    assert len(keys) == 2 and all(len(verify.runs_of(row)) <= 2 for row in fitting)
    assert not any(verify.refusal(row) for row in verify.that_fit(rows, 1e9))
    assert len(verify.that_fit(rows, 1e9)) == sum(not verify.refusal(row) for row in rows)


def test_the_last_time_counts_for_the_runs_of_then_only(runs):
    row = claim_rows.row_of(runs, CLAIM)
    records.store_record(row, verify.Outcome(CLAIM, verify.AGREE, ""))
    records.store_record(row, verify.Outcome(CLAIM, verify.NOT_VERIFIED, "too late"))
    assert getattr(records.last_record(row), "outcome", "") == verify.AGREE
    (here,) = row.summary.here
    other = dataclasses.replace(here, header=dataclasses.replace(here.header, digest="f" * 64))
    summary = dataclasses.replace(row.summary, here=(other,))
    assert records.last_record(dataclasses.replace(row, summary=summary)) is None
    (records.cache_folder() / "verified.json").write_text("[1")
    assert records.last_record(row) is None


def test_one_claim_is_verified_at_a_time_and_only_its_visitor_cancels_it(runs, monkeypatch):
    row = claim_rows.row_of(runs, CLAIM)
    monkeypatch.setattr(os, "nice", lambda more: 0)
    monkeypatch.setattr(verify, "estimated_seconds", lambda row: 1.0)
    with background.turn([row]):
        assert background.state() == background.State(CLAIM, "", waits=False)
        with pytest.raises(BadSetting, match=f"one claim is verified at a time, now {CLAIM}"):
            background.start(row, "b")
        with pytest.raises(BadSetting, match="can cancel it"):
            background.cancel("b")
        with pytest.raises(BadSetting, match="another one is now"), background.turn([row]):
            pass
    assert background.state() is None
    background.cancel("b")  # there is nothing to cancel
    monkeypatch.setenv("ICL_READ_ONLY", "1")
    with pytest.raises(BadSetting, match="read-only"):
        background.start(row, "b")


def test_a_page_has_a_claim_verified_in_a_process_of_its_own(runs, monkeypatch):
    row = claim_rows.row_of(runs, CLAIM)
    started = []
    monkeypatch.setattr(verify, "estimated_seconds", lambda row: 1.0)
    monkeypatch.setattr(
        background.subprocess,
        "Popen",
        lambda command, **more: started.append(command) or psutil.Process(),
    )
    background.start(row, "a")
    assert started[0][-3:] == ["verify", "--wait", CLAIM]
    assert background.state() == background.State(CLAIM, "a", waits=True)
    (background.cache_folder() / "verifying.json").unlink()


@pytest.fixture
def study(runs):
    """The entries of the toy's claims, of which one panel is known."""
    return [entry for entry in report.entries(runs) if entry.row.experiment == TOY]


def test_the_report_says_of_every_claim_what_was_done_and_how_to_repeat_it(study):
    assert [entry.row.claim.id for entry in study] == ["toy.exact", "toy.recovered"]
    exact = study[0]
    assert exact.panel is not None and exact.caption.startswith(exact.panel.title)
    protocol = dict(exact.protocol)
    assert protocol["Verdict"] == exact.row.summary.verdict == "fails"
    assert protocol["Run"] == "2 seeds, 20 steps" and protocol["Reason"] == "not known"
    assert exact.commands == (
        f"python -m icl_core verify {CLAIM}",
        f"python -m icl_core run {TOY} --preset classroom --set seeds=2",
    )
    parser, _ = cli._parsers("icl_core")
    for command in exact.commands:
        parser.parse_args(command.split()[3:])


def test_the_page_of_the_report_needs_nothing_else_and_holds_every_claim(study):
    page = report.html_page(study)
    texts = re.sub(r"<script.*?</script>", "", page, flags=re.S)
    assert not re.search(r"<script|<link|(src|href)=", texts)
    for entry in study:
        assert f'<section id="{entry.row.name}">' in page
        assert html.escape(entry.row.claim.label) in page
    figures = re.search(r'id="figures">(.*?)</script>', page)
    assert "“the student finds its teacher”" in page and figures is not None
    assert [*json.loads(figures[1])] == re.findall('<img data-figure="([^"]*)"', texts)  # one
    panel = dataclasses.replace(study[0].panel, title='<img onerror="x">', caption="</script>")
    evil = dataclasses.replace(study[0], panel=panel, commands=("a & <b>",))
    page = report.html_page([evil])
    assert "<img on" not in page and "a &amp; &lt;b&gt;" in page


def test_the_folder_of_the_report_has_a_file_a_claim(study, tmp_path):
    folder = tmp_path / "study"
    assert report.write_folder(study, folder) == len(study)
    names = {path.name for path in folder.iterdir()}
    assert names == {"README.md", report.FIGURES, *(f"{entry.row.name}.md" for entry in study)}
    text = (folder / f"{CLAIM}.md").read_text()
    links = re.findall(r"\]\(([^)]*)\)", (folder / "README.md").read_text() + text)
    assert f"{report.FIGURES}#{CLAIM}" in links
    assert all((folder / link.partition("#")[0]).is_file() for link in links)
    assert f"```sh\npython -m icl_core verify {CLAIM}\n" in text
    assert report.markdown("a|b *c* [d](e) <f>\n# g") == r"a\|b \*c\* \[d\](e) \<f\> \# g"


@pytest.fixture
def verified(runs, monkeypatch):
    """The toy's rows, the exact claim of which was verified and differed."""
    rows = [row for row in claim_rows.all_rows(runs) if row.experiment == TOY]
    (row,) = (row for row in rows if row.name == CLAIM)
    outcome = verify.Outcome(
        *(CLAIM, verify.DIFFER, "other"),
        verdict="fails",
        verdict_anew="holds",
        seconds=2.5,
        same=False,
    )
    records.store_record(row, outcome)
    return rows


def front_of(runs, rows):
    return {table.title: table for table in front.tables(runs, rows)}


def test_the_log_says_what_was_verified_by_what_and_how_it_came_out(runs, verified):
    log = front_of(runs, verified)["Log of the last verifications"]
    assert log.text.startswith("Of 2 claims 1 were verified") and ": 1 differ." in log.text
    ((name, stored, anew, outcome, digest, seconds, _, by),) = log.rows
    assert (name, stored, anew, outcome) == (CLAIM, "fails", "holds", "differ")
    assert (digest, seconds) == ("another", "2.5")
    assert by == f"{code.name()}, {device.describe()}, torch {version('torch')}"
    path = records.cache_folder() / "verified.json"
    stored_records = json.loads(path.read_text())
    earlier = {name: stored_records[CLAIM][name] for name in ("date", "outcome", "runs")}
    path.write_text(json.dumps({CLAIM: earlier}))  # as earlier versions kept it
    (row,) = front_of(runs, verified)["Log of the last verifications"].rows
    assert row[1:5] == ("–", "–", "differ", "–")


def test_a_claim_that_is_not_decided_stands_with_the_hours_of_missing_seeds(runs, monkeypatch):
    monkeypatch.setattr(verify, "run_seconds", lambda header: 7200.0)
    (row,) = (row for row in claim_rows.all_rows(runs) if row.name == CLAIM)
    # of two values one needs 12.7 standard errors, of five 2.8
    undecided = metric(0.2, error=0.1, count=2)
    assert undecided.enough_seeds() == 5
    assert dataclasses.replace(undecided, unfinished="it still fell").enough_seeds() is None
    asked = dataclasses.replace(undecided, unfinished="3 seeds decide, and this run has 2")
    assert asked.enough_seeds() == 3
    assert row.deciding is not None
    finding = dataclasses.replace(row.deciding, metric=undecided, verdict="not decided")
    summary = dataclasses.replace(row.summary, here=(finding,))
    other = dataclasses.replace(row, summary=summary, deciding=finding)
    ((name, verdict, why, needed, hours),) = front_of(runs, [other])["Not decided or not run"].rows
    # three seeds more, an hour each
    assert (name, verdict, hours) == (f"{TOY}.a", "not decided", "3")
    assert why.startswith("The value lies 2.0") and needed.startswith("about 5 seeds")
    assert front_of(runs, [row])["Not decided or not run"].rows == ()


def test_the_front_of_the_study_stands_in_page_and_folder(runs, verified, study, tmp_path):
    tables = front.tables(runs, verified)
    page = report.html_page(study, tables)
    folder = tmp_path / "study"
    report.write_folder(study, folder, tables)
    index = (folder / "README.md").read_text()
    for table in tables:
        assert f"<h2>{html.escape(table.title)}</h2>" in page and f"## {table.title}" in index
        for row in table.rows:
            assert all(html.escape(cell) in page for cell in row)
            assert f"| {' | '.join(map(report.markdown, row))} |" in index
            assert len(row) == len(table.head), table.title
    evil = front.Table("<b>", "<i>", ("<u>",), (("<img>|",),))
    page = report.html_page(study, [evil])
    assert not any(f"{tag}" in page for tag in ("<b>", "<i>", "<u>", "<img>"))


def test_errata_and_deviations_of_every_paper_come_from_its_texts_and_its_runs():
    shipped = store.default()
    rows = [row for row in claim_rows.all_rows(shipped) if row.paper in PUBLISHED]
    tables = front_of(shipped, rows)
    errata = tables["Errata of the papers"].rows
    deviations = tables["Deviations from the papers' protocols"].rows
    papers = [paper for name, paper in registry.papers().items() if name in PUBLISHED]
    for paper in papers:
        own = [row for row in errata if row[0] == paper.title.partition(":")[0]]
        drawn = len(own) - len(paper.errata)
        assert (drawn > 0) == bool(paper.publication.measured_errata)
        assert all(row[-1] for row in own[len(paper.errata) :])  # what a run measured of it
        assert len([row for row in deviations if row[1:] in paper.deviations]) == len(
            paper.deviations
        )
        of_authors = [row for row in deviations if row[-1].startswith("the authors' code: ")]
        assert bool(of_authors) == any(each.publication.code_differs for each in papers)
    commits = tables["Authors' code"].rows
    assert {row[0] for row in commits} == {paper.title.partition(":")[0] for paper in papers}
    assert all(re.fullmatch(r"[0-9a-f]{7,40}", commit) for _, _, commit in commits)


def test_the_report_is_refused_where_it_cannot_be_written(runs, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    (tmp_path / "folder.html").mkdir()
    for out in ("none/study.html", "none/study", "file", "folder.html"):
        assert cli.main(["report", "--out", str(tmp_path / out)]) == guard.BAD_VALUE
    assert "must be in a folder that is there" in capsys.readouterr().err
