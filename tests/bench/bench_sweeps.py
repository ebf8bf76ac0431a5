"""What a sweep gains by making several runs as one program, and how the cost of a step grows; run
by hand:

    python tests/bench/bench_sweeps.py

Each job from its request to its run on the disk, by a worker in this process: training, evaluation,
metrics, files. One by one against several at once: 20, as many as a worker takes; 16 by one
process, and 8 by each of two. They take turns, after a run to warm up, and processor time is
compared, which waiting for a core does not lengthen. Then what a training step takes when a setting
doubles, the median of some steps of a run.
"""

import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).parents[2]))

from icl_core import registry
from icl_core.jobs import queue, worker
from icl_core.machine import device
from icl_core.runs import store
from icl_core.runs.request import Request
from tests.recorder import Interrupted, Recorder

Row = tuple[str, str, str]  # what, its ratio, and the numbers in words
SWEPT = {  # by experiment, the classroom preset's fields, the knob that is swept, its values
    "memformers.convergence": (
        {"spectrum": "geometric"},
        "condition",
        [2.0 * 1.3**index for index in range(20)],
    ),
    "gdssm.layer": ({}, "learning_rate", [0.004 * 1.2**index for index in range(20)]),
}
COMPANIES = {20: "one process", 16: "one process", 8: "each of two processes"}
LONE = 3  # runs one by one
ROUNDS = 2  # turns
DOUBLED = {  # by experiment, fields that others need, and the settings that double
    "birth.induction": ({}, {"d": (32, 64, 128), "T": (64, 128, 256), "batch": (32, 64, 128)}),
    "memformers.convergence": (
        {"spectrum": "geometric"},
        {"d": (5, 10, 20), "n": (10, 20, 40), "batch": (1000, 2000, 4000), "layers": (1, 2, 4)},
    ),
    "gdssm.layer": (
        {"recurrence": "scalar"},
        {"f": (5, 10, 20), "N": (10, 20, 40), "batch": (256, 512, 1024), "layers": (1, 2, 4)},
    ),
}
STEPS = 40
# a worker that has imported everything waits for a line; its arguments are the experiment, and of
# how many workers it is one
WORKER = """
import sys
from icl_core import registry
from icl_core.jobs import worker
from icl_core.machine import device
device.set_threads(1)
registry.experiment(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
worker.work(once=True, slots=int(sys.argv[2]))
"""


def rows() -> Iterator[Row]:
    """See the head of this file."""
    device.set_threads(1)
    for name in SWEPT:
        yield from throughput(name)
        yield from on_the_clock(name)
    for name, (fields, settings) in DOUBLED.items():
        for knob, values in settings.items():
            yield growth(name, fields, knob, values)


def throughput(name: str) -> Iterator[Row]:
    """Runs a minute of processor time, one by one and together."""
    times: dict[int, list[float]] = {1: [], **{count: [] for count in COMPANIES}}
    seconds_a_run(name, 1, LONE)
    for _ in range(ROUNDS):
        for company, seconds in times.items():
            seconds.append(seconds_a_run(name, company, max(company, LONE)))
    lone = statistics.median(times[1])
    for company, process in COMPANIES.items():
        joint = statistics.median(times[company])
        text = (
            f"{60 / lone:.0f} runs a minute one by one, {60 / joint:.0f} where {process} makes "
            f"{company} as one"
        )
        yield f"a sweep of {name}, {company} runs as one", f"{lone / joint:.1f}", text


def on_the_clock(name: str) -> Iterator[Row]:
    """Runs a minute that a visitor sees, of one worker and of two; their start is not counted."""
    fields, knob, values = SWEPT[name]
    base = replace(registry.experiment(name).presets[0].config, **fields)
    for count, processes in ((1, "one process"), (2, "two processes")):
        with _house(), ExitStack() as stack:
            for value in values:
                queue.submit(Request(name, replace(base, **{knob: value})), later=True)
            command = [sys.executable, "-c", WORKER, name, str(count)]
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
            workers = [
                stack.enter_context(subprocess.Popen(command, **pipes)) for _ in range(count)
            ]
            for process in workers:
                process.stdout.readline()
            start = time.perf_counter()
            for process in workers:  # both begin before either is waited for
                print(file=process.stdin, flush=True)
            for process in workers:
                process.wait()
            minutes = (time.perf_counter() - start) / 60
            done = sum(job.status == "done" for job in queue.states())
            remark = f"{done} of {len(values)} runs in {60 * minutes:.1f} s on the clock"
            yield f"a sweep of {name}, {processes}", f"{done / minutes:.0f} runs a minute", remark


def seconds_a_run(name: str, company: int, count: int) -> float:
    """Seconds of processor time a run, `count` of them, `company` at once."""
    fields, knob, values = SWEPT[name]
    base = replace(registry.experiment(name).presets[0].config, **fields)
    with _house():
        for value in values[:count]:
            queue.submit(Request(name, replace(base, **{knob: value})), later=True)
        start = time.process_time()
        done = 0
        with ExitStack() as stack:
            if company == 1:
                stack.enter_context(patch.object(worker, "_shape", lambda job: (None, 1)))
            while jobs := worker.work(once=True, slots=1):
                done += jobs
        assert done == count, f"{done} of {count} runs were made"
        return (time.process_time() - start) / count


@contextmanager
def _house() -> Iterator[None]:
    """A cache of its own, with nothing in it."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, patch.dict(os.environ):
        os.environ["ICL_CACHE_DIR"] = folder
        store.default.cache_clear()
        yield
        store.default().close()
        store.default.cache_clear()


class Timed(Recorder):
    """Notes the processor time at every step, and stops after some."""

    def __init__(self) -> None:
        super().__init__(stop=STEPS)
        self.times: list[float] = []

    def report(self, done, total, loss, live, state, preview=dict) -> None:
        self.times.append(time.process_time())
        super().report(done, total, loss, live, state, preview)


def step(name: str, **fields) -> float:
    """Milliseconds of a training step: those with an evaluation are the longer ones, and too few to
    count."""
    experiment = registry.experiment(name)
    progress = Timed()
    config = replace(experiment.presets[0].config, **{**fields, "steps": 10 * STEPS})
    with suppress(Interrupted):
        experiment.run(config, progress)
    seconds = [later - earlier for earlier, later in pairwise(progress.times)]
    return 1000 * statistics.median(seconds[5:])


def growth(name: str, fields: dict, knob: str, values: tuple[int, ...]) -> Row:
    """How the cost of a step grows with a setting: the exponent between the last two of
    its values."""
    times = [step(name, **{**fields, knob: value}) for value in values]
    exponent = math.log2(times[-1] / times[-2])
    in_words = ", ".join(f"{milliseconds:.2g}" for milliseconds in times)
    text = f"{in_words} ms at {knob} = {', '.join(map(str, values))}"
    return f"a step of {name} in {knob}", f"{knob}^{exponent:.1f}", text


if __name__ == "__main__":
    for what, ratio, text in rows():
        print(f"{what}: {ratio}; {text}", flush=True)
