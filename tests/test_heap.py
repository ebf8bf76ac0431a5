"""The memory that malloc holds is measured correctly and returned if it is much more than was in
use, in a process started as workers are."""

import os
import subprocess
import sys
import threading

import pytest
from house import ROOT

from icl_core.jobs import spawn
from icl_core.machine import malloc

MIB = 2**20
REPORTS = malloc.allocated_bytes() is not None
# Of 800 MiB that were freed no block of more than 8 can be made.
HOLES = """
import ctypes, time
from icl_core.machine import malloc
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
blocks = []
for _ in range(100):
    blocks.append(ctypes.c_void_p(libc.malloc(8 * 2**20)))
    ctypes.memset(blocks[-1], 1, 8 * 2**20)
    libc.malloc(2000)  # stays, so that neighbours are not one hole
most = malloc.allocated_bytes()
for block in blocks:
    libc.free(block)
print(malloc.resident_bytes())
"""


def printed(code: str) -> list[int]:
    environment = {**os.environ, **spawn._REUSED, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", HOLES + code]
    process = subprocess.run(command, env=environment, check=True, capture_output=True)
    return [int(word) for word in process.stdout.split()]


def test_memory_in_use_and_held_is_what_was_asked_for():
    code = """
before, held = malloc.allocated_bytes(), malloc.resident_bytes()
block = ctypes.c_void_p(libc.malloc(64 * 2**20))
ctypes.memset(block, 1, 64 * 2**20)
print(malloc.allocated_bytes() - before, malloc.resident_bytes() - held)
libc.free(block)
print(malloc.allocated_bytes() - before)
"""
    *_, used, resident, left = printed(code) if REPORTS else (0, 64 * MIB, 64 * MIB, 0)
    assert abs(used - 64 * MIB) < MIB and abs(left) < MIB and (not REPORTS or resident < 72 * MIB)


@pytest.mark.skipif("not REPORTS", reason="this system's malloc does not report what is in use")
def test_holes_are_given_back_where_much_less_was_ever_in_use():
    holes, once, now = printed(
        "malloc.trim_if_due(most); print(malloc.resident_bytes()); malloc.trim_if_due(0); "
        "print(malloc.resident_bytes())"
    )
    assert once > 800 * MIB and abs(once - holes) < 16 * MIB  # so much was in use, and may be again
    assert now < holes - 700 * MIB


@pytest.mark.skipif("not REPORTS", reason="this system's malloc does not report what is in use")
def test_a_run_is_watched_while_it_lasts():
    code = """
print(malloc.resident_bytes())
end = time.monotonic() + 30
with malloc.bounded_heap():
    while malloc.resident_bytes() > 400 * 2**20 and time.monotonic() < end:
        time.sleep(0.01)
print(malloc.resident_bytes())
"""
    _, alone, watched = printed(code)
    assert alone > 800 * MIB and watched < 400 * MIB


def test_where_malloc_reports_nothing_a_run_goes_on(monkeypatch):
    monkeypatch.setattr(malloc, "_libc", lambda: None)
    assert malloc.allocated_bytes() is None
    malloc.trim()
    with malloc.bounded_heap():
        assert malloc.trim_if_due(2**40) == 2**40


def test_what_cannot_be_given_back_is_not_asked_for_again(monkeypatch):
    """A look at other memory than malloc's, as of a GPU's driver, trims once, and again only when
    more is held."""
    sizes = [2**31]
    trims = []
    monkeypatch.setattr(malloc, "resident_bytes", lambda: sizes[-1])
    monkeypatch.setattr(malloc, "allocated_bytes", lambda: 0)
    monkeypatch.setattr(malloc, "trim", lambda: trims.append(sizes[-1]))
    most = malloc.trim_if_due(malloc.trim_if_due(0))
    assert trims == [2**31]
    sizes.append(2**32)
    malloc.trim_if_due(malloc.trim_if_due(most))
    assert trims == [2**31, 2**32]


def test_a_run_goes_on_where_no_thread_can_be_started(monkeypatch):
    def none(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", none)
    with malloc.bounded_heap():
        pass
