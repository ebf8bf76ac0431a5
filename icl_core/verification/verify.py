"""Verify a claim: train the runs that it is read from anew, and compare what they measure.

A run is trained from nothing: no run, checkpoint or cache is read. It agrees if every run gives the
same verdict, and a number that differs by no more than chance (Student's t, 95 %), the claim's
tolerance, or rounding.
"""

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from icl_core import registry
from icl_core.contract.claims import Metric
from icl_core.contract.experiment import NextTraining, Run, Tensors
from icl_core.contract.progress import LazyTensors
from icl_core.contract.run import thinned
from icl_core.contract.statistics import certain_from
from icl_core.evidence import measurements
from icl_core.evidence.claim_rows import ClaimRow
from icl_core.evidence.measurements import Finding
from icl_core.jobs.estimate import estimate_seconds
from icl_core.machine import device
from icl_core.runs import code
from icl_core.runs.atlas import ORIGIN as ATLAS
from icl_core.runs.file import digest
from icl_core.runs.header import Header, new_record, typed_config
from icl_core.runs.request import Request
from icl_core.runs.store import Store
from icl_core.training import segments

AGREE = "agree"
DIFFER = "differ"
NOT_VERIFIED = "not verified"
ROUNDING = 1e-4  # of a number, by which another computer's may differ
_NO_LIMIT = math.inf

OnStep = Callable[[str, int, int], None]  # takes a run in words, the steps that are done, and all
OnTrainingStep = Callable[[int, int], None]  # takes the steps that are done, and all


class OutOfTime(BaseException):
    """The time limit has come. No `Exception`: of several trainings of one program, one that raises
    such a one ends alone."""


@dataclass(frozen=True)
class TrainedAnew:
    """A run that was trained anew: what it measured, as a run's file has it, its seconds, and
    whether its tensors are those of the stored run to the last bit (None if that one is gone)."""

    records: tuple[dict[str, Any], ...]
    seconds: float
    is_same: bool | None


def train_anew(
    header: Header, store: Store, deadline: float, on_step: OnTrainingStep
) -> TrainedAnew:
    """Train the run of a header anew and measure it.

    `deadline` is a time of `time.monotonic`, at which it raises `OutOfTime`. Raises what the
    training raises.
    """
    experiment = registry.experiment(header.experiment)
    config = typed_config(header)
    device.set_threads(1)
    start = time.monotonic()
    with segments.reference():
        tensors = experiment.run(config, _AnewProgress(deadline, on_step))
    shipped = store.shipped_runs(header.experiment)
    records = measurements.measure(experiment, Run(config, tensors, {}, shipped=shipped))
    return TrainedAnew(tuple(records), time.monotonic() - start, _is_same(header, store, tensors))


def _is_same(header: Header, store: Store, tensors: Tensors) -> bool | None:
    """Return whether the tensors of a stored run are those of the new one. A stored run may lack
    snapshots and other seeds' models, which are then not compared."""
    stored = store.load(header, typed=False)
    if stored is None:
        return None
    few = thinned(tensors, max(len(stored.snapshot_steps), 1))
    thinned_tensors = {name: few[name] for name in stored.tensors if name in few}
    record = new_record(header.experiment, header.config, header.info)
    return digest(thinned_tensors, record) == header.digest


class _AnewProgress:
    """The `Progress` of a training that keeps nothing and stops at a deadline."""

    def __init__(self, deadline: float, on_step: OnTrainingStep) -> None:
        self._deadline = deadline
        self._on_step = on_step

    def resume(self) -> Tensors | None:
        """See `Progress` in the contract."""
        return None

    def take(self, trainings: Sequence[str]) -> NextTraining:
        """See `Progress` in the contract."""
        return NextTraining(trainings[0])

    def give(self, name: str, made: Tensors) -> None:
        """See `Progress` in the contract."""

    def earlier(self, name: str) -> Tensors:
        """See `Progress` in the contract."""
        return {}

    def end(self, name: str, state: LazyTensors) -> None:
        """See `Progress` in the contract."""

    def enter(self, what: str, first: int = 0, steps: int = 0) -> None:
        """See `Progress` in the contract."""
        self._check()

    def report(
        self,
        done: int,
        total: int,
        loss: float,
        live: LazyTensors,
        state: LazyTensors,
        preview: LazyTensors = dict,
    ) -> None:
        """See `Progress` in the contract. Raises `OutOfTime`."""
        self._check()
        self._on_step(done, total)

    def _check(self) -> None:
        if time.monotonic() > self._deadline:
            raise OutOfTime


