"""The device of this process, a GPU or the CPU, with its threads, precision and memory."""

import ctypes
import gc
import os
import platform
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache

import psutil
import torch

from icl_core.contract.knobs import BadSetting, TooLarge
from icl_core.machine import containers, late_imports, malloc

# "medium" lets torch compute a float32 product of parts in bfloat16 where the processor has such
# products. Some keep the error of float32, and are faster; with bfloat16 tiles, as of Intel's AMX,
# the error is 2e-3, and products of 32 to 64 rows take four times as long. On CUDA "medium" and
# "high" mean TF32, with 10 bits of precision.
PRECISIONS = ("medium", "high", "highest")
ROWS = 64  # of the product that shows what "medium" is here
INEXACT = 1e-5  # a relative error beyond float32's, which is below 1e-6 for this product

SMALL_RUN = 100 * 2**20  # bytes of memory of a run of classroom size

_chosen = ""  # the device that `choose` has set
# Collects the estimates of `check_memory` within `no_memory_check`.
_estimates: ContextVar[list[int] | None] = ContextVar("estimates", default=None)


def choose(index: int) -> None:
    """Use the GPU with the number `index` modulo their count, if there are several and `ICL_DEVICE`
    does not name one.

    This is not written to the environment, where the processes started from here would inherit it.
    """
    global _chosen
    if not os.environ.get("ICL_DEVICE") and torch.cuda.device_count() > 1:
        _chosen = f"cuda:{index % torch.cuda.device_count()}"
        current_device.cache_clear()
        describe.cache_clear()


@cache
def current_device() -> torch.device:
    """Return the device of this process: that of `ICL_DEVICE` ("cpu", "cuda", "cuda:1"), else that
    of `choose`, else a GPU if there is one, else the CPU.

    Imports torch. Raises `BadSetting` if `ICL_DEVICE` names a device that this machine lacks.
    """
    return torch.device(_name())


def is_gpu() -> bool:
    """Return whether the device of this process is a GPU. Imports torch only where there may be
    one. Raises `BadSetting` as `current_device` does."""
    if late_imports.is_imported("torch"):
        return current_device().type == "cuda"
    return _name().startswith("cuda")


def _name() -> str:
    """Return the name of the device of this process."""
    may_ask = late_imports.is_imported("torch") or _has_driver()  # else torch finds none
    has_gpu = may_ask and torch.cuda.is_available()
    name = os.environ.get("ICL_DEVICE") or _chosen or ("cuda" if has_gpu else "cpu")
    devices = ["cpu"]
    if has_gpu:
        devices += ["cuda", *(f"cuda:{index}" for index in range(torch.cuda.device_count()))]
    if name not in devices:
        raise BadSetting(
            f"ICL_DEVICE must name a device that is here ({', '.join(devices)}), got {name!r:.80}"
        )
    return name


@cache
def _has_driver() -> bool:
    """Return whether there is a driver of GPUs: NVIDIA's library or AMD's device file."""
    if os.path.exists("/dev/kfd"):
        return True
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


@cache
def describe() -> str:
    """Return the device's name for readers, "NVIDIA H200" or "CPU (x86_64)"; every run
    stores it."""
    if is_gpu():
        return torch.cuda.get_device_name(current_device())
    return f"CPU ({platform.machine()})"


def clock() -> float:
    """Return the seconds for which this process has computed.

    On a CPU that is CPU time, which other processes do not lengthen; on a GPU it is wall time,
    since a process waits for the GPU.
    """
    if is_gpu():
        return time.monotonic()
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def synchronize() -> None:
    """Wait until a GPU has done what it was given; on a CPU nothing is ever left to do."""
    if is_gpu():
        torch.cuda.synchronize()


def prepare() -> None:
    """Make torch load now what it otherwise loads at the first optimiser and the first derivative,
    without its compiler."""
    late_imports.postpone_compiler()
    weight = torch.ones((), requires_grad=True)
    weight.square().backward()
    torch.autograd.grad(weight.square()[None], weight, torch.ones(1))
    torch.optim.Adam([weight]).step()
    torch.func.jvp(torch.square, (torch.ones(()),), (torch.ones(()),))


def workers() -> int:
    """Return how many trainings may run at once: one for each GPU, or for the single one that
    `ICL_DEVICE` names; without GPUs, one for each core that this process may use, as far as memory
    allows."""
    if is_gpu():
        return 1 if os.environ.get("ICL_DEVICE") else max(1, torch.cuda.device_count())
    more = int((_share_of_memory() - containers.HELD) // (containers.WORKER + SMALL_RUN))
    return max(1, min(core_count(), 1 + more))


def idle_cores() -> int:
    """Return how many cores had nothing to do over the last minute, at least one. Whatever ran on
    this machine counts, this project's own workers and other containers included."""
    return max(1, round(core_count() - psutil.getloadavg()[0]))


def core_count() -> int:
    """Return the number of cores that this process may use."""
    count = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):  # Linux only
        count = len(os.sched_getaffinity(0))
    if (limit := containers.core_limit()) is not None:
        count = max(1, min(count, int(limit)))
    return count


