"""What stands before the claims of a study: where it was made and of which runs, the rule of
verdicts, how protocols differ from the papers', the papers' errata and their authors' code, what is
not decided or not run and what that would take, and the last verifications."""

import platform
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from icl_core import registry
from icl_core.contract.claims import CLASSROOM_ONLY, NOT_DECIDED, NOT_RUN
from icl_core.contract.experiment import Paper
from icl_core.contract.knobs import BadSetting
from icl_core.contract.number_text import significant
from icl_core.contract.paper_words import HEADS
from icl_core.evidence import claim_rows
from icl_core.evidence.claim_rows import ClaimRow
from icl_core.jobs.estimate import estimate_seconds
from icl_core.machine import device
from icl_core.runs import code
from icl_core.runs.atlas import ORIGIN as ATLAS
from icl_core.runs.request import Request
from icl_core.runs.store import Store
from icl_core.verification import records, verify

PACKAGES = ("numpy", "safetensors", "torch")
_LOG = ("claim", "stored", "anew", "outcome", "digest", "seconds", "UTC", "by")
_DIGESTS = {True: "equal", False: "another", None: "–"}


@dataclass(frozen=True)
class Table:
    """A table of a study, with its title and a text before it; without a row it is the text."""

    title: str
    text: str
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def tables(store: Store, rows: Sequence[ClaimRow]) -> list[Table]:
    """Return what stands before the claims `rows`."""
    papers = [registry.papers()[name] for name in dict.fromkeys(row.paper for row in rows)]
    return [
        _circumstances(rows),
        Table("Rule of verdicts", claim_rows.RULE),
        _deviations(store, papers),
        _errata(store, papers),
        _authors_code(papers),
        _not_decided(rows),
        _verified(rows),
    ]


def _circumstances(rows: Sequence[ClaimRow]) -> Table:
    """Tabulate where the study is made, and with what its runs were."""
    found = [finding.header for row in rows for finding in verify.runs_of(row)]
    headers = {header.key: header for header in found if header and header.origin != ATLAS}
    infos = [header.info for header in headers.values()]
    here = {"python": platform.python_version()} | {name: version(name) for name in PACKAGES}
    dates = sorted(str(info.get("date"))[:10] for info in infos if info.get("date"))
    hours = sum(info.get("seconds") or 0.0 for info in infos) / 3600
    seeds = Counter(
        row.deciding.header.config.get("seeds", 1)
        for row in rows
        if row.deciding and row.deciding.header and row.deciding.header.origin != ATLAS
    )
    of_seeds = (f"{claims} by {count}" for count, claims in sorted(seeds.items()))
    made = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, code {code.name()}, {_packages(here)}"
    cells = {
        "this study": f"{made}, {device.describe()}",
        "runs that decide": f"{len(infos)}, of {dates[0]} to {dates[-1]}" if dates else "none",
        "trained with": _counted(_packages(info.get("packages") or {}) for info in infos),
        "on": _counted(
            ", ".join(f"{name} {info.get(name)}" for name in ("device", "precision", "threads"))
            for info in infos
        ),
        "took": f"{hours:.1f} hours of processor time",
        "seeds": f"{', '.join(of_seeds)} (claims by number of seeds, 1 also where nothing is "
        "drawn); numbers in a row, from the setting “seed” on, 0 unless a claim's setting names it",
    }
    return Table("Environment and seeds", "", ("what", ""), tuple(cells.items()))


def _packages(versions: dict[str, Any]) -> str:
    return ", ".join(f"{name} {number}" for name, number in sorted(versions.items()))


def _counted(texts: Iterable[str]) -> str:
    """Return each text with how often it comes, the most frequent first."""
    return "; ".join(f"{text}: {count}" for text, count in Counter(texts).most_common())


def _deviations(store: Store, papers: Sequence[Paper]) -> Table:
    """Tabulate where a protocol is not the paper's, and where text and authors' code differ."""
    rows: list[tuple[str, ...]] = []
    for paper in papers:
        rows += [(_short(paper), *row) for row in paper.deviations]
        for where, text, authors, here in _drawn(store, paper, "code_differs"):
            rows.append((_short(paper), where, text, here, f"the authors' code: {authors}"))
    text = "What is not named here is as the paper has it; the setting of each claim is with it."
    head = ("paper", *HEADS["deviations"])
    return Table("Deviations from the papers' protocols", text, head, tuple(rows))


