"""The runs that were computed here, the room that they may take, and how they survive damage.

    <folder>/runs/<key>-<random>.safetensors  runs/cache.db  headers-1.json  aside/

A lost or damaged index is rebuilt from the files; damaged files are set aside.
"""

import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np
from filelock import FileLock

from icl_core.contract.knobs import BadSetting
from icl_core.machine import limits
from icl_core.runs import database, kept_headers
from icl_core.runs.disk import delete_drafts, move_aside, unwritable
from icl_core.runs.file import Damaged, Record, pack, read_record
from icl_core.runs.header import Header, header_of, key_of_record
from icl_core.runs.header import Stamp as FileStamp
from icl_core.runs.run_index import FAILED, RunCache, Stamp, problem_text

LOOK = 0.5  # seconds after which the names in the folder are compared, whatever its time says
TICK = 0.02  # seconds within which two changes of a folder may bear the same time


class _Look(NamedTuple):
    """What a look at the folder has shown.

    stamp       `RunCache.stamp` before it
    inodes      `RunCache.inodes`
    paths       the file of every run by its key
    is_settled  whether any change since then gives another stamp, if no clock is set
    until       when the next look is due, by the monotonic clock
    """

    stamp: Stamp
    inodes: Mapping[str, int]
    paths: Mapping[str, Path]
    is_settled: bool
    until: float


