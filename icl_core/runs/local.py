"""The runs made here, and what keeps them whole: the index made anew when it is lost, damaged files
set aside.

<folder>/runs/<key>-<random>.safetensors  runs/cache.db  aside/  jobs/
"""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import numpy as np
from filelock import FileLock

from icl_core.contract.knobs import BadSetting
from icl_core.machine import limits
from icl_core.runs.cache import FAILED, RunCache, problem_text
from icl_core.runs.disk import delete_drafts, is_odd, private_folder, unwritable
from icl_core.runs.file import Damaged, Record, pack, read_record
from icl_core.runs.header import Header, header_of, key_of_record
from icl_core.runs.room import too_large


class LocalRuns:
    """The runs in `folder`; `tell` gets sentences for the visitor. Only `save` and
    `delete` raise."""

    def __init__(self, folder: Path, limit: int, tell: Callable[[str], None]) -> None:
        self.folder, self._tell = folder, tell
        self._cache = RunCache(folder / "runs", limit, tell)
        self._mended = False

    def unwritable(self) -> str:
        """Why nothing can be kept here, a sentence for the visitor; empty if it can."""
        if limits.read_only():
            return limits.NOTHING_IS_KEPT
        for folder in (self.folder, self._cache.folder, self.folder / "jobs"):
            place = unwritable(folder)
            if place is not None:
                return (
                    f"Nothing can be trained or kept here: {place} must be a folder that this "
                    "user may write to. "
                    "Runs that come with the project are shown all the same; ICL_CACHE_DIR "
                    "names another folder."
                )
        return ""

    def paths(self) -> dict[str, Path]:
        """The file of every run's key; the files are looked through once a process, and when the
        index is lost."""
        try:
            if not self._mended and self._cache.damaged():  # by a power cut, say
                self._renew()
            elif not self._mended or self._cache.begun:
                self._mend()
            return self._cache.paths()
        except (*FAILED, OSError):
            with suppress(*FAILED, OSError):
                if self._cache.damaged():
                    self._renew()
                    return self._cache.paths()
            return dict(self._cache.files())  # read-only, say: the files' names tell their keys too

    def save(self, record: Record, tensors: Mapping[str, np.ndarray]) -> Header:
        """Keep a run. Raises `BadSetting` if it is larger than the limit, `OSError` if it cannot be
        written, and as `pack`."""
        key, content = key_of_record(record), pack(tensors, record)
        if refused := too_large(len(content), self._cache.limit):
            raise BadSetting(refused)
        if refused := self.unwritable():
            raise OSError(refused)
        try:
            if self._cache.damaged():
                self._renew()
            path = self._cache.put(key, content)
        except FAILED as problem:
            raise OSError(
                f"the run {key} could not be written to {self._cache.folder}: "
                f"{problem_text(problem)}"
            ) from problem
        return header_of(read_record(path), key, "local", path)

    def use(self, key: str) -> None:
        """Note that the run was used: it will be kept longer."""
        if not self.unwritable():
            self._cache.use(key)

    def delete(self, key: str) -> None:
        """Forget the run and delete its file, which makes room also where the index can change no
        more. Raises `OSError` if it cannot be deleted."""
        path = self.paths().get(key)
        self._cache.remove(key)
        if path is not None:
            path.unlink(missing_ok=True)

    def set_aside(self, path: Path, key: str, problem: Damaged) -> None:
        """Move a damaged file away, so that its run counts as absent."""
        target = self._moved(path)
        if target is not None:
            self._tell(f"{path} was set aside as {target}: {problem}. The run is offered anew.")
            with suppress(*FAILED, OSError):  # of an index that cannot be read
                if self._cache.paths().get(key) == path:  # else it was a stray beside the whole run
                    self._cache.remove(key)

    def close(self) -> None:
        """Close the database."""
        self._cache.close()

    def _renew(self) -> None:
        """Set a damaged index aside and make it anew from the files."""
        lock = self.folder / "index.lock"
        if is_odd(lock):
            self._moved(lock)
        with FileLock(lock, mode=0o600):
            if self._cache.damaged():  # else another process was quicker
                self._cache.close()
                # the database last: what is beside it would be taken for that of the next one
                for file in sorted(self._cache.folder.glob("cache.db*"), reverse=True):
                    self._moved(file)
                self._tell(
                    f"{self._cache.database} was damaged and set aside; the index was made anew "
                    "from the runs."
                )
        self._mend()

    def _mend(self) -> None:
        """Take in whole runs that the index lacks, after a kill, say; set damaged ones aside; sweep
        drafts."""
        self._mended = True
        if not self.unwritable():
            delete_drafts(self._cache.folder)
            self._cache.adopt(self._whole)
            self._cache.begun = False

    def _whole(self, key: str, path: Path) -> bool:
        try:
            header_of(read_record(path), key, "local", path)
        except Damaged as problem:
            self.set_aside(path, key, problem)
            return False
        return True

    def _moved(self, path: Path) -> Path | None:
        """Where the file went; None if it could not be moved: another process was quicker or we may
        not."""
        if limits.read_only():
            return None
        with suppress(OSError):
            return path.rename(
                private_folder(self.folder / "aside") / f"{path.stem}-{time.time_ns()}{path.suffix}"
            )
        return None
