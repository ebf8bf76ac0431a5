"""The project's folders: shipped files, and files created on this computer."""

import os
import stat
from pathlib import Path

ARTIFACTS = Path(__file__).resolve().parents[2] / "artifacts"


def cache_folder() -> Path:
    """Return the folder for files created on this computer: `ICL_CACHE_DIR` if set."""
    return Path(os.environ.get("ICL_CACHE_DIR") or ARTIFACTS / "cache")


def read_regular_file(path: Path, largest: int) -> bytes:
    """Return the bytes of a regular file of at most `largest` bytes.

    Raises `ValueError` for a larger file and for a pipe or a device, which could be read without
    end, and `OSError` if the file cannot be read.
    """
    status = path.stat()
    if not stat.S_ISREG(status.st_mode) or status.st_size > largest:
        raise ValueError(
            f"expected a file of at most {largest} bytes, got {stat.filemode(status.st_mode)} "
            f"of {status.st_size}"
        )
    return path.read_bytes()
