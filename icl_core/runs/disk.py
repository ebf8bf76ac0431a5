"""Writing that survives: whole files, synced, for their owner alone."""

import os
import re
import stat
import threading
import time
from contextlib import suppress
from pathlib import Path

import psutil

_DRAFT = re.compile(r"\..+\.(\d+)-\d+")  # .<name>.<process>-<thread>
_OLD = 3600.0  # seconds after which a draft is nobody's


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that a reader sees all of it or its predecessor, also after a kill or a power
    cut."""
    private_folder(path.parent)
    draft = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}")
    try:
        with open(draft, "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
    _sync_folder(path.parent)  # the name, too, must be on the disk


def write_note(path: Path, text: str) -> None:
    """Write a few characters for their owner alone, not synced. A link in that place is not
    followed: `OSError`."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0)
    with open(
        path, "w", encoding="utf-8", opener=lambda name, _: os.open(name, flags, 0o600)
    ) as file:
        file.write(text)


def private_folder(folder: Path) -> Path:
    """The folder, made for its owner alone if it is missing, and so those above it."""
    if not os.path.isdir(folder):
        private_folder(folder.parent)
        with suppress(FileExistsError):  # made meanwhile, or a file: then the first write says so
            folder.mkdir(mode=0o700)
            _sync_folder(folder.parent)
    return folder


def delete_drafts(folder: Path) -> None:
    """Delete the drafts in `folder` whose writer was killed."""
    for path in folder.glob(".*"):
        match = _DRAFT.fullmatch(path.name)
        with suppress(OSError):
            if match and (
                not psutil.pid_exists(int(match[1])) or time.time() - path.stat().st_mtime > _OLD
            ):
                path.unlink()


def is_odd(path: Path) -> bool:
    """Whether a link, a pipe, on which a reader would wait for ever, or a folder lies there: no
    file of ours is one."""
    with suppress(OSError):
        return not stat.S_ISREG(path.lstat().st_mode)
    return False


def unwritable(folder: Path) -> Path | None:
    """What keeps files from being written into `folder`: the part of its path that is no folder of
    ours."""
    there = next(above for above in (folder, *folder.absolute().parents) if os.path.lexists(above))
    return None if os.path.isdir(there) and os.access(there, os.R_OK | os.W_OK | os.X_OK) else there


def file_identity(path: Path) -> tuple[int, int] | None:
    """What tells the file from a later one of the same name; None if there is none."""
    with suppress(OSError):
        found = path.stat()
        return found.st_dev, found.st_ino
    return None


def _sync_folder(folder: Path) -> None:
    if hasattr(os, "O_DIRECTORY"):  # Windows has no such thing
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
