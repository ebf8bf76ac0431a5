"""The limits of a container: how much memory and how many cores this process may use, where control
groups of Linux bound them, and how much address space. No torch.

A process belongs to a group of each hierarchy, version 1 or 2, and every group above it bounds it
too (cgroups(7), "The /proc/PID/cgroup file"; mountinfo in proc(5)). Where nothing is bounded, or
nothing can be read, the functions return None.
"""

import math
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath

ROOT = Path("/")  # of the file systems; tests have their own
# What processes hold before they train anything, measured on x86-64 Linux, in bytes.
WORKER = 280 * 2**20  # of memory: a worker
HELD = 270 * 2**20 + WORKER  # a server and a worker
WORKER_ADDRESSES = 900 * 2**20  # of address space: a worker
SERVER_ADDRESSES = 3 * 2**30  # a server
_UNBOUNDED = 2**60  # bytes: version 1 writes a number beyond this for "no limit"


def memory_limit() -> int | None:
    """Return the bytes that this process and all others of its groups may use together."""
    limits = [limit for folder in _groups("memory") if (limit := _limit_of(folder)) is not None]
    return min(limits, default=None)


def memory_left() -> int | None:
    """Return the bytes that the processes of its groups may still use: the files that the system
    caches for them, which it can drop, count as unused."""
    left: list[int] = []
    for folder in _groups("memory"):
        limit = _limit_of(folder)
        used = _number(folder / "memory.current")
        if used is None:
            used = _number(folder / "memory.usage_in_bytes")
        if limit is not None and used is not None:
            left.append(max(0, limit - used + _cached_files(folder)))
    return min(left, default=None)


def core_limit() -> float | None:
    """Return the cores that the processes of its groups may use together, such as 1.5."""
    limits = [limit for folder in _groups("cpu") if (limit := _cores_of(folder)) is not None]
    return min(limits, default=None)


def address_space() -> int | None:
    """Return the bytes of address space that a process may have (`ulimit -v`)."""
    with suppress(ImportError):  # there is none on Windows
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit != resource.RLIM_INFINITY and 0 <= limit < _UNBOUNDED:
            return limit
    return None


def _limit_of(folder: Path) -> int | None:
    limit = _number(folder / "memory.max")
    if limit is None:
        limit = _number(folder / "memory.limit_in_bytes")
    return limit if limit is not None and limit < _UNBOUNDED else None


def _cores_of(folder: Path) -> float | None:
    quota, _, period = _text(folder / "cpu.max").partition(" ")
    if not quota:
        quota = _text(folder / "cpu.cfs_quota_us")
        period = _text(folder / "cpu.cfs_period_us")
    try:
        cores = int(quota) / int(period)
    except (ValueError, ZeroDivisionError):  # "max"
        return None
    return cores if cores > 0 and math.isfinite(cores) else None  # -1: no quota


def _cached_files(folder: Path) -> int:
    for line in _text(folder / "memory.stat").splitlines():
        name, _, size = line.partition(" ")
        if name in ("inactive_file", "total_inactive_file") and size.isdecimal():
            return int(size)
    return 0


def _groups(controller: str) -> Iterator[Path]:
    """Yield the folders of the groups that may bound this process: its own of each hierarchy with
    the controller, and those above it."""
    paths: dict[str, str] = {}  # by controller; "" is version 2, which has all
    for line in _text(ROOT / "proc/self/cgroup").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        for name in controllers.split(","):
            paths[name] = path
    for kind, mount_point, mount_root, options in _mounts():
        name = "" if kind == "cgroup2" else controller
        if name in paths and (kind == "cgroup2" or controller in options):
            mounted = ROOT / mount_point.lstrip("/")
            folder = mounted / _below(paths[name], mount_root)
            yield folder
            while folder != mounted:
                folder = folder.parent
                yield folder


def _mounts() -> Iterator[tuple[str, str, str, list[str]]]:
    """Yield the file system, the mount point, the group that is mounted there and the options of
    each hierarchy."""
    for line in _text(ROOT / "proc/self/mountinfo").splitlines():
        mount, _, file_system = line.partition(" - ")
        mount_fields = mount.split()
        kind, _, options = file_system.partition(" ")
        if kind in ("cgroup", "cgroup2") and len(mount_fields) > 4:
            yield kind, mount_fields[4], mount_fields[3], options.split()[-1].split(",")


def _below(path: str, mount_root: str) -> PurePosixPath:
    """Return where a group lies below the group that is mounted: there itself, if it lies outside,
    as in a container that sees its own group alone."""
    group = PurePosixPath(path)
    if ".." not in group.parts and group.is_relative_to(mount_root):
        return group.relative_to(mount_root)
    return PurePosixPath()


def _number(path: Path) -> int | None:
    text = _text(path)
    return int(text) if text.isdecimal() else None


def _text(path: Path) -> str:
    """Return what is in a small file; nothing if it cannot be read."""
    with suppress(OSError, ValueError):
        return path.read_bytes().decode(errors="replace").strip()
    return ""
