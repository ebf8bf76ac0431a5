"""The limits of what visitors may start on this machine, from environment variables, so that a
class can share one server."""

import math
import os

from icl_core.contract.knobs import BadSetting

QUEUED = "ICL_MAX_QUEUED"
HOURS = "ICL_MAX_HOURS"
GIVEN = "ICL_MAX_GIVEN"
READ_ONLY = "ICL_READ_ONLY"
DEFAULTS = {QUEUED: 100, HOURS: 24.0}  # for visitors of a page; the command line has no limits
CLASSES = 20  # sessions of classes at once
PHONES = 300  # in one of them
PHONE_REQUESTS = 2.0, 20.0  # of one phone: a second, and at once
CLASS_REQUESTS = 300.0, 900.0  # of all phones of a class; each asks every one or two seconds
NOTHING_IS_KEPT = f"this server is read-only ({READ_ONLY}): nothing is trained, kept or deleted"


def read_only() -> bool:
    """Return whether nothing may be trained, stored or deleted here; any value of the variable
    other than a plain no counts as yes."""
    return os.environ.get(READ_ONLY, "").strip().lower() not in ("", "0", "no", "off", "false")


def check_writable() -> None:
    """Raise `BadSetting` if the server is read-only."""
    if read_only():
        raise BadSetting(NOTHING_IS_KEPT)


def check_queued(jobs: int, more: int = 1) -> None:
    """Raise `BadSetting` if a visitor who has `jobs` waiting or running may not start `more`."""
    limit = _number(QUEUED)
    if jobs + more > limit:
        raise BadSetting(
            f"the limit of runs waiting or in training is {limit:.0f} ({QUEUED}), you have {jobs}, "
            f"and this asks for {more} more"
        )


def check_length(seconds: float | None) -> None:
    """Raise `BadSetting` if a training is expected to take too long; `seconds` None, an unknown
    length, is allowed."""
    hours = (seconds or 0.0) / 3600
    limit = _number(HOURS)
    if hours > limit:
        raise BadSetting(
            f"it would take about {hours:,.3g} h on this machine, the limit is {limit:g} h "
            f"({HOURS})"
        )


def _number(name: str) -> float:
    """Return the number above 0 in an environment variable, or its default. Raises `BadSetting` if
    the variable holds anything else."""
    text = os.environ.get(name, "").strip()
    try:
        number = float(text or DEFAULTS[name])
    except ValueError:
        number = math.nan
    if not number > 0:
        raise BadSetting(f"{name} must be a number above 0, got {text!r:.40}")
    return number
