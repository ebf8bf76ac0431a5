"""The parts of one computation on the cores of this machine that nobody else uses, with the digits
that one core gives: each part is computed by one thread, and the results come in the parts' order.
"""

import math
import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import NamedTuple, TypeVar

import psutil
import torch

from icl_core.machine import device

LOOK = 1.0  # seconds between two looks at what others use
STALE = 10.0  # seconds after which the look before says nothing

Part = TypeVar("Part")
Result = TypeVar("Result")


def in_order(work: Callable[[Part], Result], parts: Iterable[Part]) -> Iterator[Result]:
    """Yield `work` of each part, in their order.

    Several threads share the parts where this process trains on a CPU, one thread of torch each:
    they gain nothing on a GPU, and elsewhere a call of torch has several threads of its own. As
    many parts as there are threads are in memory at once.
    """
    if device.is_gpu() or torch.get_num_threads() > 1 or (threads := free_cores()) < 2:
        yield from map(work, parts)
        return
    pool = _pool()
    results = deque()  # of the parts that threads have in hand, in order
    for part in parts:
        if len(results) == threads:
            yield results.popleft().result()
        try:
            results.append(pool.submit(work, part))
        except RuntimeError:  # no thread can be started here
            yield from (result.result() for result in results)
            results.clear()
            yield work(part)
    yield from (result.result() for result in results)


def free_cores() -> int:
    """Return how many cores this process may use now: those that it uses, and those that are idle,
    as far as there is memory; at least one. Who else trains or visits keeps theirs."""
    global _last
    last = _last
    now = time.monotonic()
    if now - last.time < LOOK:
        return last.free
    used = time.process_time()
    idle = _idle_seconds()
    free = 1
    if now - last.time < STALE:
        free = round((used - last.used + idle - last.idle) / (now - last.time))
        free = max(1, min(free, device.core_count(), 1 + _room()))
    _last = _Look(now, used, idle, free)
    return free


class _Look(NamedTuple):
    """What this process had used at some time and what had been idle, in seconds of a core; and how
    many cores were free since the look before."""

    time: float
    used: float
    idle: float
    free: int


_last = _Look(-math.inf, 0.0, 0.0, 1)


def _idle_seconds() -> float:
    """Return for how long the cores that this process may use have been idle, together."""
    cores = psutil.cpu_times(percpu=True)
    if hasattr(os, "sched_getaffinity"):  # Linux only
        allowed = os.sched_getaffinity(0)
        cores = [core for index, core in enumerate(cores) if index in allowed]
    return sum(core.idle for core in cores)


def _room() -> int:
    """Return how many more parts fit the memory that is left: each takes no more than this process
    with one of them does."""
    return device.memory_left() // psutil.Process().memory_info().rss


@cache
def _pool() -> ThreadPoolExecutor:
    # what a thread has not set it takes from the environment
    return ThreadPoolExecutor(device.core_count(), "parts", partial(torch.set_num_threads, 1))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # it has none of these threads
