"""Workers that are killed, at every stage and at any time, once or again and again."""

import os
import signal
import time

from tests.faults.audit import finish
from tests.faults.bed import ASKED, FINISHED, Bed, submit, work
from tests.faults.stages import STAGES, killed_in


def _killed(stage: str, bed: Bed) -> str:
    """One to three workers, one after the other, die in a stage."""
    bed.act(submit, ASKED[0])
    for _ in range(bed.chance.randint(1, 3)):
        bed.chance.random()  # each of another chance
        code = bed.begin(killed_in, stage, bed.chance).exit()
        assert code in (0, -signal.SIGALRM), code
    return finish(bed, ASKED[:1], FINISHED)


def _both(bed: Bed) -> str:
    """Two workers on three jobs die at any time."""
    for seed in ASKED:
        bed.act(submit, seed)
    workers = [bed.begin(work, 2) for _ in range(2)]
    for each in bed.chance.sample(workers, 2):
        time.sleep(bed.sleep(0.2))
        os.kill(each.pid, signal.SIGKILL)
    for each in workers:
        each.exit()
    return finish(bed, ASKED, FINISHED)


FAULTS = {
    **{f"worker killed: {stage}": lambda bed, stage=stage: _killed(stage, bed) for stage in STAGES},
    "both workers killed, at any time": _both,
}
