"""The parts of one computation on the cores of this machine that nobody else uses, with the digits
that one core gives: each part is computed by one thread, and the results come in the parts' order.
"""

import math
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import NamedTuple, TypeVar

import psutil
import torch

from icl_core.machine import device

LOOK = 1.0  # seconds between two looks at what others use

Part = TypeVar("Part")
Result = TypeVar("Result")


def in_order(work: Callable[[Part], Result], parts: Iterable[Part]) -> Iterator[Result]:
    """Yield `work` of each part, in their order.

    Several threads share the parts where this process trains on a CPU, one thread of torch each:
    they gain nothing on a GPU, and elsewhere a call of torch has several threads of its own.
    """
    if device.is_gpu() or torch.get_num_threads() > 1 or (threads := free_cores()) < 2:
        return map(work, parts)
    return _pool(threads).map(work, parts)


def free_cores() -> int:
    """Return how many cores this process may use now: those that it uses, and those that are idle;
    at least one. Who else trains or visits keeps theirs."""
    global _last
    now = time.monotonic()
    if now - _last.time >= LOOK:
        used = time.process_time()
        idle = psutil.cpu_times().idle
        free = round((used - _last.used + idle - _last.idle) / (now - _last.time))
        _last = _Look(now, used, idle, max(1, min(free, device.core_count())))
    return _last.free


class _Look(NamedTuple):
    """What this process had used at some time and what had been idle, in seconds of a core; and how
    many cores were free since the look before."""

    time: float
    used: float
    idle: float
    free: int


_last = _Look(-math.inf, 0.0, 0.0, 1)  # of the first second nothing is known


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    # what a thread has not set it takes from the environment
    return ThreadPoolExecutor(threads, "parts", partial(torch.set_num_threads, 1))
