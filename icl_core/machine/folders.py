"""Where files lie: what comes with the project, and what is made on this computer."""

import os
import stat
from pathlib import Path

ARTIFACTS = Path(__file__).resolve().parents[2] / "artifacts"


def cache_folder() -> Path:
    """The folder for what is made here; `ICL_CACHE_DIR` names another."""
    return Path(os.environ.get("ICL_CACHE_DIR") or ARTIFACTS / "cache")


def read_regular_file(path: Path, largest: int) -> bytes:
    """The bytes of a file that is kept here. Raises `OSError`, and `ValueError` for what is no file
    of ours: a pipe or a device, whose reader would wait or read for ever, or more than `largest`
    bytes."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode) or status.st_size > largest:
        raise ValueError(
            f"expected a file of at most {largest} bytes, got {stat.filemode(status.st_mode)} "
            f"of {status.st_size}"
        )
    return path.read_bytes()
