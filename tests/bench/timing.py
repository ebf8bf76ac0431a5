"""What the benchmarks share: rows of one table, and processor time of ways that take turns."""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from icl_core.machine import cores
from icl_core.training import loop
from icl_core.training.loop import Problem

PEAK_SIZE = 1024  # of the products by which the peak is measured
OFTEN = 10_000  # calls of a tiny operation
STEPS = 100  # of a training in segments
Row = tuple[str, str, str]  # what · a ratio, or a value with its unit · remark
Work = Callable[..., object]

thorough = False  # `--all`: the long lists, and a thousand reruns


def seconds(work: Work, *arguments: object) -> float:
    """Of this process's processor time, which waiting for a core does not lengthen."""
    start = time.process_time()
    work(*arguments)
    return time.process_time() - start


def by_turns(
    ways: Sequence[Work], rounds: int, fresh: Callable[[int], tuple] = lambda turn: ()
) -> list[float]:
    """The median seconds of each way; all take turns, each time on what `fresh` makes for it, as a
    training does on its batches. The first turns, to warm up, do not count."""
    times = []
    for turn in range(rounds + 1):
        arguments = fresh(turn)
        times.append([seconds(work, *arguments) for work in ways])
    return [statistics.median(column) for column in zip(*times[1:], strict=True)]


def compared(
    what: str,
    slow: float,
    fast: float,
    slow_name: str = "plain",
    note: str = "",
    work: Work | None = None,
) -> Row:
    """The row of a way that is so many times as fast as another; with `work`, the fast one, also
    the share of the machine's peak at which its products run."""
    share = f"; {of_peak(work, fast)}" if work else ""
    remark = f"{slow_name} {in_words(slow)}, here {in_words(fast)}{note}{share}"
    return what, f"{short(slow / fast)} ×", remark


class _Calls(TorchDispatchMode):
    """Counts the operations that torch is asked for."""

    count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.count += 1
        return func(*args, **(kwargs or {}))


def of_peak(work: Work, seconds: float) -> str:
    """What bounds `work`, which takes `seconds`: the share of its time that its matrix products
    would take at the `peak`, that of its calls of operations, each as long as a tiny one, and what
    is left: "41% of the peak, calls 3%, the rest memory"."""
    with FlopCounterMode(display=False) as counter, _Calls() as calls:
        work()
    products = counter.get_total_flops() / seconds / peak()
    overhead = calls.count * call_seconds() / seconds
    return f"{products:.0%} of the peak, calls {overhead:.0%}, the rest memory"


@cache
def peak() -> float:
    """The operations a second of float32 products at the precision that is set, on one thread: the
    most of some products of 1024 × 1024."""
    left = torch.randn(PEAK_SIZE, PEAK_SIZE)
    right = torch.randn(PEAK_SIZE, PEAK_SIZE)
    least = min(seconds(torch.mm, left, right) for _ in range(20))
    return 2 * PEAK_SIZE**3 / least


@cache
def call_seconds() -> float:
    """The seconds of a tiny operation."""
    small = torch.zeros(2)
    return min(seconds(_often, small.add_, 1) for _ in range(5)) / OFTEN


def machine_row() -> Row:
    """What this machine can do at its best, on one thread."""
    remark = (
        f"float32 products of {PEAK_SIZE} × {PEAK_SIZE}; a tiny operation takes "
        f"{short(1e6 * call_seconds())} µs; one thread"
    )
    return "the peak of this machine", f"{short(peak() / 1e9)} GFLOP/s", remark


def _often(work: Work, *arguments: object) -> None:
    for _ in range(OFTEN):
        work(*arguments)


def in_words(count: float) -> str:
    """Seconds in two digits: "31 ms"."""
    return f"{short(count)} s" if count >= 0.2 else f"{short(1000 * count)} ms"


def short(value: float) -> str:
    """Two digits that count: 0.61, 3.0, 140."""
    return f"{value:.1f}" if 1 <= value < 9.95 else f"{float(f'{value:.2g}'):g}"


def stepper(problem: Problem) -> Work:
    """A training step as `loop.train` takes it: fresh batch, gradient, update; without checkpoints
    and evaluations."""
    optimiser = problem.optimiser(list(problem.parameters.values()))
    steps = iter(range(10**9))

    def step() -> None:
        gradients, _ = problem.gradient(next(steps))
        for name, parameter in problem.parameters.items():
            parameter.grad = gradients.get(name)
        optimiser.step()

    return step


def segment_row(what: str, make: Callable[[], tuple[Problem, Problem]], rounds: int) -> Row:
    """A training step in compiled segments beside torch's: of the two problems that `make` returns,
    which are trained as `loop.train` does, without evaluations."""

    def train(problem: Problem) -> None:
        bare = replace(problem, evaluate=lambda step: {})
        loop.train(bare, STEPS, [0, STEPS], None, lambda state, save: None, keep=False)

    ways: list[Work] = [lambda torchs, _: train(torchs), lambda _, compiled: train(compiled)]
    torchs, compiled = by_turns(ways, rounds, lambda turn: make())
    return compared(what, torchs / STEPS, compiled / STEPS, "torch")


def one_thread() -> None:
    """Have this process compute on one thread, as workers do on busy cores, where torch's own
    threads would wait for each other."""
    torch.set_num_threads(1)
    cores.free_cores = lambda: 1  # else the parts of a gradient are shared among idle cores
    torch.set_float32_matmul_precision("medium")