@dataclass(frozen=True)
class Outcome:
    """What came of verifying a claim by one run.

    claim      the claim's name
    outcome    AGREE, DIFFER or NOT_VERIFIED
    reason     why it differs or is not verified, a sentence without its stop; else empty
    run        the key of the run, empty if there is none
    value, error, verdict
               what is stored
    value_anew, error_anew, verdict_anew
               what the new training measured
    seconds    that it took
    same       whether its tensors are those of the stored run to the last bit; None if not known
    """

    claim: str
    outcome: str
    reason: str
    run: str = ""
    value: float | None = None
    error: float | None = None
    verdict: str = ""
    value_anew: float | None = None
    error_anew: float | None = None
    verdict_anew: str = ""
    seconds: float = 0.0
    same: bool | None = None

    def row(self) -> dict[str, Any]:
        """Return it as a row for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class _Trained:
    """What came of training a run anew: the run, or why there is none."""

    run: TrainedAnew | None
    reason: str = ""


def verify(
    rows: Sequence[ClaimRow],
    store: Store,
    seconds: float = _NO_LIMIT,
    on_step: OnStep | None = None,
) -> Iterable[Outcome]:
    """Verify claims and yield an outcome for each, in the order in which their runs are trained.

    Each run is trained once, and all end within `seconds`. `on_step` is called as they go on.
    """
    deadline = time.monotonic() + seconds
    trained: dict[str, _Trained] = {}
    for row in rows:
        findings = runs_of(row)
        if reason := refusal(row):
            yield Outcome(row.name, NOT_VERIFIED, reason)
            continue
        outcomes = []
        for finding in findings:
            header = finding.header
            assert header is not None
            if header.key not in trained:
                trained[header.key] = _train(header, store, deadline, on_step)
            outcomes.append(compared(row.name, finding, trained[header.key]))
        yield _worst(outcomes)


def runs_of(row: ClaimRow) -> list[Finding]:
    """Return the findings of the runs at a claim's setting, which its verdict is of."""
    return [finding for finding in row.summary.here if finding.header is not None]


def refusal(row: ClaimRow) -> str:
    """Return why a claim cannot be verified; empty if it can."""
    findings = runs_of(row)
    if not findings:
        return "no run is at its setting"
    if any(finding.header and finding.header.origin == ATLAS for finding in findings):
        return "it is measured over all runs of the atlas, which are trained by `build`"
    return ""


def estimated_seconds(row: ClaimRow) -> float:
    """Return the seconds that the runs of a claim are expected to take on an idle core; infinite if
    that is not known."""
    total = 0.0
    for finding in runs_of(row):
        if finding.header is not None:
            seconds = run_seconds(finding.header)
            total += math.inf if seconds is None else seconds
    return total


def run_seconds(header: Header) -> float | None:
    """Return the seconds that a run is expected to take here, None if that is not known."""
    return estimate_seconds(Request(header.experiment, typed_config(header)))


def that_fit(rows: Sequence[ClaimRow], seconds: float) -> list[ClaimRow]:
    """Return the claims whose runs are expected to be trained within `seconds` all together: those
    of the shortest runs first. A run counts once."""
    possible = [row for row in rows if not refusal(row)]
    keys: set[str] = set()
    fitting: list[ClaimRow] = []
    seconds_left = seconds
    for row in sorted(possible, key=estimated_seconds):
        headers = [finding.header for finding in runs_of(row) if finding.header is not None]
        new = [header for header in headers if header.key not in keys]
        needed = sum(run_seconds(header) or math.inf for header in new)
        if needed <= seconds_left:
            seconds_left -= needed
            keys |= {header.key for header in new}
            fitting.append(row)
    return fitting


