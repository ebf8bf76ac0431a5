"""What the server keeps of its visitors: resident memory a visitor, and after many reruns.

A visitor has a window on an experiment, its drawer open. Reruns are moves of a view knob, there and back; a hundred,
with `--all` a thousand. The worker that waits for trainings is a process of its own, and is counted apart.
"""

from collections.abc import Iterator
from contextlib import ExitStack

import psutil

from tests.bench import timing
from tests.bench.bench_views import GRAFT, VIEW_KNOB
from tests.bench.dashboard import browser, server, turn, window
from tests.bench.timing import Row

VISITORS = 5
WARM_UP, FEW, MANY = 20, 100, 1000  # reruns


def mebibytes(process: psutil.Process) -> float:
    return process.memory_info().rss / 2**20


def rows() -> Iterator[Row]:
    """See the head of this file."""
    with browser() as chromium, server() as (address, process), ExitStack() as windows:
        page, _ = windows.enter_context(window(chromium, f"{address}/{GRAFT}"))
        first = mebibytes(process)
        workers = sum(map(mebibytes, process.children(recursive=True)))
        yield "the server with its first visitor", f"{first:.0f} MiB", f"and {workers:.0f} MiB of the worker that waits"
        with ExitStack() as more:
            for _ in range(VISITORS):
                more.enter_context(window(chromium, f"{address}/{GRAFT}"))
            each = (mebibytes(process) - first) / VISITORS
            yield "server memory a visitor", f"{each:.1f} MiB", f"the mean of {VISITORS} more, all at once"
        for index in range(WARM_UP):
            turn(page, VIEW_KNOB, key(index))
        before, count = mebibytes(process), MANY if timing.thorough else FEW
        for index in range(count):
            turn(page, VIEW_KNOB, key(index))
        after = mebibytes(process)
        remark = f"{before:.0f} before, {after:.0f} after; {WARM_UP} reruns to warm up"
        yield f"server memory after {count:,} reruns", f"{after - before:+.1f} MiB", remark


def key(index: int) -> str:
    """There and back."""
    return ("ArrowLeft", "ArrowRight")[index % 2]
