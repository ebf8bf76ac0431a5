"""What runs measured, as rows, tables and verdicts: every column, the order, what is not known."""

import dataclasses
import math
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from house import TOY, house

from icl_core import registry
from icl_core.contract.claims import CLASSROOM_ONLY, ELSEWHERE, NOT_DECIDED, NOT_RUN, Metric
from icl_core.contract.experiment import Run
from icl_core.contract.knobs import BadSetting
from icl_core.evidence import claim_rows, evidence_html, measurements, verdicts
from icl_core.evidence.claim_scale import Point, allowed_range, axis_of, scale_html
from icl_core.evidence.measurements import Finding, Summary
from icl_core.runs import store
from icl_core.runs.header import Header

RECORD = {"value": 1.0, "error": None, "unfinished": "", "reason": "", "verdict": "reproduced"}


def claims():
    return registry.experiment(TOY).claims


def header(origin="shipped", **info):
    return Header(TOY, "0123456789abcdef", {}, info, "", origin, Path())


def finding(verdict="reproduced", claim=None, at=None, **measured):
    return Finding(
        TOY, Metric(**{"claim": claim or claims()[0], "value": 0.5, **measured}), verdict, at
    )


def verdicts_of(findings):
    return [(finding.metric.claim.id, finding.verdict) for finding in findings]


def test_a_row_says_whose_claim_it_is_and_what_came_out_where():
    claim = dataclasses.replace(claims()[0], at={"d": 8})
    measured = finding(
        claim=claim, at=header(presets=["classroom", "paper"]), value=0.99, error=0.25, reason="so"
    )
    assert measured.row() == {
        "paper": "toy",
        "experiment": TOY,
        "claim": "toy.recovered",
        "label": "teacher found",
        "kind": "paper",
        "quote": "the student finds its teacher",
        "setting": "inputs d = 8",
        "preset": "classroom, paper",
        "value": 0.99,
        "error": 0.25,
        "relation": "near",
        "bound": 1.0,
        "tolerance": 0.02,
        "verdict": "reproduced",
        "source": "Section 1",
        "reason": "so",
        "run": "0123456789abcdef",
    }


@pytest.mark.parametrize(
    ("verdict", "measured", "reason"),
    [
        ("reproduced", {}, ""),
        ("not reproduced", {}, "not known"),
        ("not found here", {}, "not known"),
        ("fails", {"reason": "of this"}, "of this"),
        (NOT_DECIDED, {"unfinished": "still falling", "reason": "of this"}, "still falling"),
        (NOT_RUN, {}, ""),
    ],
)
def test_a_row_says_why_and_where_it_fails_that_nobody_knows(verdict, measured, reason):
    assert finding(verdict, **measured).row()["reason"] == reason


