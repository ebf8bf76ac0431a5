"""The clock is set back, or forward: all that is on the disk is then of the future, or of long ago.

No process may set the clock of a machine that others use: so times on the disk are set, which is
the same for whoever reads them, and a worker at work is told another time from a random stage on.
"""

import json
import os
import sqlite3
import time
from contextlib import closing

from tests.faults.audit import finish
from tests.faults.bed import ASKED, FINISHED, Bed, submit, work
from tests.faults.stages import STAGES, Halted, upon

SPANS = (60.0, 3600.0, 86400.0, 40 * 365 * 86400.0)


def _set(direction: int, bed: Bed) -> str:
    shift = direction * bed.chance.choice(SPANS) * bed.chance.random()
    for seed in ASKED[:2]:
        bed.act(submit, seed)
    if bed.chance.random() < 0.5:
        worker = Halted(bed, bed.chance.choice(list(STAGES)))
        worker.kill()
        _move_the_disk(bed, -shift)
    else:
        bed.begin(_works_on, bed.chance.choice(list(STAGES)), bed, shift).result()
    return finish(bed, ASKED, FINISHED)


def _works_on(stage: str, bed: Bed, shift: float) -> int:
    upon(stage, bed.chance, lambda: _tell_the_time(shift))
    return work()


def _tell_the_time(shift: float) -> None:
    now = time.time
    now_ns = time.time_ns
    time.time = lambda: now() + shift
    time.time_ns = lambda: now_ns() + int(shift * 1e9)


def _move_the_disk(bed: Bed, shift: float) -> None:
    """As if everything had been written by a clock that was so many seconds ahead."""
    with closing(sqlite3.connect(bed.cache / "queue.db")) as queue, queue:
        queue.execute("UPDATE jobs SET asked = asked + ?", [int(shift * 1e9)])
        queue.execute("UPDATE jobs SET changed = changed + ?", [shift])
        queue.execute("UPDATE watchers SET seen = seen + ?", [shift])
        queue.execute("UPDATE owners SET added = added + ?", [shift])
        for key, text in queue.execute("SELECT key, progress FROM jobs").fetchall():
            progress = json.loads(text or "{}")
            for name in ("retry_at", "born"):
                if progress.get(name):
                    progress[name] += shift
            values = [json.dumps(progress), key]
            queue.execute("UPDATE jobs SET progress = ? WHERE key = ?", values)
    for path in bed.cache.rglob("*"):
        if path.suffix == ".json":
            fields = json.loads(path.read_text())
            if fields.get("born"):
                fields["born"] += shift
            path.write_text(json.dumps(fields))
        at = max(0.0, path.stat().st_mtime + shift)
        os.utime(path, (at, at))


FAULTS = {
    "clock set back": lambda bed: _set(-1, bed),
    "clock set forward": lambda bed: _set(1, bed),
}
