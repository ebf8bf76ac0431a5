"""What the workers of this machine use together: a job waits until its memory, as estimated, fits
beside the others'.

Nobody overtakes one that waits for this: it would wait for ever. On GPUs each worker has its own.
"""

from typing import Any

from icl_core import registry
from icl_core.contract.settings_io import from_stored
from icl_core.jobs import queue
from icl_core.jobs.folder import Job, hold_lock
from icl_core.jobs.reading import WAITING

WAITS = "it needs more memory than is left beside what is in training"


def fits(key: str) -> bool:
    """Whether this machine has room for one more training of the job. For the first of all there
    is: a setting that is larger than the machine is refused when it is made."""
    from icl_core.machine import device  # imports torch

    if device.current_device().type != "cpu":
        return True
    used = sum(
        needed(Job(known.key)) * _trainings(Job(known.key))
        for known in queue.states()
        if _in_hand(known, key)
    )
    return not used or used + needed(Job(key)) <= device.memory()


def say_that_it_waits(known: queue.JobState) -> None:
    """Have the page say why a job waits though a worker is free. Raises `OSError`. Within the
    queue's lock: since `known` was seen, it may have been cancelled or begun."""
    job = Job(known.key)
    told = job.state()
    if told["status"] == "queued" and told.get("message") != WAITS and not job.locked():
        job.tell(status="queued", message=WAITS)


def needed(job: Job) -> int:
    """Estimated bytes of one of its trainings; 0 for a job that cannot be trained, which says so
    when it is."""
    from icl_core.machine import device  # imports torch

    request: dict[str, Any] = job.request() or {}
    try:
        config = registry.experiment(request["experiment"]).config
        return device.estimated(lambda: from_stored(config, request["config"]))
    except (KeyError, ValueError, TypeError):
        return 0


def _in_hand(known: queue.JobState, key: str) -> bool:
    """Whether a worker has it, other than the job `key` that is about to be taken; it may not have
    said so yet."""
    if known.status in WAITING:
        return (
            known.key != key
            and (Job(known.key).folder / "lock").exists()
            and Job(known.key).locked()
        )
    return not known.ended


def _trainings(job: Job) -> int:
    """How many of its trainings are in workers' hands: its own worker has one."""
    return max(1, sum(map(_is_held, job.phases.glob("*.lock"))))


def _is_held(lock: Any) -> bool:
    with hold_lock(lock) as mine:
        return not mine
