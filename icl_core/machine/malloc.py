"""A bound on the freed memory that malloc does not return to the system.

Tensors are aligned blocks. glibc before 2.38 places such a block only in a gap that is larger than
the block, so that a freed block cannot be used for the next of the same size, and the gaps add up:
a run that used 330 MiB at most came to hold 0.6, 1.6 or 5 GiB, a different number each time.
"""

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache

import psutil

# The process may hold SHARE times the most memory that was in use at once, and SPARE bytes. With
# 1.25 and half the bytes, training steps took up to a fifth longer.
SHARE = 1.5
SPARE = 256 * 2**20
_INTERVAL = 0.2  # seconds between two checks


class _MallocInfo(ctypes.Structure):
    """`struct mallinfo2` of malloc.h."""

    _names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
    _fields_ = tuple((name, ctypes.c_size_t) for name in _names.split())


@contextmanager
def bounded_heap() -> Iterator[None]:
    """Bound the memory of this process in this context: a thread checks it and trims it if due.

    The bound is SHARE times the most memory that was in use at once, plus SPARE. It does not hold
    between two checks, nor for memory that is not malloc's. Without glibc 2.33 or later, which
    reports what is in use, and if no thread can be started, nothing is bounded: a run may then take
    more memory than is estimated from its settings.
    """
    ended = threading.Event()
    watcher = threading.Thread(target=_watch, args=(ended,), daemon=True)
    with suppress(RuntimeError):  # no thread can be started
        if allocated_bytes() is not None:
            watcher.start()
    try:
        yield
    finally:
        ended.set()
        if watcher.ident is not None:
            watcher.join()


def _watch(ended: threading.Event) -> None:
    most = 0
    while not ended.wait(_INTERVAL):
        with suppress(OSError, psutil.Error):
            most = trim_if_due(most)


def trim_if_due(most: int) -> int:
    """Trim if the process holds more than the bound; return the most memory in use so far, in
    bytes.

    `most` is what the call before returned. What trimming cannot return to the system counts as in
    use.
    """
    most = max(most, allocated_bytes() or 0)
    if resident_bytes() > SHARE * most + SPARE:
        trim()
        most = max(most, int(resident_bytes() / SHARE))
    return most


def allocated_bytes() -> int | None:
    """Return the bytes that are allocated by malloc; None if it does not report them."""
    mallinfo = getattr(_libc(), "mallinfo2", None)
    if mallinfo is None:
        return None
    mallinfo.restype = _MallocInfo
    info = mallinfo()
    return info.uordblks + info.hblkhd


def resident_bytes() -> int:
    """Return the bytes of this process's memory that do not belong to a file. Pages of a file, such
    as a library, can be dropped by the system."""
    info = psutil.Process().memory_info()
    return info.rss - getattr(info, "shared", 0)


def trim() -> None:
    """Return all unused pages to the system, if malloc can."""
    malloc_trim = getattr(_libc(), "malloc_trim", None)
    if malloc_trim is not None:
        malloc_trim(0)


@cache
def _libc() -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(None)
    except (OSError, TypeError):  # on Windows
        return None
