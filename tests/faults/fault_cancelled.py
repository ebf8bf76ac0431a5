"""Jobs that are cancelled at every stage, or left, or asked for again at the same moment."""

from icl_core.jobs import queue
from icl_core.jobs.table import CANCELLED, LEFT
from icl_core.runs import store
from tests.faults.audit import finish
from tests.faults.bed import ASKED, FINISHED, Bed, Wrong, key, submit
from tests.faults.stages import STAGES, Halted
from tests.house import TOY


def _cancelled(bed: Bed) -> str:
    """Given up means that there is no run of it, and too late that there is one."""
    bed.act(submit, ASKED[0])
    stage = bed.chance.choice(list(STAGES))
    worker = Halted(bed, stage)
    how = bed.chance.choice([CANCELLED, LEFT])
    bed.act(queue.cancel, key(ASKED[0]), how)
    again = bed.chance.random() < 0.3
    if again:
        bed.act(submit, ASKED[0])
    worker.go_on()
    worker.end()
    status, has_run = bed.act(_status_and_run)
    possible = [("queued", False), ("done", True), *([] if again else [(CANCELLED, False)])]
    if (status, has_run) not in possible:
        where = "there" if has_run else "away"
        raise Wrong(f"after {how} at {stage} the job is {status} and its run {where}")
    return finish(bed, ASKED[:1], FINISHED)


def _status_and_run() -> tuple[str, bool]:
    job = queue.state(key(ASKED[0]))
    return job.status if job else "", store.default().exact(TOY, key(ASKED[0])) is not None


FAULTS = {"cancelled at any stage": _cancelled}
