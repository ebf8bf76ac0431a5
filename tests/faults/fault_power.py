"""A power cut: what was not synced to the disk is gone. The disk is a real one, ext4 in a file:
what has come to that file when its worker dies is all that the next one finds, after the journal
was replayed."""

import shutil
import time

from icl_core.runs import store
from tests.faults import mounts
from tests.faults.audit import finish
from tests.faults.bed import ASKED, FINISHED, Bed, key, submit, work
from tests.faults.stages import STAGES, Halted
from tests.house import TOY


def _cut(bed: Bed) -> str:
    place = bed.folder / "disk"
    image = mounts.formatted(bed.folder / "image")
    mounts.plugged(image, place)
    bed.lay(place / "cache", bed.cache)
    mounts.synced(place)
    bed.act(submit, ASKED[0])  # whoever was told that it is asked for may rely on it
    if bed.chance.random() < 0.5:
        Halted(bed, bed.chance.choice(list(STAGES))).kill()
    else:
        worker = bed.begin(work)
        time.sleep(bed.sleep(0.3))
        worker.kill()
        worker.exit()
    left = bed.act(_there)
    shutil.copyfile(image, bed.folder / "after")
    mounts.unplugged(place)
    mounts.plugged(bed.folder / "after", place)
    outcome = finish(bed, ASKED[:1], left)
    mounts.unplugged(place)
    return outcome


def _there() -> tuple[int, ...]:
    """The runs that were there for whoever looked before the cut."""
    return tuple(seed for seed in (*FINISHED, *ASKED) if store.default().exact(TOY, key(seed)))


FAULTS = {"power cut": _cut}