def _errata(store: Store, papers: Sequence[Paper]) -> Table:
    """Tabulate what is misprinted in the papers, with what was measured of it."""
    rows: list[tuple[str, ...]] = []
    for paper in papers:
        for sentence in paper.errata:
            where, _, what = sentence.partition(": ")
            rows.append((_short(paper), where, what, ""))
        for where, printed, right, measured in _drawn(store, paper, "measured_errata"):
            rows.append((_short(paper), where, f"printed: {printed}; right: {right}", measured))
    head = ("paper", "where", "what", "measured")
    return Table("Errata of the papers", "", head, tuple(rows))


def _drawn(store: Store, paper: Paper, kind: str) -> list[tuple[str, ...]]:
    """Return the rows of a table that a drawing which a publication names makes of the shipped run
    of its experiment's first preset; none without a run."""
    name = getattr(paper.publication, kind, "")
    if not name:
        return []
    short_id, _, drawing_name = name.partition(".")
    experiment = registry.experiment(f"{paper.name}.{short_id}")
    preset = experiment.presets[0]
    run = store.shipped_runs(f"{paper.name}.{short_id}")(preset.name)
    drawing = next(each for each in experiment.drawings if each.name == drawing_name)
    table = drawing.draw(run, experiment.view(**preset.view)).table if run else None
    return [] if table is None else [tuple(map(str, row)) for row in table.values.tolist()]


def _authors_code(papers: Sequence[Paper]) -> Table:
    """Tabulate which commit of the authors' code is meant."""
    rows = [
        (_short(paper), repository, commit)
        for paper in papers
        if paper.publication is not None
        for repository, commit in paper.publication.code
    ]
    text = "Where a claim or a deviation speaks of the authors' code, it is this commit on GitHub."
    return Table("Authors' code", text, ("paper", "repository", "commit"), tuple(rows))


def _not_decided(rows: Sequence[ClaimRow]) -> Table:
    """Tabulate the claims that are not decided or not run, with what it would take."""
    undecided = [
        (row.name, row.summary.verdict, row.deciding.why if row.deciding else "", *_needed(row))
        for row in rows
        if row.summary.verdict in (NOT_DECIDED, NOT_RUN, CLASSROOM_ONLY)
    ]
    text = (
        "Toy are claims that have runs at other settings alone. Hours are of one idle core like "
        "this one, for the seeds or the run that are missing; claims of one run share them. – is "
        "where they are not known."
    )
    head = ("claim", "verdict", "why", "what it would take", "hours")
    return Table("Not decided or not run", text, head, tuple(undecided))


def _needed(row: ClaimRow) -> tuple[str, str]:
    """Return what would decide a claim, and the hours that it takes, – if not known."""
    finding = row.deciding
    if finding is None or finding.header is None:
        seconds = _seconds_of_its_run(row)
        return "a run at its setting", _hours(seconds)
    have = finding.header.config.get("seeds", 1)
    enough = finding.metric.enough_seeds()
    seconds = verify.run_seconds(finding.header) if finding.header.origin != ATLAS else None
    if enough is None or seconds is None or finding.metric.count not in (None, have):
        return finding.to_decide or "–", "–"
    return finding.to_decide, _hours(seconds * (enough - have) / have)


def _seconds_of_its_run(row: ClaimRow) -> float | None:
    experiment = registry.experiment(row.experiment)
    try:
        config = experiment.config(**claim_rows.at_fields(row.claim))
    except BadSetting:
        return None
    return estimate_seconds(Request(row.experiment, config))


def _hours(seconds: float | None) -> str:
    return "–" if seconds is None else significant(seconds / 3600, 2)


def _verified(rows: Sequence[ClaimRow]) -> Table:
    """Tabulate when claims were last trained anew on this computer, and what came out."""
    last = records.all_records(list(rows))
    log = sorted(last.items(), key=lambda entry: entry[1].date)
    outcomes = Counter(record.outcome for record in last.values())
    counts = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common())
    cells = tuple(
        (
            name,
            record.verdict or "–",
            record.verdict_anew or "–",
            record.outcome,
            _DIGESTS[record.same],
            f"{record.seconds:.1f}",
            record.date,
            f"{record.code}, {record.device}".strip(", "),
        )
        for name, record in log
    )
    text = (
        f"Of {len(rows)} claims {len(last)} were verified on this computer, by training their runs "
        f"anew and from nothing{': ' if counts else ''}{counts}. To repeat it for those that fit "
        "into ten minutes: python -m icl_core verify --all --under 10m"
    )
    return Table("Log of the last verifications", text, _LOG, cells)


def _short(paper: Paper) -> str:
    return paper.title.partition(":")[0]
