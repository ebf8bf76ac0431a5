"""What the server keeps of its visitors: resident memory a visitor, and after many reruns.

A visitor has a window on an experiment, its drawer open. Reruns are moves of a view knob, there and
back; a hundred, with `--all` a thousand. The worker that waits for trainings is a process of its
own, and is counted apart.
"""

import gc
import tracemalloc
from collections.abc import Iterator
from contextlib import ExitStack

import psutil
from streamlit.testing.v1 import AppTest

from tests.bench import timing
from tests.bench.bench_views import GRAFT, VIEW_KNOB
from tests.bench.dashboard import ROOT, browser, server, turn, window
from tests.bench.timing import Row

VISITORS = 5
LENGTHS = ("32", "64")  # values of T
# reruns
WARM_UP = 20
FEW = 100
MANY = 1000


def mebibytes(process: psutil.Process) -> float:
    return process.memory_info().rss / 2**20


def rows() -> Iterator[Row]:
    """See the head of this file."""
    with browser() as chromium, server() as (address, process), ExitStack() as windows:
        page, _ = windows.enter_context(window(chromium, f"{address}/{GRAFT}"))
        first = mebibytes(process)
        workers = sum(map(mebibytes, process.children(recursive=True)))
        remark = f"and {workers:.0f} MiB of the worker that waits"
        yield "the server with its first visitor", f"{first:.0f} MiB", remark
        with ExitStack() as more:
            for _ in range(VISITORS):
                more.enter_context(window(chromium, f"{address}/{GRAFT}"))
            mean = (mebibytes(process) - first) / VISITORS
            remark = f"the mean of {VISITORS} more, all at once"
            yield "server memory a visitor", f"{mean:.1f} MiB", remark
        for index in range(WARM_UP):
            turn(page, VIEW_KNOB, key(index))
        before = mebibytes(process)
        count = MANY if timing.thorough else FEW
        for index in range(count):
            turn(page, VIEW_KNOB, key(index))
        after = mebibytes(process)
        remark = f"{before:.0f} before, {after:.0f} after; {WARM_UP} reruns to warm up"
        yield f"server memory after {count:,} reruns", f"{after - before:+.1f} MiB", remark
    yield from heap()


def key(index: int) -> str:
    """There and back."""
    return ("ArrowLeft", "ArrowRight")[index % 2]


def heap() -> Iterator[Row]:
    """What Python itself keeps after many reruns: the page drawn in this process, every allocation
    counted; a knob goes to and fro between two runs of the atlas."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=300)
    app.switch_page("pages/birth.py")
    app.query_params["at_once"] = "false"
    app.run()

    def move(times: int) -> None:
        for index in range(times):
            app.query_params["T"] = LENGTHS[index % 2]
            app.run()

    move(WARM_UP)
    count = MANY if timing.thorough else FEW
    tracemalloc.start()
    sizes = []
    for _ in range(3):  # after the first, what every rerun renews is there
        move(count // 2)
        gc.collect()
        sizes.append(tracemalloc.get_traced_memory()[0] / 2**20)
    tracemalloc.stop()
    remark = f"after each {count // 2}: {', '.join(f'{size:.2f}' for size in sizes)} MiB"
    yield f"Python's heap over {count:,} reruns", f"{sizes[-1] - sizes[0]:+.2f} MiB", remark
