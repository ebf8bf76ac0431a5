"""Start workers, each in a process of its own, for the jobs that wait. Called by pages and the
command line at every look at a job, and by workers."""

import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread

from icl_core.contract.knobs import BadSetting
from icl_core.jobs import folder, queue, starts, table
from icl_core.jobs.folder import Job, has_room, hold_lock, jobs_folder
from icl_core.jobs.table import WAITING, Environment, JobState
from icl_core.machine import device, folders, limits
from icl_core.runs import code, database
from icl_core.runs.disk import private_folder

_LONGEST_LOG = 2**20  # bytes
_WORTH = 5.0  # seconds that a run must still take for another worker to be started for it
# glibc gives large tensors back and asks for fresh pages at every step: a step of Mamba on 256 × 3
# prompts of 21 tokens took 410 ms, and 130 ms where freed memory is kept. Other systems do not read
# these.
_REUSED = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**40)}
# oneDNN keeps a product's program and its scratch memory for each shape, 1,024 of them. Batches
# whose number of counted positions changes at every step made a worker of birth.dimension 20 GB
# large; with 64 steps are as fast.
_FEW_SHAPES = {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "64", "LRU_CACHE_CAPACITY": "64"}


def ensure_workers(count: int | None = None) -> int:
    """Start workers for the jobs that wait, up to `count` at once (by default as many as the device
    serves); with a scheduler, the one process that hands the jobs to it.

    Each has the environment variables of the request that it is started for. Jobs that wait fail
    if workers were started several times and none came up. Returns the number started: none if none
    could write a file, or for jobs that may not be taken now. Cheap enough to be called at every
    look at a job. Raises `BadSetting` for a count below 1, and `OSError` if the database cannot be
    written.
    """
    check_count(count)
    if limits.read_only():
        return 0
    states = queue.states()
    starts.obstacles[jobs_folder()] = ""
    if not _wanted_environments(states) or not os.access(jobs_folder(), os.W_OK):
        return 0
    count = _slots(count)
    with database.transaction():
        tries = starts.look()
        taken = list(filter(_is_taken, range(count)))
        environments = _unmet_environments(states, taken)
        if environments and len(taken) == count:
            starts.obstacles[jobs_folder()] = _other_code(taken)
        started = min(count - len(taken), len(environments)) - tries.coming
        if started < 1 or tries.must_pause() or not has_room():
            return 0
        # of those that come nobody knows yet for which job
        environments = environments[tries.coming :][:started]
        if problem := starts.failure(tries):
            _fail_waiting(states, environments, problem)
            return 0
        _start_workers(count, environments)
    return len(environments)


def _wanted_environments(states: Sequence[JobState]) -> list[Environment]:
    """Return the variables of each worker that could begin a training now, in the order of the
    queue, of those that this process can start."""
    environments = [state.environment for state in states if queue.is_ready(state)]
    for state in states:
        environments += _spare_trainings(state) * [state.environment]
    return list(filter(table.can_start_worker, environments))


def _unmet_environments(states: Sequence[JobState], taken: Sequence[int]) -> list[Environment]:
    """Return the variables that are wanted without those of idle workers, who hold one of the
    `taken` slots and will see the jobs by themselves. A worker that has not said yet who it is
    counts as one that this process has started."""
    training = {state.pid for state in states if state.status == "running"}
    unmet = _wanted_environments(states)
    for slot in taken:
        pid, variables = starts.holder(slot) or (0, table.current_environment())
        if pid not in training and variables in unmet:
            unmet.remove(variables)
    return unmet


def _other_code(taken: Sequence[int]) -> str:
    """Return in words whose code holds the `taken` slots; "" if one of them has the code here."""
    own = table.current_environment()
    holders = [starts.holder(slot) or (0, own) for slot in taken]
    if any(table.is_for_code_here({table.CODE: "", **holder}) for _, holder in holders):
        return ""
    workers = [
        f"process {pid}, a worker of {code.described(holder.get(table.CODE, ''))}"
        for pid, holder in holders
    ]
    return (
        f"it is for {code.described(own[table.CODE])}, and every place for a training is held by "
        f"{' and by '.join(workers)}: it begins once one of these ends"
    )


