"""Where a training runs: CUDA if there is one, else the CPU; its threads, precision and memory."""

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
from icl_core.machine import malloc

# "medium" lets a float32 product be computed in two bfloat16 parts where that is faster. On CPUs
# without bf16 tiles it costs float32-level error (`python -m tests.bench birth --all` prints it);
# set ICL_PRECISION=highest to forgo it. On CUDA "medium" and "high" mean TF32, products of 10 bits,
# which shows in the results: there "highest" is the default.
PRECISIONS = ("medium", "high", "highest")

_chosen = ""  # by `choose`
_estimates: ContextVar[list[int] | None] = ContextVar(
    "estimates", default=None
)  # what `check_memory` hears meanwhile


def choose(index: int) -> None:
    """Train on the GPU of that number, counted round, where there are several and `ICL_DEVICE`
    names none.

    For this process alone: in the environment it would be passed on to every worker that is started
    from here.
    """
    global _chosen
    if not os.environ.get("ICL_DEVICE") and torch.cuda.device_count() > 1:
        _chosen = f"cuda:{index % torch.cuda.device_count()}"
        current_device.cache_clear()
        describe.cache_clear()


@cache
def current_device() -> torch.device:
    """The device of this process: `ICL_DEVICE` if set ("cpu", "cuda", "cuda:1"), else CUDA where
    there is one (the one of `choose`).

    Raises `BadSetting` if `ICL_DEVICE` names none that is here.
    """
    wanted = (
        os.environ.get("ICL_DEVICE") or _chosen or ("cuda" if torch.cuda.is_available() else "cpu")
    )
    known = ["cpu", "cuda", *(f"cuda:{i}" for i in range(torch.cuda.device_count()))]
    if wanted not in known or (wanted.startswith("cuda") and not torch.cuda.is_available()):
        here = ", ".join(known if torch.cuda.is_available() else known[:1])
        raise BadSetting(f"ICL_DEVICE must name a device that is here ({here}), got {wanted!r:.80}")
    return torch.device(wanted)


@cache
def describe() -> str:
    """The device's name as a reader knows it, "NVIDIA H200" or "CPU (x86_64)": kept
    with every run."""
    if current_device().type == "cuda":
        return torch.cuda.get_device_name(current_device())
    return f"CPU ({platform.machine()})"


def clock() -> float:
    """Seconds of computing of this process: CPU time, which what else goes on does not stretch; on
    a GPU, for which a process waits, wall time."""
    if current_device().type == "cuda":
        return time.monotonic()
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def pace() -> float:
    """Seconds of computing that a fixed piece of work takes here: some products and many small
    operations, as in the training of a tiny model. Runs keep it, so that another machine can tell
    how much faster or slower it is."""
    generator = torch.Generator().manual_seed(0)
    x, w = (
        torch.randn(shape, generator=generator).to(current_device())
        for shape in ((64, 256, 32), (32, 32))
    )
    w.requires_grad_()
    start = clock()
    for _ in range(20):
        torch.tanh(x @ w).square().mean().backward()
        for _ in range(60):
            w.detach().mul(0.5).add_(1)
    if current_device().type == "cuda":
        torch.cuda.synchronize()
    return clock() - start


def prepare() -> None:
    """Load now what torch loads at the first optimiser and the first derivative, which takes a
    second or two."""
    weight = torch.ones((), requires_grad=True)
    weight.square().backward()
    torch.optim.Adam([weight]).step()
    torch.func.jvp(torch.square, (torch.ones(()),), (torch.ones(()),))


def workers() -> int:
    """How many trainings may go on at once: one a GPU (`ICL_DEVICE` names just one), else one a
    core."""
    if current_device().type == "cuda":
        return 1 if os.environ.get("ICL_DEVICE") else max(1, torch.cuda.device_count())
    return max(
        1, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )


def precision() -> str:
    """How exactly float32 products are computed: `ICL_PRECISION` if set; `BadSetting` if it is none
    of them."""
    wanted = os.environ.get("ICL_PRECISION") or (
        "highest" if current_device().type == "cuda" else "medium"
    )
    if wanted not in PRECISIONS:
        raise BadSetting(
            f"ICL_PRECISION must be one of {', '.join(PRECISIONS)}, got {wanted!r:.80}"
        )
    return wanted


def set_threads(threads: int = 1) -> None:
    """Fix torch's threads and precision for this process. Tiny models want one thread: two on busy
    cores are slower, and a run resumes bit for bit only with the count it began with, on a GPU only
    with kernels that repeat themselves.
    """
    torch.set_num_threads(threads)
    torch.set_float32_matmul_precision(precision())
    if current_device().type == "cuda":
        os.environ.setdefault(
            "CUBLAS_WORKSPACE_CONFIG", ":4096:8"
        )  # cuBLAS repeats itself only with it
        torch.use_deterministic_algorithms(True, warn_only=True)


@contextmanager
def exact() -> Iterator[None]:
    """On a GPU, whole float32 products meanwhile, no TF32, whatever `ICL_PRECISION` says: for what
    is measured. On a CPU nothing changes."""
    before = torch.get_float32_matmul_precision()
    if current_device().type == "cuda":
        torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def memory() -> int:
    """Bytes a run may use: nine tenths of what the device has in all. The total, not what is free
    now: whether a setting can be asked for must not depend on what else is open."""
    if current_device().type == "cuda":
        return int(0.9 * torch.cuda.get_device_properties(current_device()).total_memory)
    return int(0.9 * _installed())


@cache
def _installed() -> int:
    """Bytes of memory in this machine: asked once, as every setting is checked against it."""
    return psutil.virtual_memory().total


def keep_imports() -> None:
    """Leave what is in memory now, most of it imported, out of every later look for garbage: with
    it each takes a fifth of a second, between a server's answers and after each run. Once a
    process, as what is left out stays."""
    gc.collect()
    gc.freeze()


def release() -> int:
    """Give back the memory that this process holds without using it; the bytes that are free on the
    device then."""
    gc.collect()
    if current_device().type == "cuda":
        torch.cuda.empty_cache()
        return torch.cuda.mem_get_info(current_device())[0]
    malloc.trim()
    return psutil.virtual_memory().available


def estimated(make: Callable[[], object]) -> int:
    """The bytes that settings are estimated to need, while `make` makes them; 0 if nothing is known
    of them."""
    token = _estimates.set(needed := [0])
    try:
        make()
        return max(needed)
    finally:
        _estimates.reset(token)


def check_memory(needed: int, what: str) -> None:
    """Raise `TooLarge` if `needed` bytes do not fit; `what` names the fields that decide: "batch
    512, T 256"."""
    if (estimates := _estimates.get()) is not None:
        estimates.append(needed)
    elif needed > memory():
        raise TooLarge(
            f"{what} must fit the memory of {describe()}, {memory() / 2**30:.1f} GiB; got an "
            "estimated "
            f"{needed / 2**30:.1f} GiB"
        )
