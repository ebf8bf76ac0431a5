"""The jobs as rows of the database: what a job is, whose turn it is, which environment its worker
must have, and every read and change of a row.

What a row means is said by `folder.Job` for one job and by `queue` for all. A request carries the
environment variables and the code of whoever made it, and only a worker with the same ones trains
it: its run must not depend on whose worker happens to be there.
"""

import json
import math
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from icl_core import registry
from icl_core.contract.knobs import BadSetting
from icl_core.machine import device
from icl_core.runs import code, database
from icl_core.runs.header import key_of_record
from icl_core.training import segments

WAITING = ("queued", "interrupted")
CANCELLED = "cancelled"
ENDED = ("done", "failed", CANCELLED)
LEFT = "left"  # how a job is cancelled of which nobody watches any more; by a visitor: CANCELLED
STATUSES = (*WAITING, "running", *ENDED)  # as they are written


@dataclass(frozen=True)
class JobState:
    """Status and progress of a job. What its worker writes has the same names here."""

    key: str
    experiment: str
    config: dict[str, Any] = field(hash=False)
    status: str  # queued, running, interrupted, cancelling, done, failed or cancelled
    position: int = 0  # in the queue, counted from 1; 0 once it runs
    step: int = 0
    total: int = 0
    phase: str = ""  # the training, or what follows it, with steps of its own if it has any
    phase_step: int = 0
    phase_steps: int = 0
    together: int = 1  # runs that its worker trains as one tensor program
    spare: int = 0  # trainings of it that another worker could do
    loss: float = math.nan
    seconds: float = 0.0  # of training so far
    seconds_left: float | None = None  # at the pace of its last seconds
    message: str = ""
    left: bool = False  # it was cancelled because nobody watched it any more
    kept: bool = False  # it has ended, and its checkpoint stays for the next request
    pid: int = 0  # of its worker, while it runs
    born: float = 0.0  # when that process started: its pid may be another one's by now
    version: int = 0  # of the experiment, as the requester knows it; 0 is the current one
    retry_at: float = 0.0  # seconds since 1970 before which no worker may take it
    # what its worker must have: the variables ENVIRONMENT_NAMES, and CODE
    environment: dict[str, str] = field(default_factory=dict, hash=False)
    visitor: str = ""  # whose turn it takes; "" is the command line
    turn: int = 0
    later: bool = False  # queued behind all jobs that are not

    @property
    def ended(self) -> bool:
        """Whether the job is done, failed or cancelled."""
        return self.status in ENDED


PLACES = ("ICL_ARTIFACTS", "ICL_PAPERS")  # folders of shipped runs, and of more papers
# of a request, also where another machine trains it
COMPUTING = ("ICL_COMPILE", "ICL_FAST", "ICL_PRECISION")
ENVIRONMENT_NAMES = ("ICL_CACHE_LIMIT", "ICL_DEVICE", *COMPUTING, *PLACES)

CODE = "code"  # beside the variables: the identity of the code, "" where it is not known
Environment = dict[str, str]  # those of ENVIRONMENT_NAMES that are set to something, and CODE


def current_environment() -> Environment:
    """Return the variables and the code of this process."""
    variables = {name: os.environ[name] for name in ENVIRONMENT_NAMES if os.environ.get(name)}
    return {**variables, CODE: code.identity()}


def is_for_code_here(environment: Environment) -> bool:
    """Return whether workers of the code here may take a request with this environment."""
    return environment.get(CODE, code.identity()) == code.identity()


def check_environment() -> None:
    """Raise `BadSetting` if this process names a device or a precision that there is not, or has
    another variable that cannot be read: the requester is told, and not their worker."""
    device.is_gpu()
    device.wanted_precision()
    segments.wanted()


def environment_of_request(value: Any) -> Environment:
    """Return the variables and the code that a stored request carries; what is none of them is left
    out, as processes are started with these."""
    if not isinstance(value, Mapping):
        return {}
    names = (*ENVIRONMENT_NAMES, CODE)
    environment = {name: value[name] for name in names if isinstance(value.get(name), str)}
    if CODE in environment:
        environment[CODE] = code.as_seen_here(environment[CODE])
    return environment


def can_start_worker(variables: Environment) -> bool:
    """Return whether this process may start a worker with these variables: only if it has the same
    code and PLACES, as papers are code, and none is run because a file names it."""
    return all(variables.get(name) == current_environment().get(name) for name in (*PLACES, CODE))


