"""Disks of one's own, seen by this process and its children alone: small ones in memory, ones that
can lose power."""

import ctypes
import os
import shutil
import subprocess
from pathlib import Path

from tests.faults.bed import NotHere

# of linux/sched.h and sys/mount.h
NEW_MOUNTS = 0x00020000
NEW_USERS = 0x10000000
PRIVATE = (1 << 18) | (1 << 14)
DISK = 4 * 2**20  # bytes


def small(place: Path) -> None:
    """A disk of some MiB there. Raises `NotHere`."""
    _alone()
    place.mkdir(exist_ok=True)
    _call("mount", b"tmpfs", os.fsencode(place), b"tmpfs", 0, f"size={DISK}".encode())


def formatted(image: Path) -> Path:
    """The file of an empty ext4 disk. Raises `NotHere`."""
    if os.geteuid() or not shutil.which("mkfs.ext4") or not os.path.exists("/dev/loop-control"):
        raise NotHere("needs root, ext4 and loop devices")
    with image.open("wb") as file:
        file.truncate(2 * DISK)
    _run("mkfs.ext4", "-q", "-O", "^metadata_csum", "-E", "lazy_itable_init=0", str(image))
    return image


def plugged(image: Path, place: Path) -> None:
    """Mount that disk there. Nothing is written to it but what is synced, or half an hour old."""
    _alone()
    place.mkdir(exist_ok=True)
    _run("mount", "-o", "loop,commit=1800", str(image), str(place))


def unplugged(place: Path) -> None:
    """Take the disk away, though files on it may be open."""
    _run("umount", "-l", str(place))


def _alone() -> None:
    """No other process sees what is mounted from now on, and it goes with this one."""
    if not os.path.exists("/proc/self/mounts"):
        raise NotHere("needs Linux")
    user = os.getuid()
    group = os.getgid()
    _call("unshare", NEW_MOUNTS if user == 0 else NEW_MOUNTS | NEW_USERS)
    if user:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {user} 1")
        Path("/proc/self/gid_map").write_text(f"0 {group} 1")
    _call("mount", b"none", b"/", None, PRIVATE, None)


def _call(name: str, *arguments: object) -> None:
    if getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments):
        raise NotHere(f"needs the right to {name}: {os.strerror(ctypes.get_errno())}")


def _run(*command: str) -> None:
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise NotHere(f"needs {command[0]}: {ended.stderr.strip()}")


def synced(place: Path) -> None:
    """Write what is to be written to that disk."""
    folder = os.open(place, os.O_RDONLY)
    try:
        _call("syncfs", folder)
    finally:
        os.close(folder)
