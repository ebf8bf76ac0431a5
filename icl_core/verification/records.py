"""When claims were last verified on this computer, and with what outcome: one file in the cache."""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from filelock import FileLock

from icl_core.evidence.claim_rows import ClaimRow
from icl_core.machine import device, limits
from icl_core.machine.folders import cache_folder
from icl_core.runs import code
from icl_core.runs.disk import private_folder, write_whole
from icl_core.verification.verify import NOT_VERIFIED, Outcome, runs_of

_MOST = 2**22  # bytes of the file; a larger one is not read
_OF_OUTCOME = ("outcome", "verdict", "verdict_anew", "seconds", "same")
_KEPT = (*_OF_OUTCOME[1:], "code", "device")  # fields that records of earlier versions lack


@dataclass(frozen=True)
class Record:
    """The last time that a claim was verified.

    date, outcome  when, in UTC, and what came out
    runs           of which runs, by the first digits of their digests
    verdict, verdict_anew
                   as stored, and by the new training
    seconds, same  of the outcome (`verify.Outcome`)
    code, device   what trained, and on what, with the version of torch
    """

    date: str
    outcome: str
    runs: tuple[str, ...]
    verdict: str = ""
    verdict_anew: str = ""
    seconds: float = 0.0
    same: bool | None = None
    code: str = ""
    device: str = ""


def store_record(row: ClaimRow, outcome: Outcome) -> None:
    """Note the outcome of a claim, unless it was not verified: then the last time stays. Raises
    `OSError`; a read-only server notes nothing."""
    if limits.read_only() or outcome.outcome == NOT_VERIFIED:
        return
    path = _path()
    private_folder(path.parent)
    with FileLock(path.with_suffix(".lock"), mode=0o600):
        records = _read()
        date = datetime.now(UTC).isoformat(timespec="minutes")
        named = {name: getattr(outcome, name) for name in _OF_OUTCOME}
        machine = f"{device.describe()}, torch {version('torch')}"
        here = {"code": code.name(), "device": machine}
        records[row.name] = {"date": date, "runs": _runs(row), **named, **here}
        write_whole(path, json.dumps(records).encode())


def last_record(row: ClaimRow) -> Record | None:
    """Return the last time that a claim was verified; None if it never was, or other runs than
    then are at its setting now."""
    return all_records([row]).get(row.name)


def all_records(rows: list[ClaimRow]) -> dict[str, Record]:
    """Return the last times that claims were verified, by their names."""
    stored = _read()
    records: dict[str, Record] = {}
    for row in rows:
        record = stored.get(row.name)
        if isinstance(record, dict) and record.get("runs") == _runs(row):
            date = str(record.get("date"))[:16].replace("T", " ")
            known = {name: record[name] for name in _KEPT if name in record}
            outcome = str(record.get("outcome"))
            records[row.name] = Record(date, outcome, tuple(_runs(row)), **known)
    return records


def _runs(row: ClaimRow) -> list[str]:
    headers = [finding.header for finding in runs_of(row)]
    return sorted(header.digest[:16] for header in headers if header is not None)


def _path() -> Path:
    return cache_folder() / "verified.json"


def _read() -> dict[str, Any]:
    with suppress(OSError, ValueError):
        path = _path()
        if path.stat().st_size <= _MOST:
            records = json.loads(path.read_bytes())
            if isinstance(records, Mapping):
                return dict(records)
    return {}
