"""What can go wrong with a machine in mid-run: its memory runs out, or its GPU is lost."""

import re
from bisect import bisect_right
from dataclasses import replace
from typing import Any

from icl_core.contract.knobs import knobs_of

MEMORY, GPU = "memory", "GPU"
_FULL = ("DefaultCPUAllocator", "out of memory", "ALLOC_FAILED")
_ASKED = re.compile(r"allocate ([\d.]+) (\w+)")  # as torch and numpy say it
_LONGEST = 200  # characters of a message


class GpuLost(Exception):
    """Nothing can be computed on the GPU in this process any more: the worker must end."""


def fault_kind(problem: BaseException) -> str:
    """MEMORY where it ran out, on a GPU or a CPU; GPU where a kernel failed, after which its
    process computes nothing any more; empty for everything else."""
    import torch

    said = str(problem)
    of_torch = isinstance(problem, RuntimeError)
    if isinstance(problem, (MemoryError, torch.OutOfMemoryError)) or (
        of_torch and any(word in said for word in _FULL)
    ):
        return MEMORY
    return (
        GPU
        if isinstance(problem, torch.AcceleratorError) or (of_torch and "CUDA error" in said)
        else ""
    )


def first_line(problem: BaseException) -> str:
    """The beginning of what a problem says; torch adds advice for programmers."""
    return f"{problem}".partition("\n")[0][:_LONGEST]


def memory_message(config: Any, said: str) -> str:
    """Gives back what memory this process can, and tells what was expected, what was asked for and
    which batch would fit. `said` is the problem's own first line."""
    from icl_core.machine import device

    free, needed = device.release(), device.estimated(lambda: replace(config))
    expected = f"the run was estimated at {_size(needed)}, " if needed else ""
    asked = f"{size} more were asked for, " if (size := _asked(said)) else ""
    short = needed > free
    batch = largest_batch(config, free) if short else half_batch(config)
    advice = (
        f"a batch of {batch} {'is estimated to' if short else 'may'} fit"
        if batch
        else "its settings are too large"
    )
    return (
        f"the memory of {device.describe()} ran out: {expected}{asked}{_size(free)} are free "
        f"now; {advice}"
    )


def largest_batch(config: Any, free: int) -> int:
    """The largest batch below the config's that is estimated to fit into `free` bytes; 0 if none
    is."""
    from icl_core.machine import device

    batches = _batches(config)
    fitting = bisect_right(
        batches, free, key=lambda batch: device.estimated(lambda: replace(config, batch=batch))
    )
    return batches[fitting - 1] if fitting else 0


def half_batch(config: Any) -> int:
    """The largest batch up to half of the config's, for where the estimate is too low; 0 if there
    is none."""
    return max((batch for batch in _batches(config) if 2 * batch <= config.batch), default=0)


def _batches(config: Any) -> range:
    knob = knobs_of(type(config)).get("batch")
    return range(int(knob.low or 1), config.batch, int(knob.step or 1)) if knob else range(0)


def _asked(said: str) -> str:
    found = _ASKED.search(said)
    if found is None:
        return ""
    return _size(int(found[1])) if found[2] == "bytes" else f"{found[1]} {found[2]}"


def _size(count: float) -> str:
    return f"{count / 2**30:.1f} GiB" if count >= 2**28 else f"{count / 2**20:.1f} MiB"
