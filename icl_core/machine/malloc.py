"""What malloc keeps of freed memory, which a worker asks it to: never much more than a run has had
in use.

glibc before 2.38 finds room for an aligned block, as tensors are, only in a hole that is larger
than the block: one that was freed does not serve for the next of its size. The holes add up: a run
with 330 MiB in use at most came to hold 0.6, 1.6 or 5 GiB, another number each time.
"""

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache

import psutil

# of what was in use at most; with 1.25 and half as much beside, steps took up to a fifth longer
SHARE = 1.5
SPARE = 256 * 2**20  # bytes
_LOOK = 0.2  # seconds


class _Told(ctypes.Structure):
    """`struct mallinfo2` of malloc.h."""

    _counted = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
    _fields_ = tuple((name, ctypes.c_size_t) for name in _counted.split())


@contextmanager
def bounded_heap() -> Iterator[None]:
    """Meanwhile, this process holds at most `SHARE` times what it has had in use at once, and
    `SPARE`, but for what is taken between two looks and what is no malloc's. Where malloc does not
    tell what is in use (all but glibc from 2.33 on), or no thread can be started to look, it is
    left alone: a run may then take more than its settings say."""
    over = threading.Event()
    watch = threading.Thread(target=_watch, args=(over,), daemon=True)
    with suppress(RuntimeError):
        if allocated_bytes() is not None:
            watch.start()
    try:
        yield
    finally:
        over.set()
        if watch.ident is not None:
            watch.join()


def _watch(over: threading.Event) -> None:
    most = 0
    while not over.wait(_LOOK):
        with suppress(OSError, psutil.Error):
            most = trim_if_due(most)


def trim_if_due(most: int) -> int:
    """Trim if more is held than what was in use at `most` so far, or is now, allows for; what
    counts as that from now on: what cannot be given back is in use."""
    most = max(most, allocated_bytes() or 0)
    if resident_bytes() > SHARE * most + SPARE:
        trim()
        most = max(most, int(resident_bytes() / SHARE))
    return most


def allocated_bytes() -> int | None:
    """Bytes that malloc has given out; None where it does not tell."""
    ask = getattr(_libc(), "mallinfo2", None)
    if ask is None:
        return None
    ask.restype = _Told
    told = ask()
    return told.uordblks + told.hblkhd


def resident_bytes() -> int:
    """Bytes of this process's memory that are no file's. Of libraries the system takes back what it
    likes."""
    info = psutil.Process().memory_info()
    return info.rss - getattr(info, "shared", 0)


def trim() -> None:
    """Give all pages back to the system on which nothing is in use, where malloc can."""
    if give_back := getattr(_libc(), "malloc_trim", None):
        give_back(0)


@cache
def _libc() -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(None)
    except (OSError, TypeError):  # on Windows
        return None
