"""Sizes, shares and times as people read them."""

MIB = 2**20  # bytes
KIB = 2**10


def share(value: float) -> str:
    """Return a share, given from 0 to 1, in percent; one below 0.05% is "under 0.1%"."""
    return f"{value:.1%}" if value >= 0.0005 else "under 0.1%"


def file_size(count: int) -> str:
    """Return a number of bytes in MiB, or in whole KiB, rounded up, below a tenth of a MiB."""
    return f"{count / MIB:.1f} MiB" if count >= MIB / 10 else f"{-(-count // KIB)} KiB"


def exact_size(count: int) -> str:
    """Return a number of bytes in MiB, or in KiB below one MiB, to one digit after the point."""
    return f"{count / MIB:.1f} MiB" if count >= MIB else f"{count / KIB:.1f} KiB"


def time_left(seconds: float) -> str:
    """Return the time that a training still takes, more exactly the less it is: "about 20 min",
    "about 9 min", "about 35 s", "about 4 s"."""
    if seconds < 57.5:  # 60 s are a minute
        count = seconds
        unit = "s"
    elif seconds < 5400:
        count = seconds / 60
        unit = "min"
    else:
        count = seconds / 3600
        unit = "h"
    step = 1 if count < 10 else 5
    return f"about {max(step * round(count / step), 1)} {unit}"


def duration(seconds: float | None) -> str:
    """Return an estimated time: "about 9 s"; None is unknown."""
    return "time unknown" if seconds is None else f"about {short_duration(seconds)}"


def short_duration(seconds: float | None) -> str:
    """Return an estimated time, as exact as an estimate can be: "9 s"; None is unknown."""
    if seconds is None:
        return "time unknown"
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
