"""The parts of one computation on the cores of this machine that nobody else uses, with the digits
that one core gives: each part is computed by one thread, and the results come in the parts' order.
"""

import math
import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
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

    Several threads share the parts, one thread of torch each. As many parts as there are threads
    are in memory at once.
    """
    threads = _threads()
    if threads < 2:
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


def ahead(
    draw: Callable[[torch.Generator], Result], generator: torch.Generator
) -> Callable[[], Result]:
    """Return a function whose calls return `draw(generator)`, one after the other. A thread draws
    the next one while the caller uses this one.

    It draws from a copy: `generator` is where the calls so far have left it, so that a checkpoint
    can be made of it at any time; and where it is set back, the next call draws from there.
    """
    begun: _Draw | None = None

    def drawn() -> Result:
        nonlocal begun
        if begun is not None and torch.equal(begun.start, generator.get_state()):
            result = begun.result.result()
            generator.set_state(begun.generator.get_state())
        else:
            result = draw(generator)
        begun = None
        if _threads() > 1:
            copy = generator.clone_state()
            with suppress(RuntimeError):  # no thread can be started here
                begun = _Draw(copy.get_state(), copy, _pool().submit(draw, copy))
        return result

    return drawn


class _Draw(NamedTuple):
    """What is drawn in a thread: from which state, and from the copy that holds the state behind it
    once there is a result."""

    start: torch.Tensor
    generator: torch.Generator
    result: Future


def _threads() -> int:
    """Return how many threads may share a computation: one on a GPU, where several gain nothing,
    and where a call of torch has several threads of its own, as outside of trainings."""
    return 1 if device.is_gpu() or torch.get_num_threads() > 1 else free_cores()


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
