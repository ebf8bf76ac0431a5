"""Recognise faults of the machine: a run's memory runs out, or its GPU fails. Called by `train`,
`phase_helper` and the cluster."""

import errno
import re
import sys
from bisect import bisect_right
from dataclasses import replace
from typing import Any

from icl_core.contract.knobs import knobs_of
from icl_core.machine import containers, device

MEMORY = "memory"
GPU = "GPU"
_OUT_OF_MEMORY = (
    *("DefaultCPUAllocator", "out of memory", "ALLOC_FAILED"),
    "could not create a primitive",  # of oneDNN, which makes a program for each shape
    "start new thread",
)
_NOT_MAPPED = "failed to map segment"  # of a shared library: the address space is too small
_ALLOCATION = re.compile(r"allocate ([\d.]+) (\w+)")  # as torch and numpy say it
_LONGEST = 200  # characters of a message


class Failed(Exception):
    """What a command was to do did not come to its end; the message says why."""


class GpuLost(Exception):
    """This process can compute nothing on the GPU any more: the worker must end."""


def fault_kind(problem: BaseException) -> str:
    """Return MEMORY if memory ran out, on a GPU or a CPU; GPU if a kernel failed, after which the
    process can compute nothing any more; "" for every other exception."""
    text = str(problem)
    of_torch = isinstance(problem, RuntimeError)
    if isinstance(problem, MemoryError) or getattr(problem, "errno", None) == errno.ENOMEM:
        return MEMORY
    if isinstance(problem, ImportError) and _NOT_MAPPED in text:
        return MEMORY
    if of_torch and any(words in text for words in _OUT_OF_MEMORY):
        return MEMORY
    torch = sys.modules.get("torch")  # what is not imported, or could not be, raises nothing
    if isinstance(problem, getattr(torch, "OutOfMemoryError", ())):
        return MEMORY
    is_accelerators = isinstance(problem, getattr(torch, "AcceleratorError", ()))
    return GPU if is_accelerators or (of_torch and "CUDA error" in text) else ""


def first_line(problem: BaseException) -> str:
    """Return the first line of an exception's message, shortened; torch adds advice for
    programmers."""
    return f"{problem}".partition("\n")[0][:_LONGEST]


def memory_message(config: Any, error: str) -> str:
    """Release the memory that this process can release; return a sentence on what the run was
    estimated at, how much was requested (from `error`, the exception's first line), how much is
    free now, and which batch would fit."""
    free = device.release()
    estimated = device.estimated(lambda: replace(config))
    allocation = _allocation(error)
    too_large = estimated > free
    batch = largest_batch(config, free) if too_large else half_batch(config)

    expected = f"the run was estimated at {_size(estimated)}, " if estimated else ""
    asked = f"{allocation} more were asked for, " if allocation else ""
    if batch:
        advice = f"a batch of {batch} {'is estimated to' if too_large else 'may'} fit"
    else:
        advice = "its settings are too large"
    return (
        f"the memory of {device.describe()} ran out: {expected}{asked}{_size(free)} are free now; "
        f"{advice}"
    )


def server_memory_message(problem: BaseException) -> str:
    """Return a sentence on a page that could not be drawn for want of memory."""
    bounds: list[str] = []
    if (limit := containers.memory_limit()) is not None:
        bounds.append(f"{_size(limit)} of memory in this container")
    if (limit := containers.address_space()) is not None:
        bounds.append(f"{_size(limit)} of address space (ulimit -v)")
    may_use = f" It may use {' and '.join(bounds)}." if bounds else ""
    return (
        f"The memory of this server has run out: {first_line(problem)}.{may_use} The dashboard and "
        f"one worker hold about {containers.HELD / 2**30:.1f} GiB of memory; the dashboard takes "
        f"up to {_size(containers.SERVER_ADDRESSES)} of address space, a worker "
        f"{containers.WORKER_ADDRESSES / 2**30:.1f} GiB."
    )


def largest_batch(config: Any, free: int) -> int:
    """Return the largest batch below the config's that is estimated to fit into `free` bytes; 0 if
    none is."""

    def estimated(batch: int) -> int:
        return device.estimated(lambda: replace(config, batch=batch))

    batches = _smaller_batches(config)
    fitting = bisect_right(batches, free, key=estimated)
    return batches[fitting - 1] if fitting else 0


def half_batch(config: Any) -> int:
    """Return the largest batch up to half of the config's, for when the estimate was too low; 0 if
    there is none."""
    return max(
        (batch for batch in _smaller_batches(config) if 2 * batch <= config.batch), default=0
    )


def _smaller_batches(config: Any) -> range:
    knob = knobs_of(type(config)).get("batch")
    return range(int(knob.low or 1), config.batch, int(knob.step or 1)) if knob else range(0)


def _allocation(error: str) -> str:
    """Return the size of the allocation that failed, "512.0 MiB"; "" if the message has none."""
    match = _ALLOCATION.search(error)
    if match is None:
        return ""
    return _size(int(match[1])) if match[2] == "bytes" else f"{match[1]} {match[2]}"


def _size(count: float) -> str:
    return f"{count / 2**30:.1f} GiB" if count >= 2**28 else f"{count / 2**20:.1f} MiB"
