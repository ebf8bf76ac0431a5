"""All claims as the rows of one table: what each says, at which setting, what decides it. No
torch."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from icl_core import registry
from icl_core.contract.claims import Claim
from icl_core.contract.knobs import BadSetting
from icl_core.contract.message import did_you_mean
from icl_core.evidence import measurements
from icl_core.evidence.measurements import Finding, Summary, verdict_rank
from icl_core.runs.atlas import ORIGIN as ATLAS
from icl_core.runs.store import Store

RULE = (
    "Each claim is tested in every run at its own setting, and counts as reproduced only if it "
    "holds in all of them; where there are runs at other settings only, it is called “toy”. ± is "
    "one standard error. A value that is not on one side of the limit with 95% confidence "
    "(Student's t) leaves the claim undecided: of three seeds it must be 4.3 standard errors away, "
    "of five 2.8."
)


@dataclass(frozen=True)
class ClaimRow:
    """A claim in the table: its `summary`, and `deciding`, the finding at its setting that its
    verdict is of; None if no run is there."""

    summary: Summary
    deciding: Finding | None

    @property
    def name(self) -> str:
        """The claim's name in commands and links: "birth.induction.recall-W_O2"."""
        return f"{self.experiment}.{self.claim.id}"

    @property
    def experiment(self) -> str:
        """The id of the experiment that declares it."""
        return self.summary.first.experiment

    @property
    def paper(self) -> str:
        """The name of the paper's folder."""
        return self.summary.first.paper

    @property
    def claim(self) -> Claim:
        """The claim."""
        return self.summary.first.metric.claim

    @property
    def place(self) -> str:
        """Where it stands, with the version of the paper: "Section 5, Figure 3, arXiv
        2306.00802v2"."""
        publication = registry.papers()[self.paper].publication
        if self.claim.kind != "paper" or publication is None:
            return self.claim.source
        return f"{self.claim.source}, arXiv {publication.arxiv}v{publication.version}"

    @property
    def size(self) -> str:
        """The seeds and steps that the deciding run has: "5 seeds, 300 steps"; empty if no run is
        at the claim's setting."""
        header = self.deciding.header if self.deciding else None
        if header is None:
            return ""
        if header.origin == ATLAS:
            return "all runs of the atlas"
        seeds = header.config.get("seeds", 1)
        steps = header.config.get("steps")
        text = f"{seeds} seed{'s' * (seeds != 1)}"
        return f"{text}, {steps:,} steps" if isinstance(steps, int) else text


@dataclass(frozen=True)
class ClaimFilter:
    """Which claims are shown: those of any of the papers, experiments, kinds and verdicts. Empty
    takes all."""

    papers: tuple[str, ...] = ()
    experiments: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    verdicts: tuple[str, ...] = ()

    def takes(self, row: ClaimRow) -> bool:
        """Return whether a claim is shown."""
        return (
            (not self.papers or row.paper in self.papers)
            and (not self.experiments or row.experiment in self.experiments)
            and (not self.kinds or row.claim.kind in self.kinds)
            and (not self.verdicts or row.summary.verdict in self.verdicts)
        )


def all_rows(store: Store) -> list[ClaimRow]:
    """Return a row for every claim, by experiment in the order of the pages, failing ones first."""
    summaries = measurements.summaries(measurements.collect(store))
    order = registry.experiment_ids()
    # the sort is stable, so within an experiment failing claims stay first
    ordered = sorted(summaries, key=lambda summary: order.index(summary.first.experiment))
    return [ClaimRow(summary, deciding(summary)) for summary in ordered]


def deciding(summary: Summary) -> Finding | None:
    """Return the finding at a claim's setting that its verdict is of: of the least favourable ones
    that with the least room; None if there is none."""
    return min((finding for finding in summary.here if finding.header), key=rank, default=None)


def rank(finding: Finding) -> tuple[int, float]:
    """Return a key by which the finding that decides the verdict comes first."""
    value = finding.metric.value
    slack = math.inf if value is None else finding.metric.claim.slack(value)
    return verdict_rank(finding.verdict), slack


def row_of(store: Store, name: str) -> ClaimRow:
    """Return the row of the claim called `name`, "birth.induction.recall-W_O2", or its last part if
    only one claim has it. Raises `BadSetting`, with the name that is most like it."""
    rows = all_rows(store)
    named = [row for row in rows if name in (row.name, row.claim.id)]
    if len(named) == 1:
        return named[0]
    if len(named) > 1:
        raise BadSetting(f"{name} is the name of {', '.join(row.name for row in named)}")
    names = [row.name for row in rows]
    hint = did_you_mean(name, [*names, *(row.claim.id for row in rows)])
    listed = "; `claims` lists all"
    raise BadSetting(f"there is no claim {name!r:.80}{hint or listed}")


def at_fields(claim: Claim) -> dict[str, Any]:
    """Return the settings that a claim names, the first of several; none if it names none."""
    fields: dict[str, Any] = {}
    for name, allowed in (claim.at or {}).items():
        is_several = isinstance(allowed, (tuple, range))
        fields[name] = next(iter(allowed)) if is_several else allowed
    return fields


def counted(rows: Iterable[ClaimRow]) -> dict[str, dict[str, dict[str, int]]]:
    """Return how many claims have which verdict, by paper, kind and verdict."""
    counts: dict[str, dict[str, dict[str, int]]] = {}
    for row in rows:
        verdicts = counts.setdefault(row.paper, {}).setdefault(row.claim.kind, {})
        verdicts[row.summary.verdict] = verdicts.get(row.summary.verdict, 0) + 1
    return counts