class LocalRuns:
    """The runs in `folder`. `report` takes sentences for the visitor.

    Only `save` and `delete` raise.
    """

    def __init__(self, folder: Path, limit: int, report: Callable[[str], None]) -> None:
        self.folder = folder
        self._report = report
        self._cache = RunCache(folder / "runs", limit, report)
        self._mended = False  # whether this process has looked through the files
        self._look: _Look | None = None

    def unwritable(self) -> str:
        """Return why nothing can be stored here, a sentence for the visitor; empty if it can."""
        if limits.read_only():
            return limits.NOTHING_IS_KEPT
        for folder in (self.folder, self._cache.folder, self.folder / "jobs"):
            obstacle = unwritable(folder)
            if obstacle is not None:
                return (
                    f"Nothing can be trained or kept here: {obstacle} must be a folder that this "
                    "user may write to. Runs that come with the project are shown all the same; "
                    "ICL_CACHE_DIR names another folder."
                )
        return database.refusal()

    def paths(self) -> Mapping[str, Path]:
        """Return the file of every run by its key; the same mapping while no file comes or goes.

        The times of folder and index show most changes at once. But they are coarse, and can be
        set: so names and inodes are compared as well, and right after a change the index is read
        again.
        """
        now = time.monotonic()
        wall_time = (
            time.time()
        )  # before the stamp: what comes while the index is read is not settled
        stamp = self._cache.stamp()
        look = self._look
        if look and look.stamp == stamp and look.is_settled and now < look.until:
            return look.paths
        inodes = self._cache.inodes()
        if look and (look.stamp, look.inodes) == (stamp, inodes) and look.is_settled:
            paths = look.paths
        else:
            indexed = self._indexed_paths()
            paths = {key: path for key, path in indexed.items() if path.name in inodes}
        if look and (look.inodes, look.paths) == (inodes, paths):
            paths = look.paths
        is_settled = abs(wall_time - stamp.changed) > TICK
        self._look = _Look(stamp, inodes, paths, is_settled, now + LOOK)
        return paths

    def _indexed_paths(self) -> Mapping[str, Path]:
        """Return the file of every run in the index by its key.

        The files are looked through once a process, and whenever the index is lost.
        """
        try:
            if not self._mended and self._cache.damaged():  # by a power cut, say
                self._rebuild_index()
            elif not self._mended or self._cache.begun:
                self._mend()
            return self._cache.paths()
        except (*FAILED, OSError):
            with suppress(*FAILED, OSError):
                if self._cache.damaged():
                    self._rebuild_index()
                    return self._cache.paths()
            return dict(self._cache.files())  # read-only, say; the names of files hold the keys too

    def save(self, record: Record, tensors: Mapping[str, np.ndarray]) -> Header:
        """Store a run.

        Raises `BadSetting` if it is larger than the limit, `OSError` if it cannot be written, and
        `TypeError` as `pack` does.
        """
        key = key_of_record(record)
        content = pack(tensors, record)
        if refusal := too_large(len(content), self._cache.limit):
            raise BadSetting(refusal)
        if refusal := self.unwritable():
            raise OSError(refusal)
        try:
            if self._cache.damaged():
                self._rebuild_index()
            path = self._cache.put(key, content)
            self._look = None
        except FAILED as problem:
            raise OSError(
                f"the run {key} could not be written to {self._cache.folder}: "
                f"{problem_text(problem)}"
            ) from problem
        return header_of(read_record(path), key, "local", path)

    def kept_headers(self) -> dict[Path, tuple[FileStamp, Header | None]]:
        """Return the headers that an earlier process has kept, with the stamps of their files."""
        return kept_headers.read(self.folder, self.paths())

    def keep_headers(self, seen: Mapping[Path, tuple[FileStamp, Header | None]]) -> None:
        """Keep headers, with the stamps of their files, for the next process."""
        kept_headers.write(self.folder, seen)

    def use(self, key: str) -> None:
        """Note that the run was used, so that it is kept longer."""
        if not self.unwritable():
            before = self._cache.stamp()
            self._cache.use(key)
            look = self._look
            # the index has changed, but names the same files, unless another process was there
            if look and look.stamp == before:
                used = look.stamp._replace(database=self._cache.stamp().database)
                self._look = look._replace(stamp=used)

    def delete(self, key: str) -> None:
        """Remove the run from the index and delete its file. Raises `OSError` if it cannot.

        The file is deleted even if the index cannot be changed, as on a full disk.
        """
        path = self.paths().get(key)
        self._cache.remove(key)
        if path is not None:
            path.unlink(missing_ok=True)
        self._look = None

    def set_aside(self, path: Path, key: str, problem: Damaged) -> None:
        """Move a damaged file away, so that its run counts as absent."""
        target = self._move_aside(path)
        if target is None:
            return
        self._report(f"{path} was set aside as {target}: {problem}. The run is offered anew.")
        with suppress(*FAILED, OSError):  # the index may be unreadable
            # the index may name another, whole file of the same run
            if self._cache.paths().get(key) == path:
                self._cache.remove(key)

    def close(self) -> None:
        """Close the database."""
        self._cache.close()

    def _rebuild_index(self) -> None:
        """Set a damaged index aside and rebuild it from the files."""
        with FileLock(self.folder / "index.lock", mode=0o600):
            if self._cache.damaged():  # otherwise another process has rebuilt it meanwhile
                self._cache.close()
                # The database last: SQLite would take a journal beside it for that of the next one.
                for file in sorted(self._cache.folder.glob("cache.db*"), reverse=True):
                    self._move_aside(file)
                self._report(
                    f"{self._cache.database} was damaged and set aside; the index was made anew "
                    "from the runs."
                )
        self._mend()

    def _mend(self) -> None:
        """Index whole runs that have no row, set damaged ones aside, delete abandoned drafts.

        A process that was killed leaves such files.
        """
        self._mended = True
        if not self.unwritable():
            delete_drafts(self._cache.folder)
            self._cache.adopt(self._is_whole)
            self._cache.begun = False

    def _is_whole(self, key: str, path: Path) -> bool:
        try:
            header_of(read_record(path), key, "local", path)
        except Damaged as problem:
            self.set_aside(path, key, problem)
            return False
        return True

    def _move_aside(self, path: Path) -> Path | None:
        """Return where the file was moved to; None if it was not."""
        self._look = None
        return None if limits.read_only() else move_aside(path, self.folder / "aside")


def size_limit(text: str, name: str = "ICL_CACHE_LIMIT") -> int:
    """Return the bytes that "2GiB", "500 MB" or "1000000" mean.

    Raises `BadSetting`, in which `name` is the setting, for any other text and for sizes that no
    disk holds.
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(?:([kMGT])(i?))?B?\s*", text)
    if not match:
        raise BadSetting(f"{name} must be a size like 2GiB or a number of bytes, got {text!r:.40}")
    number, prefix, binary = match.groups()
    power = " kMGT".index(prefix) if prefix else 0
    size = float(number) * (1024 if binary else 1000) ** power
    if size >= 2**63:
        raise BadSetting(f"{name} must be less than 2^63 bytes, got {text!r:.40}")
    return int(size)


def too_large(size: int, limit: int) -> str:
    """Return why a run of at least `size` bytes can never be stored; empty if it can."""
    if size <= limit:
        return ""
    return (
        f"the run would take {size:,} bytes or more, the limit is {limit:,} bytes (ICL_CACHE_LIMIT)"
    )