_FIELDS = (
    "key, experiment, version, config, environment, asked, visitor, turn, later, "
    "status, progress, changed"
)
_ORDER = "later, turn, asked, key"  # of the queue
_COUNT = "UPDATE counters SET number = number + 1 WHERE name = 'requests'"


@dataclass(frozen=True)
class Row:
    """A job: what was requested, and what its worker wrote last."""

    key: str
    request: dict[str, Any]  # experiment, version, config, environment, asked, visitor, turn, later
    state: dict[str, Any]  # the status, and the progress that was written with it
    changed: float  # when the state was written last, in seconds since 1970


def find(key: str) -> Row | None:
    """Return the row of a job, or None if it was not requested. Raises `OSError`."""
    found = database.rows(f"SELECT {_FIELDS} FROM jobs WHERE key = ?", key)
    return _row(found[0]) if found else None


@dataclass(frozen=True)
class _Look:
    """What a look at all jobs has found, and the state of the database then."""

    at: tuple[Any, ...] = ()
    rows: tuple[Row, ...] = ()
    values: dict[str, tuple] = field(default_factory=dict)  # by key: the columns that were read


_last_look = _Look()  # replaced as a whole: several threads look


def all_rows() -> list[Row]:
    """Return all jobs in the order of the queue. A row that has not changed since the last call is
    the same object as then."""
    global _last_look
    before = _last_look
    at = (database.path(), database.identity(), database.count("jobs"))
    if at == before.at:
        return list(before.rows)
    known = {row.key: row for row in before.rows}
    rows: list[Row] = []
    columns: dict[str, tuple] = {}
    for values in database.look(f"SELECT {_FIELDS} FROM jobs ORDER BY {_ORDER}"):
        row = known.get(values[0]) if before.values.get(values[0]) == values else _row(values)
        if row is not None:
            rows.append(row)
            columns[row.key] = values
    # what is counted within a transaction may not come to be, and the number be another's then
    if at[2] and not database.in_transaction():
        _last_look = _Look(at, tuple(rows), columns)
    return rows


def insert(key: str, request: dict[str, Any], state: dict[str, Any]) -> None:
    """Add a job, or replace the one of this key. Raises `OSError`."""
    fields = [request[name] for name in ("asked", "visitor", "turn", "later")]
    with database.transaction() as connection:
        connection.execute(
            f"INSERT OR REPLACE INTO jobs ({_FIELDS}, cancel) VALUES (?{', ?' * 11}, '')",
            (
                key,
                request["experiment"],
                request["version"],
                json.dumps(request["config"]),
                json.dumps(request["environment"]),
                *fields,
                *_written(state),
            ),
        )
        connection.execute(_COUNT)


def move(key: str, **place: Any) -> None:
    """Change the place in the queue: `later`, `turn`, `visitor`. Raises `OSError`."""
    with database.transaction() as connection:
        for column, value in place.items():
            connection.execute(f"UPDATE jobs SET {column} = ? WHERE key = ?", (value, key))


def write_environment(key: str, variables: Environment) -> None:
    """Write the variables and the code that the worker of a job that waits must have. Raises
    `OSError`."""
    with database.transaction() as connection:
        connection.execute(
            "UPDATE jobs SET environment = ? WHERE key = ?", (json.dumps(variables), key)
        )
        connection.execute(_COUNT)


def write_state(key: str, state: dict[str, Any], is_end: bool) -> None:
    """Write the state of a job; at its end nobody watches it or asks to cancel it any more. Raises
    `OSError`."""
    with database.transaction() as connection:
        connection.execute(
            "UPDATE jobs SET status = ?, progress = ?, changed = ? WHERE key = ?",
            (*_written(state), key),
        )
        if is_end:
            connection.execute("UPDATE jobs SET cancel = '' WHERE key = ?", (key,))
            connection.execute("DELETE FROM watchers WHERE key = ?", (key,))


def write_cancel(key: str, how: str) -> None:
    """Ask for a job to be cancelled, by a visitor (CANCELLED) or as LEFT; "" takes that back.
    Raises `OSError`."""
    with database.transaction() as connection:
        connection.execute("UPDATE jobs SET cancel = ? WHERE key = ?", (how, key))


def cancel_request(key: str) -> str:
    """Return how a job is to be cancelled; "" if it is not."""
    found = database.look("SELECT cancel FROM jobs WHERE key = ?", key)
    return found[0][0] if found else ""