def wanted_precision() -> str:
    """Return the precision that `ICL_PRECISION` asks for, "" if it asks for none. Imports no torch.
    Raises `BadSetting` if it is none of PRECISIONS."""
    name = os.environ.get("ICL_PRECISION", "")
    if name and name not in PRECISIONS:
        raise BadSetting(f"ICL_PRECISION must be one of {', '.join(PRECISIONS)}, got {name!r:.80}")
    return name


def precision() -> str:
    """Return the precision of float32 products: that of `ICL_PRECISION`, else "medium" on a CPU
    where it is as exact as "highest", and "highest" elsewhere. Imports torch unless it is asked
    for. Raises `BadSetting` as `wanted_precision` does."""
    return wanted_precision() or ("highest" if is_gpu() or not _medium_is_exact() else "medium")


@cache
def _medium_is_exact() -> bool:
    """Return whether products at "medium" have the error of float32 on this processor."""
    generator = torch.Generator().manual_seed(0)
    factors = torch.randn(2, ROWS, ROWS, generator=generator)
    expected = factors[0].double() @ factors[1].double()
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    product = factors[0] @ factors[1]
    torch.set_float32_matmul_precision(before)
    error = (product.double() - expected).abs().max() / expected.abs().max()
    return float(error) < INEXACT


def set_threads(threads: int = 1) -> None:
    """Set torch's number of threads and its precision for this process; on a GPU, also
    deterministic kernels.

    Tiny models are fastest with one thread: two are slower on busy cores. A run resumes bit for bit
    only with the number of threads with which it began, and on a GPU only with deterministic
    kernels.
    """
    torch.set_num_threads(threads)
    torch.set_float32_matmul_precision(precision())
    if is_gpu():
        # cuBLAS is deterministic only with this.
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.use_deterministic_algorithms(True, warn_only=True)


@contextmanager
def exact() -> Iterator[None]:
    """On a GPU, compute float32 products without TF32 in this context, whatever `ICL_PRECISION` is;
    for measurements. On a CPU nothing changes."""
    if not is_gpu():
        yield
        return
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def memory() -> int:
    """Return how many bytes a run may use: nine tenths of the device's memory, on a CPU without
    what a server and a worker hold.

    It is a share of the total, not of the free memory, so that the settings that can be chosen do
    not depend on what else is running.
    """
    if is_gpu():
        return int(0.9 * torch.cuda.get_device_properties(current_device()).total_memory)
    left = _share_of_memory() - containers.HELD
    if (limit := containers.address_space()) is not None:
        left = min(left, limit - containers.WORKER_ADDRESSES)
    return max(0, left)


def _share_of_memory() -> int:
    return int(0.9 * _installed())


@cache
def _installed() -> int:
    """Return the bytes of memory of this machine or, if that is less, of this container; cached,
    since every setting is checked against it."""
    total = psutil.virtual_memory().total
    return min(total, containers.memory_limit() or total)


def keep_imports() -> None:
    """Exclude all objects that exist now, most of them imported modules, from garbage collection.

    With them each collection takes a fifth of a second, between two answers of a server and after
    each run. Call it once in a process, since what is excluded is never freed.
    """
    gc.collect()
    gc.freeze()


def release() -> int:
    """Return unused memory of this process to the system; return how many bytes of the device's
    memory are then free."""
    gc.collect()
    if is_gpu():
        torch.cuda.empty_cache()
        return torch.cuda.mem_get_info(current_device())[0]
    malloc.trim()
    return memory_left()


def memory_left() -> int:
    """Return how many bytes of memory this machine or, if that is less, this container has left."""
    available = psutil.virtual_memory().available
    left = containers.memory_left()
    return available if left is None else min(available, left)


def estimated(make: Callable[[], object]) -> int:
    """Return the largest estimate, in bytes, given to `check_memory` while `make` creates settings;
    0 if there is none."""
    with no_memory_check() as estimates:
        make()
    return max(estimates, default=0)


@contextmanager
def no_memory_check() -> Iterator[list[int]]:
    """Refuse no settings for want of memory in this context: settings of presets, and of runs that
    are there, are shown where they could not be trained. Yields the list of the estimates, in
    bytes, which fills."""
    estimates: list[int] = []
    token = _estimates.set(estimates)
    try:
        yield estimates
    finally:
        _estimates.reset(token)


def check_memory(needed: int, what: str) -> None:
    """Raise `TooLarge` if `needed` bytes exceed the memory; `what` names the fields that matter:
    "batch 512, T 256"."""
    estimates = _estimates.get()
    if estimates is not None:
        estimates.append(needed)
    elif needed > memory():
        raise TooLarge(
            f"{what} must fit the memory of {describe()}, {memory() / 2**30:.1f} GiB; got an "
            f"estimated {needed / 2**30:.1f} GiB"
        )
