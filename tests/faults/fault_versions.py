"""Two servers of different code, four commands and a page at once on one cache: everybody gets what
their own code computes, and nobody waits without a sentence."""

import multiprocessing
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from types import SimpleNamespace
from typing import Any

from icl_core import registry
from icl_core.jobs import queue, spawn, starts, terminal, worker
from icl_core.jobs.queue import JobState
from icl_core.jobs.table import Environment
from icl_core.machine import device
from icl_core.runs import code, store
from icl_core.runs.header import Header
from icl_core.runs.request import Request
from icl_core.verification import verify
from pages.ui.controls import training
from tests.faults.audit import SURVIVED, check
from tests.faults.bed import FINISHED, TOY, Bed, Wrong, settings
from tests.faults.fault_server import free_port, serve, visit, wait_for

SILENCE = 20.0  # seconds in which a job may wait while nothing is told of it
HERE = (2, 3, 4)  # seeds that the code here is asked for
ELSEWHERE = (5, 6, 7)  # and the other code, if its runs have the same keys
_OTHER = "9.9.9+0123456789ab"
_CONTEXT = multiprocessing.get_context("fork")


class Starter:
    """Starts the workers of one code: a process that only forks, as servers have threads."""

    def __init__(self) -> None:
        self._lock = _CONTEXT.Lock()
        self._requests: Any = _CONTEXT.SimpleQueue()
        self._pids: Any = _CONTEXT.SimpleQueue()

    def start(self, count: int, environments: Sequence[Environment], *options: str) -> None:
        """Have workers started, as `spawn._start_workers` does."""
        pids = []
        for _ in environments:
            with self._lock:
                self._requests.put((count, int(options[-1]) if options else None))
                pids.append(self._pids.get())
        starts.note_start(pids)

    def live(self) -> None:
        """Fork workers until it is told to end."""
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        for count, server in iter(self._requests.get, None):
            pid = os.fork()
            if not pid:
                try:
                    worker.work(slots=count, server=server)
                except BaseException:
                    traceback.print_exc()
                sys.stdout.flush()
                os._exit(0)
            self._pids.put(pid)

    def end(self) -> None:
        """Have the process end."""
        self._requests.put(None)


class Code:
    """The code here, or another one that computes other numbers, as the experiment's `version`."""

    def __init__(self, version: int, slots: int) -> None:
        self.version = version
        self.slots = slots
        self.starter = Starter()

    def act(self, act: Callable[..., Any], *arguments: Any) -> Any:
        """Do something as a process of this code."""
        worker.IDLE = 0.2
        device.workers = lambda: self.slots
        registry.experiment_ids = lambda: [TOY]
        spawn._start_workers = self.starter.start
        if self.version:
            code.name = lambda: _OTHER
            code.place = lambda: "elsewhere"
            code.identity = lambda: f"{_OTHER}@elsewhere"
            registry.papers()["toy"].experiments["walk"] = self.version
            train: Any = import_module("icl_core.papers.toy.walk.train")
            teachers = train._teachers
            train._teachers = lambda config: teachers(
                SimpleNamespace(d=config.d, seeds=config.seeds, seed=config.seed + 20_000)
            )
        return act(*arguments)


def _mixed(version: int, bed: Bed) -> str:
    """The other code has this version of the experiment; the code here has version 1."""
    slots = bed.chance.choice([1, 2])
    codes = [(Code(0, slots), HERE), (Code(version, slots), HERE if version > 1 else ELSEWHERE)]
    bed.chance.shuffle(codes)
    starters = [bed.begin(each.act, each.starter.live) for each, _ in codes]
    ports = [free_port() for _ in codes]
    servers = []
    for (each, _), port in zip(codes, ports, strict=True):
        servers.append(bed.begin(each.act, _server, port))
        time.sleep(bed.sleep(0.5))
    commands = []
    for _ in range(2):
        for each, seeds in codes:
            commands.append(bed.begin(each.act, _command, bed.chance.choice(seeds)))
            time.sleep(bed.sleep(0.2))
    (each, seeds), port = bed.chance.choice(list(zip(codes, ports, strict=True)))
    wait_for(port)
    seed = bed.chance.choice(seeds)
    visitor = bed.begin(visit, port, seed)
    commands.append(bed.begin(each.act, _page, seed))
    for command in commands:
        command.result()
    for server in servers:
        server.kill()
        server.exit()
    visitor.result()
    for (each, _), starter in zip(codes, starters, strict=True):
        each.starter.end()
        starter.exit()
    if version > 1:
        check(bed, FINISHED)
    return SURVIVED


def _server(port: int) -> None:
    """A server, whose worker waits for its pages' requests."""
    spawn.warm()
    serve(port)


def _command(seed: int) -> None:
    """A command that asks for a run and waits."""
    listener = Listener()
    terminal.print_obstacle = lambda states, printed: listener.hear(states[0])
    _check(terminal.train_or_load(Request(TOY, settings(seed))))


def _page(seed: int) -> None:
    """What the page of a run in training does, at every look of its browser."""
    listener = Listener()
    request = Request(TOY, settings(seed))
    queue.submit(request, visitor="visitor")
    while (state := queue.state(request.key)) is not None and not state.ended:
        queue.watch(request.key, "window")
        spawn.ensure_workers()
        listener.hear(state)
        time.sleep(0.05)
    header = store.default().exact(TOY, request.key)
    if header is None:
        raise Wrong(f"the page has no run: {state}")
    _check(header)


class Listener:
    """Notes what is told of one job, and raises `Wrong` if that is nothing for long."""

    def __init__(self) -> None:
        self._told = time.monotonic()

    def hear(self, state: JobState) -> None:
        """Note what is told now."""
        if training.describe(state) != "Starting":
            self._told = time.monotonic()
        if time.monotonic() > self._told + SILENCE:
            raise Wrong(f"nothing is told of a job that waits: {state}")


def _check(header: Header) -> None:
    """Raise `Wrong` unless a run is what this process's code computes."""
    if header.info.get("code") != code.name():
        raise Wrong(f"{code.name()} got a run of {header.info.get('code')}")
    anew = verify.train_anew(header, store.default(), float("inf"), lambda done, total: None)
    if not anew.is_same:
        raise Wrong(f"{code.name()} got other numbers than it computes")


FAULTS = {
    "two servers of two versions on one cache": partial(_mixed, 2),
    "two servers of two checkouts on one cache": partial(_mixed, 1),
}