def delete(key: str) -> None:
    """Delete a job. Raises `OSError`."""
    with database.transaction() as connection:
        connection.execute("DELETE FROM jobs WHERE key = ?", (key,))
        connection.execute("DELETE FROM watchers WHERE key = ?", (key,))


def see(key: str, who: str, pause: float) -> None:
    """Note that `who` watches a job, unless that was noted less than `pause` seconds ago. Raises
    `OSError`."""
    now = time.time()
    seen = database.look("SELECT seen FROM watchers WHERE key = ? AND who = ?", key, who)
    if not seen or not 0 <= now - seen[0][0] < pause:
        with database.transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO watchers VALUES (?, ?, ?)", (key, who, now))


def leave(key: str, who: str) -> list[float]:
    """Note that `who` watches a job no more; return when each of the others has looked last.
    Raises `OSError`."""
    with database.transaction() as connection:
        connection.execute("DELETE FROM watchers WHERE key = ? AND who = ?", (key, who))
        return [seen for (seen,) in database.rows("SELECT seen FROM watchers WHERE key = ?", key)]


def is_watched(key: str, since: float) -> bool:
    """Return whether somebody who watches a job has looked since a time."""
    return bool(database.look("SELECT 1 FROM watchers WHERE key = ? AND seen > ?", key, since))


def delete_lost_watchers(before: float) -> None:
    """Delete who watches a job that there is not, and has looked last before a time. Raises
    `OSError`."""
    with database.transaction() as connection:
        connection.execute(
            "DELETE FROM watchers WHERE seen < ? AND key NOT IN (SELECT key FROM jobs)", (before,)
        )


def request_count() -> int:
    """Return a number that changes with every request; 0 before the first."""
    return database.count("requests")


def _written(state: dict[str, Any]) -> tuple[str, str, float]:
    """Return the columns status, progress and changed."""
    progress = {name: value for name, value in state.items() if name != "status"}
    return state["status"], json.dumps(progress), time.time()


def _row(values: tuple) -> Row | None:
    """Return the row of these columns; None if it does not request the run of its key: the key is a
    hash of the request, so a bit that has changed on the disk is noticed."""
    columns = dict(zip(_FIELDS.split(", "), values, strict=True))
    key = columns["key"]
    try:
        environment = environment_of_request(json.loads(columns["environment"]))
        unnamed = _unnamed_code(columns["experiment"], columns["version"])
        request = {
            "experiment": columns["experiment"],
            "version": columns["version"],
            "config": json.loads(columns["config"]),
            "environment": {CODE: unnamed, **environment},
            "asked": columns["asked"],
            "visitor": columns["visitor"],
            "turn": columns["turn"],
            "later": bool(columns["later"]),
        }
        # 0: of a version that did not note it
        if request["version"] and key_of_record(request) != key:
            return None
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return Row(
        key, request, _state_of_columns(columns["status"], columns["progress"]), columns["changed"]
    )


def _unnamed_code(experiment_id: str, version: int) -> str:
    """Return the code that may train a request which names none, as earlier dashboards write it:
    the code here, if it has the version that is asked for."""
    with suppress(BadSetting):  # there is no such experiment here
        if version in (0, registry.version(experiment_id)):
            return code.identity()
    return ""


def _state_of_columns(status: str, progress: str) -> dict[str, Any]:
    """Return a state; one that cannot be read is that of a job that waits."""
    with suppress(ValueError, TypeError, RecursionError):
        if status in STATUSES:
            return {**json.loads(progress), "status": status}
    return {"status": "queued"}


class Job(Protocol):
    """The fields of a `JobState` that decide about turns."""

    @property
    def visitor(self) -> str: ...
    @property
    def turn(self) -> int: ...
    @property
    def later(self) -> bool: ...
    @property
    def status(self) -> str: ...
    @property
    def ended(self) -> bool: ...


def next_turn(visitor: str, later: bool, jobs: Iterable[Job]) -> int:
    """Return the turn of a job that `visitor` requests now."""
    competing = [job for job in jobs if not job.ended and job.later == later]
    served = [job.turn for job in competing if job.status not in WAITING]
    current = max(served) if served else min((job.turn for job in competing), default=1)
    return max(current, *(job.turn + 1 for job in competing if job.visitor == visitor), 1)


def count_jobs(visitor: str, jobs: Sequence[Job]) -> int:
    """Return how many jobs of this visitor wait or train."""
    return sum(job.visitor == visitor and not job.ended for job in jobs)
