"""Workers that are killed, at every stage and at any time, once or again and again."""

import os
import signal
import time

from tests.faults.audit import finish
from tests.faults.bed import ASKED, FINISHED, Bed, Wrong, submit, work
from tests.faults.stages import GROUPS, killed_in


def _killed(stages: tuple[str, ...], bed: Bed) -> str:
    """One to three workers, one after the other, die in a stage."""
    bed.act(submit, ASKED[0])
    for _ in range(bed.chance.randint(1, 3)):
        stage = bed.chance.choice(stages)
        code = bed.begin(killed_in, stage, bed.chance).exit()
        if code not in (0, -signal.SIGALRM):
            raise Wrong(f"a worker that was to be killed ended with exit code {code}")
    return finish(bed, ASKED[:1], FINISHED)


def _both(bed: Bed) -> str:
    """Two workers on three jobs die at any time."""
    for seed in ASKED:
        bed.act(submit, seed)
    workers = [bed.begin(work, 2) for _ in range(2)]
    for worker in bed.chance.sample(workers, 2):
        time.sleep(bed.sleep(0.2))
        os.kill(worker.pid, signal.SIGKILL)
    for worker in workers:
        worker.exit()
    return finish(bed, ASKED, FINISHED)


FAULTS = {
    f"worker killed, {name}": lambda bed, stages=stages: _killed(stages, bed)
    for name, stages in GROUPS.items()
}
FAULTS["both workers killed"] = _both