def _train(header: Header, store: Store, deadline: float, on_step: OnStep | None) -> _Trained:
    name = f"{header.experiment} ({', '.join(header.info.get('presets') or (header.key,))})"

    def report(done: int, total: int) -> None:
        if on_step is not None:
            on_step(name, done, total)

    try:
        return _Trained(train_anew(header, store, deadline, report))
    except OutOfTime:
        return _Trained(None, "the time limit came before the end of the training")
    except Exception as problem:  # whatever it is, the other claims can be verified
        return _Trained(None, f"the training failed: {type(problem).__name__}: {problem}")


def compared(claim_name: str, finding: Finding, trained: _Trained) -> Outcome:
    """Return the outcome of one run: what is stored beside what the new training measured."""
    header = finding.header
    assert header is not None
    old = finding.metric
    stored = {
        "run": header.key,
        "value": old.value,
        "error": old.error,
        "verdict": finding.verdict,
    }
    if trained.run is None:
        return Outcome(claim_name, NOT_VERIFIED, trained.reason, **stored)
    records = {record["claim"]: record for record in trained.run.records}
    record = records.get(old.claim.id)
    if record is None:
        return Outcome(claim_name, DIFFER, "the new training did not measure it", **stored)
    new = _metric(finding, record)
    verdict = record["verdict"] if new.value is None else new.verdict(typed_config(header))
    reason = difference(old, finding.verdict, new, verdict)
    if reason and (note := code.note(header)):
        reason += f". {note}"
    return Outcome(
        claim_name,
        DIFFER if reason else AGREE,
        reason,
        **stored,
        value_anew=new.value,
        error_anew=new.error,
        verdict_anew=verdict,
        seconds=trained.run.seconds,
        same=trained.run.is_same,
    )


def _metric(finding: Finding, record: Mapping[str, Any]) -> Metric:
    return Metric(
        finding.metric.claim,
        record["value"],
        record["error"],
        record["unfinished"],
        record["reason"],
        record["count"],
    )


def difference(old: Metric, old_verdict: str, new: Metric, new_verdict: str) -> str:
    """Return in words how two measurements of a claim differ beyond chance, tolerance and
    rounding; empty if they agree."""
    if old_verdict != new_verdict:
        return f"the verdict is {new_verdict}, not {old_verdict}"
    if old.value is None or new.value is None:
        return "" if old.value is new.value else "only one of the two has a number"
    gap = abs(new.value - old.value)
    limit = allowed_gap(old, new)
    return "" if gap <= limit else f"the numbers differ by {gap:.3g}, more than {limit:.3g}"


def allowed_gap(old: Metric, new: Metric) -> float:
    """Return how far two measurements may lie apart: the claim's tolerance, rounding, or so many
    standard errors of their difference as hold 95 % of such differences by Student's t: about two.
    """
    error = math.hypot(old.error or 0.0, new.error or 0.0)
    counts = [metric.count for metric in (old, new) if metric.count is not None]
    # of a difference of two means of n values each, 2 n - 2 degrees of freedom
    quantile = certain_from(sum(counts) - 1 if len(counts) == 2 else None)
    rounding = ROUNDING * max(abs(old.value or 0.0), abs(new.value or 0.0))
    return max(quantile * error, old.claim.tolerance, rounding)


def _worst(outcomes: Sequence[Outcome]) -> Outcome:
    """Return the outcome that a claim has by several runs: one that differs before one that is not
    verified, before one that agrees."""
    return min(outcomes, key=lambda outcome: (DIFFER, NOT_VERIFIED, AGREE).index(outcome.outcome))