def _fail_waiting(
    states: Sequence[JobState], environments: Sequence[Environment], problem: str
) -> None:
    """Write into the jobs that wait for workers with these variables why nobody trains them."""
    for state in filter(queue.is_ready, states):
        if state.environment not in environments:
            continue
        job = Job(state.key)
        with hold_lock(job.folder / "lock") as has_lease:
            if has_lease and job.state()["status"] in (*WAITING, "running"):
                kept = job.checkpoint.exists()
                job.write_state(status="failed", message=problem, kept=kept)


def warm() -> None:
    """Start a worker that imports everything and waits for the requests of this process, unless
    there is a worker already or nothing can be written."""
    if limits.read_only():
        return
    count = _slots()
    # if it cannot be done now, a worker is started for the first request
    with suppress(OSError), database.transaction():
        private_folder(jobs_folder())
        if not os.access(jobs_folder(), os.W_OK) or not has_room():
            return
        if not any(map(_is_taken, range(count))):
            _start_workers(count, [table.current_environment()], "--server", str(os.getpid()))


def trainings(count: int | None = None) -> int:
    """Return how many trainings can run at once: `count`, or as many as there are workers for."""
    if folder.scheduler():
        return max(1, folder.read_cluster_status().workers)
    return _slots(count)


def where() -> str:
    """Return in words where trainings are done."""
    return "on the cluster" if folder.scheduler() else "on this machine"


def _slots(count: int | None = None) -> int:
    if folder.scheduler():
        return 1
    return count or device.workers()


def check_count(count: int | None) -> None:
    """Raise `BadSetting` for a number of workers that would never train anything."""
    if count is not None and (not isinstance(count, int) or count < 1):
        raise BadSetting(f"the number of workers must be at least 1, got {count!r:.80}")


def _spare_trainings(state: JobState) -> int:
    """Return how many more workers a running job can use: none if it ends before they could
    begin."""
    if state.status != "running" or (state.seconds_left or 0) <= _WORTH:
        return 0
    return state.spare


def slot_lock(slot: int) -> Path:
    """Return the lock that a worker holds as long as it lives. The worker in slot n trains on the
    n-th GPU, if there are several."""
    if folder.scheduler():
        return folder.scheduler_lock()
    return jobs_folder() / f"slot-{slot}.lock"


def _is_taken(slot: int) -> bool:
    with hold_lock(slot_lock(slot)) as has_lease:
        return not has_lease


def are_all_taken(slots: int) -> bool:
    """Return whether each of the slots has its worker."""
    return all(map(_is_taken, range(slots)))


def _start_workers(count: int, environments: Sequence[Environment], *options: str) -> None:
    """Start a worker with each of these variables, and note it."""
    pids: list[int] = []
    problem = ""
    try:
        for variables in environments:
            pids.append(_start_worker(count, variables, *options))
    except OSError as error:  # no process can be started, say
        problem = str(error)
    starts.note_start(pids, problem)


def _start_worker(count: int, variables: Environment, *options: str) -> int:
    """Start a worker in one of `count` slots with these of the variables `environment.NAMES` and
    all others of this process; return its pid."""
    log = starts.log_path()
    is_new = not log.exists() or log.stat().st_size > _LONGEST_LOG
    log.touch(mode=0o600)
    # an installed icl_core is found without help; its folder must not come before Python's own
    repository = None if folders.is_installed() else str(folders.LIBRARY)
    python_path = os.pathsep.join(filter(None, [repository, os.environ.get("PYTHONPATH")]))
    others = {name: os.environ[name] for name in os.environ if name not in table.ENVIRONMENT_NAMES}
    variables = {name: value for name, value in variables.items() if name != table.CODE}
    with log.open("wb" if is_new else "ab") as output:
        process = subprocess.Popen(
            # -P: a numpy.py in the folder that one stands in must not be imported
            [sys.executable, "-P", "-m", "icl_core", "work", "--slots", str(count), *options],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C at the server must not reach it
            env={**_REUSED, **_FEW_SHAPES, **others, **variables, "PYTHONPATH": python_path},
        )
    Thread(target=process.wait, daemon=True).start()  # it may outlive this process: no warning
    return process.pid
