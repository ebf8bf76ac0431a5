"""Waits for jobs in a terminal, with a progress bar on stderr."""

import math
import os
import sys
import time
from typing import Any

from tqdm import tqdm

from icl_core.jobs import queue, scheduler_address, spawn
from icl_core.jobs.folder import write_problem
from icl_core.jobs.reading import CANCELLED, WAITING
from icl_core.runs import store
from icl_core.runs.store import Header

_PAUSE = 0.2  # seconds between looks


class Failed(Exception):
    """The training did not come to its end; the message says why."""


def train_or_load(experiment_id: str, config: Any) -> Header:
    """The run of `config`, trained if need be with a progress bar on stderr. Raises `Failed`;
    Ctrl-C cancels."""
    header = store.default().find(experiment_id, config)
    if header is None:
        try:
            key = queue.submit(experiment_id, config)
        except OSError as problem:
            raise Failed(f"the training cannot start: {write_problem(problem)}") from problem
        try:
            _watch(key, experiment_id)
        except KeyboardInterrupt:
            ended = queue.cancel(key, visitor="")
            print(
                "cancelled" if ended else "it goes on for others who asked for it", file=sys.stderr
            )
            raise
        header = store.default().find(experiment_id, config)
    if header is None:
        raise Failed(
            "\n".join(store.default().messages())
            or "the run was made but is no longer in the cache"
        )
    return header


def _watch(key: str, experiment_id: str) -> None:
    said: set[str] = set()
    with tqdm(
        desc=experiment_id, unit="step", file=sys.stderr, disable=None
    ) as bar:  # None: no bar into a file
        while (known := queue.state(key)) is not None and not known.ended:
            spawn.ensure_workers()
            queue.watch(key, f"terminal-{os.getpid()}")
            print_obstacle([known], said)
            bar.total = known.total or None
            loss = known.status if math.isnan(known.loss) else f"loss {known.loss:.4g}"
            bar.set_postfix_str(loss, refresh=False)
            bar.update(max(0, known.step - bar.n))
            bar.refresh()
            time.sleep(_PAUSE)
    if known is not None and known.status != "done":
        ended = "was cancelled" if known.status in CANCELLED else "failed: "
        raise Failed(f"the training {ended}{known.message}")


def print_obstacle(known: list[queue.JobState], said: set[str]) -> None:
    """Say what keeps a job waiting, a full disk for one, or a machine from training it, unless it
    is among `said`. Also where no bar is drawn."""
    waits = {state.message for state in known if state.status in WAITING and state.message}
    for message in sorted({*waits, *scheduler_address.read_status().refused} - said):
        tqdm.write(message, file=sys.stderr)
        said.add(message)


def watch_all(keys: list[str], workers: int | None) -> None:
    """Wait until all jobs have ended, `workers` at a time, with a progress bar that counts runs.

    Raises `ValueError` for less than one worker.
    """
    spawn.check_count(workers)
    said: set[str] = set()
    with tqdm(total=len(keys), unit="run", file=sys.stderr, disable=None if keys else True) as bar:
        while True:
            known = [state for key in keys if (state := queue.state(key)) is not None]
            ended = sum(state.ended for state in known)
            running = [state for state in known if state.status == "running"]
            print_obstacle(known, said)
            words = (
                f"{state.experiment} {state.step / max(state.total, 1):.0%}" for state in running
            )
            bar.set_postfix_str(", ".join(words), refresh=False)
            bar.update(ended - bar.n)
            bar.refresh()
            if ended == len(known):
                return
            spawn.ensure_workers(workers)
            time.sleep(5 * _PAUSE)  # runs take minutes, and looking costs the trainings time
