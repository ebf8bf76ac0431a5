"""What visitors may ask of this machine, by environment variables, so that a class can share one
server."""

import math
import os

from icl_core.contract.knobs import BadSetting

QUEUED, HOURS, GIVEN, READ_ONLY = (
    "ICL_MAX_QUEUED",
    "ICL_MAX_HOURS",
    "ICL_MAX_GIVEN",
    "ICL_READ_ONLY",
)
DEFAULTS = {QUEUED: 100, HOURS: 24.0}  # of a page's visitor; the command line has no bounds
NOTHING_IS_KEPT = f"this server is read-only ({READ_ONLY}): nothing is trained, kept or deleted"


def read_only() -> bool:
    """Whether nothing is trained, kept, deleted or taken here. Anything but a plain no is a yes."""
    return os.environ.get(READ_ONLY, "").strip().lower() not in ("", "0", "no", "off", "false")


def check_writable() -> None:
    """Raise `BadSetting` where nothing may be changed."""
    if read_only():
        raise BadSetting(NOTHING_IS_KEPT)


def check_queued(jobs: int, more: int = 1) -> None:
    """Raise `BadSetting` if a visitor with that many `jobs` that wait or run may not ask for so
    many `more`."""
    most = _number(QUEUED)
    if jobs + more > most:
        asked = f"you have {jobs}, and this asks for {more} more"
        raise BadSetting(
            f"the limit of runs waiting or in training is {most:.0f} ({QUEUED}), {asked}"
        )


def check_length(seconds: float | None) -> None:
    """Raise `BadSetting` for a training that is expected to take too long. One that nobody can tell
    is let through."""
    hours, most = (seconds or 0.0) / 3600, _number(HOURS)
    if hours > most:
        raise BadSetting(
            f"it would take about {hours:,.3g} h on this machine, the limit is {most:g} h ({HOURS})"
        )


def _number(name: str) -> float:
    """What a variable says, above zero; `BadSetting` if it says nothing of the kind."""
    told = os.environ.get(name, "").strip()
    try:
        number = float(told or DEFAULTS[name])
    except ValueError:
        number = math.nan
    if not number > 0:
        raise BadSetting(f"{name} must be a number above 0, got {told!r:.40}")
    return number