@pytest.mark.parametrize("value", [None, math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_none_in_rows_and_records(value):
    row = finding(NOT_RUN, value=value, error=value).row()
    assert (row["value"], row["error"], row["run"], row["preset"]) == (None, None, "", "")
    metric = Metric(claims()[0], value, value)
    (record,) = measurements.records_of(registry.experiment(TOY), [metric], None)
    assert (record["value"], record["error"]) == (None, None)


def test_a_record_keeps_all_that_was_measured_and_comes_back():
    experiment = registry.experiment(TOY)
    metric = Metric(claims()[1], -1.0, 0.25, "still falling", "of this", count=3)
    record = {
        "claim": "toy.exact",
        "kind": "theory",
        "value": -1.0,
        "error": 0.25,
        "unfinished": "still falling",
        "reason": "of this",
        "count": 3,
        "verdict": NOT_DECIDED,
    }
    records = measurements.records_of(experiment, [metric], experiment.config())
    assert records == [record]
    run_header = dataclasses.replace(header(metrics=records), config={})
    assert measurements.of_run(run_header) == [Finding(TOY, metric, NOT_DECIDED, run_header)]


def test_what_was_infinite_keeps_its_verdict_though_no_value_is_kept():
    experiment = registry.experiment(TOY)
    metric = Metric(claims()[1], math.inf)
    records = measurements.records_of(experiment, [metric], experiment.config())
    (restored,) = measurements.of_run(header(metrics=records))
    assert restored.metric.value is None and restored.verdict == records[0]["verdict"] == "fails"


def test_a_run_is_measured_by_its_experiment_and_judged_at_its_settings():
    experiment = registry.experiment(TOY)
    tensors = {
        "final/weights": np.eye(2),
        "final/teacher": np.eye(2),
        "curve/loss": np.array([[1.0, 0.5]]),
    }
    records = measurements.measure(experiment, Run(experiment.config(), tensors))
    assert [(record["claim"], record["value"], record["verdict"]) for record in records] == [
        ("toy.recovered", 1.0, "reproduced"),
        ("toy.exact", 0.5, "fails"),
    ]


def test_what_a_file_keeps_is_judged_at_the_settings_of_its_run(monkeypatch):
    toy = registry.experiment(TOY)
    mine = dataclasses.replace(toy, claims=[dataclasses.replace(claims()[0], at={"steps": 30})])
    monkeypatch.setattr(registry, "experiment", lambda name: mine)
    records = measurements.records_of(mine, [Metric(mine.claims[0], 1.0)], toy.config())
    findings = [
        measurements.of_run(dataclasses.replace(header(metrics=records), config={"steps": steps}))
        for steps in (30, 40)
    ]
    assert [finding.verdict for (finding,) in findings] == ["reproduced", ELSEWHERE]
    store = SimpleNamespace(atlases=SimpleNamespace(whole={TOY: header(metrics=records)}.get))
    # pyright: ignore[reportArgumentType]
    assert [finding.metric.value for finding in measurements.of_atlas(TOY, store)] == [1.0]
    assert measurements.of_atlas("another", store) == []  # pyright: ignore[reportArgumentType]


def test_a_record_of_a_claim_that_is_no_longer_declared_is_left_out_and_the_others_stay():
    records = [{**RECORD, "claim": claim} for claim in ("toy.gone", "toy.recovered")]
    findings = measurements.of_run(header(metrics=records))
    assert verdicts_of(findings) == [("toy.recovered", "reproduced")]
    assert measurements.of_run(header()) == []  # its metrics failed


def test_the_least_favourable_verdict_comes_first_and_none_comes_last():
    order = ["fails", NOT_DECIDED, "reproduced", CLASSROOM_ONLY, NOT_RUN]
    shuffled = [NOT_RUN, "reproduced", "fails", CLASSROOM_ONLY, NOT_DECIDED]
    assert sorted(shuffled, key=measurements.verdict_rank) == order
    assert (
        measurements.verdict_rank(ELSEWHERE)
        == measurements.verdict_rank(NOT_RUN)
        > max(map(measurements.verdict_rank, order[:3]))
    )
    findings = tuple(finding(verdict, at=header()) for verdict in order[:3])
    assert Summary(findings, ()).verdict == "fails"
    elsewhere = finding(ELSEWHERE, at=header())
    assert Summary((), (elsewhere,)).verdict == CLASSROOM_ONLY
    assert Summary((), (finding(NOT_RUN),)).verdict == NOT_RUN
    assert Summary(findings[2:], (elsewhere,)).verdict == "reproduced"
    assert Summary((), findings).first is findings[0]
    assert Summary(findings[1:], findings).first is findings[1]


def test_a_summary_counts_shipped_runs_at_the_setting_and_those_made_here_where_there_is_none():
    first, second = claims()
    findings = [
        finding("fails", second, header("local")),
        finding(ELSEWHERE, second, header()),
        finding("fails", first, header("local")),
        finding("reproduced", first, header()),
        finding(NOT_RUN, first),
    ]
    failing, reproduced = measurements.summaries([findings[3], *findings])
    assert failing.here == (findings[0],) and failing.elsewhere == (findings[1],)
    assert failing.verdict == "fails"
    assert reproduced.here == (findings[3], findings[3]) and reproduced.elsewhere == (findings[4],)


def test_a_claim_counts_once_at_its_worst_and_runs_made_here_do_not(tmp_path, monkeypatch):
    with house(tmp_path, monkeypatch) as runs:
        assert measurements.counts(runs) == {}
        config = registry.experiment(TOY).config
        verdicts = [("reproduced", "holds"), ("not decided", ELSEWHERE), ("reproduced", "holds")]
        for seed, pair in enumerate(verdicts):
            records = [
                {"claim": claim.id, "kind": claim.kind, "verdict": verdict}
                for claim, verdict in zip(claims(), pair, strict=True)
            ]
            runs.ship(TOY, config(seed=seed), {}, {"metrics": records})
        record = {"claim": "toy.exact", "kind": "theory", "verdict": "fails"}
        runs.save(TOY, config(seed=9), {}, {"metrics": [record]})
        assert measurements.counts(runs) == {
            "toy": {"paper": {"not decided": 1}, "theory": {"holds": 1}}
        }


def test_every_claim_without_a_run_is_not_run(tmp_path, monkeypatch):
    with house(tmp_path, monkeypatch) as runs:
        record = {**RECORD, "claim": "toy.exact", "value": 0.0, "verdict": "holds"}
        runs.ship(TOY, registry.experiment(TOY).config(), {}, {"metrics": [record]})
        findings = measurements.of_experiment(TOY, runs)
        assert verdicts_of(findings) == [("toy.exact", "holds"), ("toy.recovered", NOT_RUN)]
        assert findings[1].header is None and findings[1].metric.value is None


@pytest.mark.parametrize(
    ("bound", "text"),
    [
        ({"near": 1.0, "tolerance": 0.02}, "1 ± 0.02"),
        ({"at_least": 0.95}, "≥ 0.95"),
        ({"at_least": 0.95, "tolerance": 0.05}, "≥ 0.95 (0.9 counts)"),
        ({"at_most": 0.0}, "≤ 0"),
        ({"at_most": 0.0, "tolerance": 0.123456}, "≤ 0 (0.1235 counts)"),
    ],
)
def test_a_table_has_columns_of_one_width_and_the_words_at_the_end(bound, text):
    none = dict.fromkeys(("near", "at_least", "at_most"))
    claim = dataclasses.replace(claims()[0], **{**none, "tolerance": 0.0, **bound})
    rows = [
        finding("not reproduced", claim, header(presets=["classroom"]), value=0.123456).row(),
        finding(NOT_RUN, claims()[1], value=None).row(),
        finding("holds", claims()[1], header(), value=0.0, reason="as proved").row(),
    ]
    head, *lines = measurements.findings_table(rows).splitlines()
    width = max(len(text), len("≤ 0"), len("bound"))
    assert head == (
        f"experiment  preset     claim          value    {'bound':<{width}}  verdict         kind  "
        "  source; setting; quote; why"
    )
    assert lines == [
        f"toy.walk    classroom  teacher found  0.1235   {text:<{width}}  not reproduced  paper   "
        "Section 1; any setting; “the student finds its teacher”; not known",
        f"toy.walk               last loss      not run  {'≤ 0':<{width}}  not run         theory  "
        "exact; any setting",
        f"toy.walk    012345     last loss      0        {'≤ 0':<{width}}  holds           theory  "
        "exact; any setting; as proved",
    ]


@pytest.mark.parametrize(
    ("runs", "said"),
    [
        ((("fails", ""), ("fails", "")), ["Why: not known"]),
        ((("holds", ""), ("holds", "")), []),
        ((("fails", "so <b>"), ("fails", "so <b>")), ["Why: so &lt;b&gt;"]),
        ((("fails", "so"), ("fails", "")), ["Why, in first: so", "Why, in second: not known"]),
        (
            (("fails", ""), ("not decided", "of one seed")),
            ["Why, in first: not known", "Why, in second: of one seed"],
        ),
        ((("holds", ""), ("not decided", "of one seed")), ["Why, in second: of one seed"]),
        ((("fails", "so"), ("holds", ""), ("fails", "so")), ["Why, in first, third: so"]),
    ],
)
def test_a_page_names_the_run_of_each_reason_where_they_differ(runs, said):
    verdicts_by_name = zip(("first", "second", "third"), runs, strict=False)
    findings = tuple(
        finding(verdict, at=header(presets=[name]), reason=why)
        for name, (verdict, why) in verdicts_by_name
    )
    page = evidence_html.evidence_html([Summary(findings, ())])
    text = re.sub("</?a.*?>", "", page)
    assert re.findall("(?<=<br>)Why.*?(?=<)", text) == said
    assert "expected: near 1" in text and (">first</a>" in page)


def test_what_is_not_decided_says_why_before_all_else():
    undecided = finding("not decided", at=header(), unfinished="one seed", reason="so")
    page = evidence_html.evidence_html([Summary((undecided,), ())])
    assert "Why: one seed<" in page


def test_every_shipped_verdict_that_is_not_decided_says_why_and_what_would_decide_it():
    undecided = [
        measured
        for measured in measurements.collect(store.default())
        if measured.verdict == NOT_DECIDED
    ]
    assert len(undecided) > 5
    for measured in undecided:
        assert measured.why and measured.to_decide, measured.row()


@pytest.mark.parametrize(
    ("value", "error", "count"), [(1.1, 0.1, 3), (1.1, 0.06, 5), (0.7, 0.2, 4)]
)
def test_so_many_seeds_as_would_decide_do_so_and_one_less_does_not(value, error, count):
    """If mean and standard deviation stay, the error falls like one over the root of the seeds."""
    claim = dataclasses.replace(claims()[0], near=None, at_least=1.0, tolerance=0.0, at={})
    undecided = Metric(claim, value, error, count=count)
    assert undecided.verdict(None) == NOT_DECIDED
    seeds = int(re.search("about ([0-9]+) seeds", undecided.to_decide())[1])
    for more, decides in ((seeds - 1, False), (seeds, True)):
        again = Metric(claim, value, error * (count / more) ** 0.5, count=more)
        assert (again.verdict(None) != NOT_DECIDED) == decides, more


def test_what_would_decide_is_said_where_the_page_says_why():
    unsure = finding("not decided", at=header(), error=1.0)
    page = evidence_html.evidence_html([Summary((unsure, finding("holds", at=header())), ())])
    assert page.count("What would decide it: about") == 1
    assert "standard errors from its limit" in page


def test_what_all_runs_of_an_atlas_say_is_said_to_be_theirs():
    page = evidence_html.evidence_html(
        [Summary((finding(at=header("atlas")), finding(at=header("local"))), ())]
    )
    assert ">all runs of the included sweep</a>; 0.5 in <a" in page
    assert ">a run made here, 012345</a> (1 seed)" in page


def test_of_thousands_of_runs_a_few_are_listed_and_the_others_counted():
    many = tuple(
        finding(at=header("local"), value=float(number), reason=f"{number % 2}")
        for number in range(2000)
    )
    page = evidence_html.evidence_html([Summary(many, many)])
    listed = evidence_html.MOST_LISTED
    assert page.count(f"; and {2000 - listed:,} more") == 2
    assert page.count("a run made here") == 4 * listed and ", 2000 runs at other" in page
    page = evidence_html.evidence_html([Summary(many[:listed], ())])
    assert " more" not in page.replace('class="more', "")


def test_every_claim_is_counted_also_one_that_no_run_was_made_for():
    paper = ("reproduced", "not run", "not decided", "reproduced", "not reproduced")
    summaries = [Summary((finding(verdict),), ()) for verdict in paper]
    paper_line = "5 claims: 2 reproduced, 1 not reproduced, 1 not decided, 1 not run"
    assert verdicts.summary_line(summaries) == paper_line
    theory = dataclasses.replace(claims()[0], kind="theory")
    theorems = [Summary((finding("holds", theory),), ()), Summary((finding("fails", theory),), ())]
    assert (
        verdicts.summary_line(summaries + theorems)
        == f"{paper_line} · 2 theorems: 1 holds, 1 fails"
    )
    assert verdicts.short_line(summaries + theorems) == "2 of 5 claims reproduced"
    # without a run of the paper's own claims the next kind stands beside them
    unrun = [Summary((), (finding("not run"),))]
    line = verdicts.short_line(unrun + theorems[:1])
    assert line == "1 claim: 1 not run · 1 of 1 theorem holds"
    assert verdicts.short_line(theorems) == "1 of 2 theorems hold"
    assert verdicts.summary_line([]) == "no claims"


@pytest.mark.parametrize(
    ("bound", "values", "log"),
    [
        ({"at_least": 0.95}, [(0.97, 0.01)], False),
        ({"at_least": 0.95, "tolerance": 0.05}, [(0.2, 0.0), (0.99, 0.3)], False),
        ({"at_most": 0.0, "tolerance": 0.05}, [(0.016, 0.027)], False),
        ({"at_most": 0.001}, [(1e-8, 0.0)], True),
        ({"at_least": 1.0}, [(78.0, 187.0)], True),
        ({"near": 2.0, "tolerance": 0.5}, [(0.1, 0.03), (-0.05, 0.04)], False),
        ({"near": 0.0}, [(0.0, 0.0)], False),
        ({"near": 1.0, "tolerance": 0.1}, [(900.0, 1.0)], True),
    ],
)
def test_a_scale_shades_what_the_claim_allows_and_puts_each_point_on_its_side(bound, values, log):
    limits = {"near": None, "at_least": None, "at_most": None}
    claim = dataclasses.replace(claims()[0], **{**limits, "tolerance": 0.0, **bound})
    points = [Point(value, error, "kept", str(value)) for value, error in values]
    axis = axis_of(claim, points)
    low, high = allowed_range(claim)
    shaded = axis.share(low) if low > -math.inf else 0.0, axis.share(high) if high < math.inf else 1
    assert axis.log == log
    assert 0 < axis.share(claim.bound) < 1
    assert (
        min(low, high) == -math.inf or max(low, high) == math.inf or 0 < shaded[0] <= shaded[1] < 1
    )
    if claim.relation != "near":
        assert shaded[1] - shaded[0] >= 0.249
    for value, error in values:
        at = axis.share(value)
        assert 0 < at < 1
        assert (shaded[0] <= at <= shaded[1]) == (claim.slack(value) >= 0)
        assert axis.share(value - error) <= at <= axis.share(value + error)


def test_a_scale_is_read_aloud_and_is_left_out_where_nothing_was_measured():
    claim = claims()[0]
    text = scale_html(claim, [Point(0.5, 0.1, "failed", "0.5 <± 0.1")], "expected: near 1")
    spoken = (
        'aria-label="teacher found: measured 0.5 &lt;± 0.1 (not as expected); expected: near 1"'
    )
    assert spoken in text and 'role="img"' in text
    assert scale_html(claim, [Point(math.nan, 0.0, "open", "")], "") == ""


def test_a_tolerance_is_said_by_what_counts():
    claim = dataclasses.replace(claims()[0], near=None, at_most=0.0, tolerance=0.05)
    assert verdicts.bound_text(claim) == "expected: at most 0 (up to 0.05 counts as 0)"
    claim = dataclasses.replace(claims()[0], near=None, at_least=1.0, tolerance=0.1)
    assert verdicts.bound_text(claim) == "expected: at least 1 (0.9 or more counts as 1)"


def test_a_folded_claim_stands_with_the_one_that_says_the_same(monkeypatch):
    """Its runs are evidence of that claim; alone, as on its own page, it keeps its row."""
    papers = registry.papers()
    into = {"walk.recovered": "other.exact"}
    toy = dataclasses.replace(papers["toy"], folded_claims=into)
    monkeypatch.setattr(registry, "papers", lambda: {**papers, "toy": toy})
    first, second = claims()
    first = dataclasses.replace(first, id="recovered")
    second = dataclasses.replace(second, id="exact")
    own = Finding("toy.walk", Metric(first, 1.0), ELSEWHERE, header())
    other = Finding("toy.other", Metric(second, 1.0), "holds", header())
    (together,) = measurements.summaries([own, other])
    assert together.here == (other,) and together.elsewhere == (own,)
    (alone,) = measurements.summaries([own])
    assert alone.first is own and alone.verdict == CLASSROOM_ONLY


def test_the_folded_claims_of_the_papers_exist():
    for paper in registry.papers().values():
        for names in paper.folded_claims.items():
            for name in names:
                experiment, _, identity = name.partition(".")
                declared = registry.experiment(f"{paper.name}.{experiment}").claims
                assert any(claim.id == identity for claim in declared), name


def test_a_run_can_ask_for_the_shipped_runs_beside_it():
    header = store.default().preset("birth.induction", "order")
    run = store.default().load(header) if header else None
    assert run is not None
    beside = run.shipped("W_O2 frozen")
    assert beside is not None and beside.config.freeze_W_O2 and not run.config.freeze_W_O2
    assert run.shipped("no such preset") is None


def test_every_claim_has_one_row_and_its_verdict_is_that_of_the_run_it_names():
    rows = claim_rows.all_rows(store.default())
    declared = {
        f"{id}.{claim.id}"
        for id in registry.experiment_ids()
        for claim in registry.experiment(id).claims
    }
    names = [row.name for row in rows]
    assert len(set(names)) == len(names) and set(names) <= declared
    folded = {
        f"{paper.name}.{claim}"
        for paper in registry.papers().values()
        for claim in paper.folded_claims
    }
    assert declared - set(names) == folded
    for row in rows:
        if row.deciding is None:
            assert row.summary.verdict in (NOT_RUN, CLASSROOM_ONLY) and row.size == ""
        else:
            assert row.deciding.verdict == row.summary.verdict and row.size
    counts = claim_rows.counted(rows)
    by_kind = [kinds for paper in counts.values() for kinds in paper.values()]
    assert sum(sum(kinds.values()) for kinds in by_kind) == len(rows)


def test_a_claim_is_found_by_its_name_or_by_its_last_part():
    row = claim_rows.row_of(store.default(), "recall-W_O2")
    assert row == claim_rows.row_of(store.default(), "birth.induction.recall-W_O2")
    with pytest.raises(BadSetting, match="is the name of memformers"):
        claim_rows.row_of(store.default(), "reaches-floor")
    with pytest.raises(BadSetting, match="did you mean"):
        claim_rows.row_of(store.default(), "birth.induction.recall-W_O3")


def test_the_panels_of_claims_are_drawings_of_their_experiments():
    """A name that does not exist would make a link without a mark."""
    count = 0
    for id in registry.experiment_ids():
        experiment = registry.experiment(id)
        panels = [claim.panel for claim in experiment.claims if claim.panel]
        count += len(panels)
        assert set(panels) <= {drawing.name for drawing in experiment.drawings}, id
    assert count > 200
