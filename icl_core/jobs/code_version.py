"""The version of the code that a training is done with: a digest of the source, and the versions of
the packages that compute.

Machines may share the trainings of one store only if these are equal (`cluster`). A worker ends
when the source on disk changes (`SourceWatch`).
"""

import hashlib
import time
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

from icl_core import papers, registry

PACKAGES = ("torch", "numpy", "safetensors")
LOOK = 1.0  # seconds between two looks at the files of the source
_CORE = Path(__file__).resolve().parents[1]


def code() -> dict[str, str]:
    """Return a digest of the source as it is on disk now, under "icl_core", and the versions of the
    packages, without the suffix of a build for another device."""
    packages = {name: version(name).partition("+")[0] for name in PACKAGES}
    return {"icl_core": _source_digest(), **packages}


def differs(expected: Mapping[str, str], actual: Mapping[str, str]) -> str:
    """Return in words what is not as expected, "torch 2.13.0 was expected, 2.12.1 came"; "" if
    nothing is."""
    return "; ".join(
        f"{name} {value:.12} was expected, {actual.get(name, 'nothing'):.12} came"
        for name, value in expected.items()
        if actual.get(name) != value
    )


def source_mtimes() -> dict[Path, int]:
    """Return when each file of the source was changed, in ns."""
    mtimes: dict[Path, int] = {}
    for folder in _folders():
        for path in folder.rglob("*.py"):
            with suppress(FileNotFoundError):  # an editor is replacing it
                mtimes[path] = path.stat().st_mtime_ns
    return mtimes


class SourceWatch:
    """Watches whether the source on disk has changed since this object was made.

    There are hundreds of files: they are looked at once in LOOK seconds, whoever asks.
    """

    def __init__(self) -> None:
        self._mtimes = source_mtimes()
        self._changed = False
        self._look_at = time.monotonic() + LOOK

    def changed(self) -> bool:
        """Return whether the source had changed at the last look."""
        if not self._changed and time.monotonic() >= self._look_at:
            self._changed = source_mtimes() != self._mtimes
            self._look_at = time.monotonic() + LOOK
        return self._changed


def _source_digest() -> str:
    digest = hashlib.sha256()
    for folder in _folders():
        for path in sorted(folder.rglob("*.py")):
            digest.update(f"{path.relative_to(folder).as_posix()}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def _folders() -> list[Path]:
    registry.papers()  # adds the folders of papers from elsewhere to `papers.__path__`
    elsewhere = [Path(path) for path in papers.__path__ if Path(path) != _CORE / "papers"]
    return [_CORE, *elsewhere]
