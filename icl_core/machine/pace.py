"""The pace of this machine: how long two fixed pieces of work take, one of small operations and one
of matrix products. By two paces the seconds that a run took on one machine are converted to
another.

No torch until a pace is measured.
"""

import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from icl_core.machine import device

WARM_UP = 3  # calls that do not count
REPEATS = 3  # of each piece of work, of which the fastest counts
ROWS, WIDTH = 2**14, 128  # of a product: the shape of most products of the largest models
PRODUCTS = 4
GIGA = 1e9
# The largest share of a run's seconds that is taken for products. No run is made of them alone, but
# the count of its operations, at the pace of the products above, may come to more than it took.
MOST_PRODUCTS = 0.7


class Pace(NamedTuple):
    """The pace of a machine, of one thread.

    small     seconds of a fixed number of small operations
    products  seconds of a giga-operation of matrix products
    """

    small: float
    products: float

    def converted(self, seconds: float, operations: float, here: "Pace") -> float:
        """Return the seconds that a run takes at the pace `here`, which took `seconds` at this pace
        for `operations` giga-operations (`Experiment.cost`)."""
        products = min(operations * self.products, MOST_PRODUCTS * seconds)
        others = seconds - products
        return products * here.products / self.products + others * here.small / self.small


def is_pace(value: Any) -> bool:
    """Return whether a JSON value is the mapping of a pace."""
    return (
        isinstance(value, dict)
        and value.keys() == set(Pace._fields)
        and all(
            isinstance(seconds, (int, float)) and 0 < seconds < math.inf
            for seconds in value.values()
        )
    )


def measure_pace() -> Pace:
    """Return the pace of this machine: on one thread, warmed up, the fastest of three.

    Sets the threads and the precision of this process to those of a training.
    """
    device.set_threads(1)
    operations = PRODUCTS * 2 * ROWS * WIDTH**2 / GIGA
    # Products first: once their 8 MB are freed, malloc keeps the 2 MB of the small operations, as
    # in a training. Before, it returns them to the system at each call: twice the time.
    products = _fastest(_products()) / operations
    return Pace(_fastest(_small_operations()), products)


def _fastest(work: Callable[[], object]) -> float:
    """Return the seconds of the fastest of REPEATS calls, after WARM_UP that do not count."""
    # finer than `device.clock`; but a process waits for its GPU
    clock = time.monotonic if device.current_device().type == "cuda" else time.process_time
    for _ in range(WARM_UP):
        work()
    device.synchronize()
    seconds: list[float] = []
    for _ in range(REPEATS):
        start = clock()
        work()
        device.synchronize()
        seconds.append(clock() - start)
    return min(seconds)


def _small_operations() -> Callable[[], object]:
    """Return work as the training of a tiny model has it: many small operations, some that stream
    through the cache, and a derivative."""
    import torch

    generator = torch.Generator().manual_seed(0)
    x = torch.randn((64, 256, 32), generator=generator).to(device.current_device())
    w = torch.randn((32, 32), generator=generator).to(device.current_device())
    w.requires_grad_()

    def work() -> None:
        for _ in range(8):
            torch.tanh(x @ w).square().mean().backward()
            for _ in range(60):
                w.detach().mul(0.5).add_(1)

    return work


def _products() -> Callable[[], object]:
    """Return PRODUCTS products of a [ROWS, WIDTH] with a [WIDTH, WIDTH] matrix."""
    import torch

    generator = torch.Generator().manual_seed(0)
    left = torch.randn((ROWS, WIDTH), generator=generator).to(device.current_device())
    right = torch.randn((WIDTH, WIDTH), generator=generator).to(device.current_device())
    result = torch.empty_like(left)

    def work() -> None:
        for _ in range(PRODUCTS):
            torch.mm(left, right, out=result)

    return work
