"""A real disk, small, that is full to the last byte, or all but 8 KiB, from a random moment on, and
then is not."""

import errno
import os
import time
from contextlib import suppress
from pathlib import Path

from tests.faults import mounts
from tests.faults.audit import check, finish
from tests.faults.bed import ASKED, FINISHED, Bed, submit
from tests.faults.stages import STAGES, Halted


def _full(left: int, bed: Bed) -> str:
    disk = bed.folder / "disk"
    mounts.small(disk)
    bed.lay(disk / "cache", bed.cache)
    if bed.chance.random() < 0.2:
        fill(disk, left)
        with suppress(OSError):  # who asks is told
            bed.act(submit, ASKED[0])
    else:
        bed.act(submit, ASKED[0])
        worker = Halted(bed, bed.chance.choice(list(STAGES)))
        fill(disk, left)
        worker.go_on()
        if bed.chance.random() < 0.5:  # room again before its end
            time.sleep(bed.sleep(0.1))
        else:
            worker.end()
        check(bed, FINISHED)
        with suppress(OSError):
            bed.act(submit, ASKED[1])
        check(bed, FINISHED)
        (disk / "ballast").unlink()
        worker.end()
    with suppress(FileNotFoundError):
        (disk / "ballast").unlink()
    return finish(bed, ASKED[:2], FINISHED)


def fill(disk: Path, left: int) -> None:
    """Write until there is no room but that."""
    with suppress(OSError), open(disk / "ballast", "ab", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    if left:
        size = os.path.getsize(disk / "ballast")
        os.truncate(disk / "ballast", size - left)
    else:
        assert _refuses(disk), "the disk is not full"


def _refuses(disk: Path) -> bool:
    try:
        (disk / "more").write_bytes(b".")
    except OSError as problem:
        (disk / "more").unlink(missing_ok=True)
        return problem.errno == errno.ENOSPC
    return False


FAULTS = {
    "disk full to the last byte": lambda bed: _full(0, bed),
    "disk full but for 8 KiB": lambda bed: _full(8192, bed),
}
