"""How far a job is, as pages and the command line see it."""

import math
from dataclasses import dataclass, field
from typing import Any

from icl_core.jobs.reading import ENDED


@dataclass(frozen=True)
class JobState:
    """How far a job is. `position` counts from 1 in the queue, 0 once it runs; seconds of training
    so far and left."""

    key: str
    experiment: str
    config: dict[str, Any] = field(hash=False)
    status: str  # queued, running, interrupted, cancelling, done, failed, cancelled or left
    position: int = 0
    step: int = 0
    total: int = 0
    phase: str = ""  # what is in training, or done after it, with its own steps if it has any
    phase_step: int = 0
    phase_steps: int = 0
    together: int = 1  # runs that its worker makes as one, while it runs
    spare: int = 0  # trainings of it that another worker could do
    loss: float = math.nan
    seconds: float = 0.0
    seconds_left: float | None = None
    message: str = ""
    pid: int = 0  # of the worker, while it runs
    born: float = 0.0  # when that process began: another one may have its number by now
    version: int = 0  # of the experiment, as whoever asked knows it; 0 is the current one
    retry_at: float = 0.0  # seconds since 1970 before which no worker shall take it
    visitor: str = ""  # whose turn it takes; nobody's name is the command line's
    turn: int = 0
    later: bool = False  # behind all that are not

    @property
    def ended(self) -> bool:
        """Whether nothing more will happen to it."""
        return self.status in ENDED
