"""The state of a job as pages and the command line see it; `queue` makes it from a job's row."""

import math
from dataclasses import dataclass, field
from typing import Any

WAITING = ("queued", "interrupted")
CANCELLED = "cancelled"
ENDED = ("done", "failed", CANCELLED)
LEFT = "left"  # how a job is cancelled of which nobody watches any more; by a visitor: CANCELLED
STATUSES = (*WAITING, "running", *ENDED)  # as they are written


class Failed(Exception):
    """What a command was to do did not come to its end; the message says why."""


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
    least_seconds_left: float | None = None  # the same, if it had its cores for itself from now on
    message: str = ""
    left: bool = False  # it was cancelled because nobody watched it any more
    kept: bool = False  # it has ended, and its checkpoint stays for the next request
    pid: int = 0  # of its worker, while it runs
    born: float = 0.0  # when that process started: its pid may be another one's by now
    version: int = 0  # of the experiment, as the requester knows it; 0 is the current one
    retry_at: float = 0.0  # seconds since 1970 before which no worker may take it
    # the variables of `environment.NAMES` that its worker must have
    environment: dict[str, str] = field(default_factory=dict, hash=False)
    visitor: str = ""  # whose turn it takes; "" is the command line
    turn: int = 0
    later: bool = False  # queued behind all jobs that are not

    @property
    def ended(self) -> bool:
        """Whether the job is done, failed or cancelled."""
        return self.status in ENDED
