"""The cache becomes read-only, another user's, or is removed, while a worker is at any stage; then
it is as before."""

import os
import shutil
from collections.abc import Callable
from contextlib import suppress

from tests.faults.audit import check, finish
from tests.faults.bed import ASKED, FINISHED, NOBODY, Bed, NotHere, key, submit
from tests.faults.stages import STAGES, Halted


def _denied(hinder: Callable[[Bed], None], bed: Bed) -> str:
    """A worker meets it, and so does who looks and asks."""
    _unprivileged(bed)
    bed.act(submit, ASKED[0])
    worker = Halted(bed, bed.chance.choice(list(STAGES)))
    looks = bed.chance.random() < 0.5
    hinder(bed)
    worker.go_on()
    worker.end()
    if os.access(bed.cache, os.R_OK) and looks:
        readable = os.stat(bed.cache).st_mode & 0o005
        check(bed, FINISHED if readable else ())
    with suppress(OSError):
        bed.begin(_asks, ASKED[1]).result()
    _as_before(bed)
    return finish(bed, ASKED[:2], FINISHED)


def _asks(seed: int) -> None:
    with suppress(OSError):  # the visitor is told of it
        submit(seed)


def _unprivileged(bed: Bed) -> None:
    """Root may write everywhere: so another user does the work."""
    if os.getuid() == 0:
        bed.give_to(NOBODY)


def _read_only(bed: Bed) -> None:
    for path in (bed.cache, *bed.cache.rglob("*")):
        with suppress(FileNotFoundError):
            os.chmod(path, 0o555 if path.is_dir() else 0o444)


def _anothers(bed: Bed) -> None:
    """For its owner alone, or so that all may read."""
    if os.getuid():
        raise NotHere("needs root")
    mode = bed.chance.choice([(0o700, 0o600), (0o755, 0o644)])
    for path in (bed.cache, *bed.cache.rglob("*")):
        with suppress(FileNotFoundError):
            os.chown(path, 0, 0)
            os.chmod(path, mode[not path.is_dir()])


def _as_before(bed: Bed) -> None:
    for path in (bed.cache, *bed.cache.rglob("*")):
        with suppress(FileNotFoundError):
            os.chown(path, bed.user, bed.user)
            os.chmod(path, 0o700 if path.is_dir() else 0o600)


def _removed(bed: Bed) -> str:
    """All of it or a part, under a worker's hands. What was removed is gone; nothing else is, and
    all can be made."""
    bed.act(submit, ASKED[0])
    worker = Halted(bed, bed.chance.choice(list(STAGES)))
    job = f"jobs/{key(ASKED[0])}"
    parts = ["", "runs", "runs/cache.db", "jobs", job, f"{job}/lock", "queue.db"]
    part = bed.chance.choice(parts)
    path = bed.cache / part
    shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
    worker.go_on()
    left = () if part in ("", "runs") else FINISHED
    if bed.chance.random() < 0.5:
        check(bed, left)  # while the worker is at it
    worker.end()
    return finish(bed, ASKED[:1], left)


FAULTS = {
    "cache read-only": lambda bed: _denied(_read_only, bed),
    "cache of another user": lambda bed: _denied(_anothers, bed),
    "cache, or a part of it, removed in use": _removed,
}
