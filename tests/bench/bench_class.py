"""A class on one server: what 30 visitors wait for who move sliders for two minutes while two
trainings run.

Each is a window of its own on a paper's main experiment, moves one slider of its atlas to another
position of the grid, reads until the answer is complete, and thinks two to six seconds. The
trainings are two long ones, on the same cores. What the browsers of the class take to draw is not
in it.
"""

import asyncio
import os
import random
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import psutil

from icl_core import registry
from tests.bench import timing
from tests.bench.dashboard import ROOT, server
from tests.bench.timing import Row, in_words
from tests.bench.visitors import THINKS, Visit, visitor

VISITORS = 30
SECONDS = 120.0
FEW = 30.0  # without `--all` it takes half a minute
OPENED = ("birth.induction", "memformers.methods", "gdssm.layer")
# of the first of them: runs that nobody has
LONG = "fastest, paper size"
TRAINED = ("seed=90", "seed=91")


def visit(experiment_id: str) -> Visit:
    """An experiment of a paper, by itself, with the numbers of its atlas."""
    experiment = registry.experiment(experiment_id)
    paper, _, name = experiment_id.partition(".")
    assert experiment.atlas is not None, f"{experiment_id} has no atlas"
    axes = dict(axis.split("=") for axis in experiment.atlas.grids[0][1])
    grid = {field: values.split(",") for field, values in axes.items() if values[0].isdigit()}
    return Visit(paper, f"experiment={name}&at_once=false", grid)


@contextmanager
def training(process: psutil.Process) -> Iterator[None]:
    """Two trainings in the cache of the server. Raises `RuntimeError` if one of them
    does not last."""
    command = [sys.executable, "-m", "icl_core", "run", OPENED[0], "--preset", LONG, "--set"]
    environment = {**os.environ, "ICL_CACHE_DIR": process.environ()["ICL_CACHE_DIR"]}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    trainers = [
        subprocess.Popen([*command, field], cwd=ROOT, env=environment, **quiet) for field in TRAINED
    ]
    try:
        yield
        if any(trainer.poll() is not None for trainer in trainers):
            raise RuntimeError("a training must last as long as the class, got one that had ended")
    finally:
        for trainer in trainers:
            trainer.terminate()
            trainer.wait(60)


async def visited(address: str, seconds: float) -> list[float]:
    """How long every answer took that the class got."""
    rng = random.Random(0)
    begin = asyncio.Barrier(VISITORS)
    visits = [visit(OPENED[index % len(OPENED)]) for index in range(VISITORS)]
    visitors = [
        visitor(address, visit, random.Random(rng.random()), begin, seconds) for visit in visits
    ]
    return [wait for waits in await asyncio.gather(*visitors) for wait in waits]


def rows() -> Iterator[Row]:
    """See the head of this file."""
    with ExitStack() as stack:
        address, process = stack.enter_context(server())
        stack.enter_context(training(process))
        waits = sorted(asyncio.run(visited(address, SECONDS if timing.thorough else FEW)))
        remark = (
            f"{len(waits)} moves of {VISITORS} visitors, one each {THINKS[0]:.0f} to "
            f"{THINKS[1]:.0f} s, two trainings"
        )
        what = "a class: a slider to its answer"
        yield f"{what}, median", in_words(statistics.median(waits)), remark
        late = in_words(waits[int(0.99 * (len(waits) - 1))])
        yield f"{what}, 99th percentile", late, f"the slowest {in_words(waits[-1])}"
