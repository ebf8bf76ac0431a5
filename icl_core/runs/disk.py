"""Writes that survive a kill or a power cut: whole files, synced, readable by their owner alone."""

import errno
import os
import re
import threading
import time
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

import psutil

_DRAFT = re.compile(r"\..+\.(\d+)-\d+")  # .<name>.<process>-<thread>
# What file systems answer that cannot sync a folder, such as CIFS, sshfs and shared folders of
# virtual machines; a name in it is then on the disk when they write it.
_NO_FOLDER_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP)
_OLD_DRAFT = 3600.0  # seconds after which a draft belongs to no running write


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that readers see either all of it or its predecessor.

    This also holds after a kill or a power cut. Missing folders are created, for their owner alone.
    """
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


def write_shipped(path: Path, content: bytes) -> None:
    """Write a file that comes with the project, which everybody may read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, content)
    path.chmod(0o644)


def write_note(path: Path, text: str) -> None:
    """Write a few characters, readable by their owner alone and not synced.

    Raises `OSError` if the path is a symbolic link, which is not followed.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0)
    with open(
        path, "w", encoding="utf-8", opener=lambda name, _: os.open(name, flags, 0o600)
    ) as file:
        file.write(text)


def private_folder(folder: Path) -> Path:
    """Create the folder and those above it, if missing, for their owner alone, and return it."""
    if not os.path.isdir(folder):
        private_folder(folder.parent)
        # it may have been created meanwhile, or be a file: then the first write into it says so
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
            _sync_folder(folder.parent)
    return folder


def delete_drafts(folder: Path) -> None:
    """Delete the drafts in `folder` whose writer was killed."""
    for path in folder.glob(".*"):
        match = _DRAFT.fullmatch(path.name)
        if match is None:
            continue
        with suppress(OSError):
            writer_lives = psutil.pid_exists(int(match[1]))
            if not writer_lives or time.time() - path.stat().st_mtime > _OLD_DRAFT:
                path.unlink()


def move_aside(path: Path, folder: Path) -> Path | None:
    """Move a damaged file into `folder`, under a name of its own; return where it is now.

    None if it was not moved: another process was quicker, or it is not allowed.
    """
    with suppress(OSError):
        target = private_folder(folder) / f"{path.stem}-{time.time_ns()}{path.suffix}"
        return path.rename(target)
    return None


def unwritable(folder: Path) -> Path | None:
    """Return the part of `folder`'s path that prevents writing into it; None if nothing does."""
    existing = next(path for path in (folder, *folder.absolute().parents) if os.path.lexists(path))
    if os.path.isdir(existing) and os.access(existing, os.R_OK | os.W_OK | os.X_OK):
        return None
    return existing


def files_of(folder: Path, pattern: str) -> list[Path]:
    """Return the files of a folder whose path within it matches, in any order; none if there is no
    such folder or it may not be looked into, as another user's: `unwritable` says so."""
    with suppress(OSError):
        return list(folder.glob(pattern))
    return []


def file_identity(path: Path) -> tuple[int, int] | None:
    """Return device and inode, which distinguish a file from a later one of the same name.

    None if there is no file.
    """
    with suppress(OSError):
        status = path.stat()
        return status.st_dev, status.st_ino
    return None


@lru_cache(maxsize=8)
def file_system(folder: Path) -> str:
    """Return the type of the file system that a folder is on, "" if it is not known."""
    mount_point = ""
    kind = ""
    with suppress(OSError):
        for partition in psutil.disk_partitions(all=True):
            is_inside = folder.is_relative_to(partition.mountpoint)
            if is_inside and len(partition.mountpoint) >= len(mount_point):
                mount_point = partition.mountpoint
                kind = partition.fstype
    return kind.lower()


def _sync_folder(folder: Path) -> None:
    if not hasattr(os, "O_DIRECTORY"):  # Windows cannot open folders
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as problem:
        if problem.errno not in _NO_FOLDER_SYNC:
            raise
    finally:
        os.close(descriptor)
