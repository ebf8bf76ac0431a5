"""What a training would be done with: the source of the experiments and the packages that compute.

Two machines may share the trainings of one store only if these are the same on both.
"""

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

from icl_core import papers, registry

PACKAGES = ("torch", "numpy", "safetensors")
_CORE = Path(__file__).resolve().parents[1]


def code() -> dict[str, str]:
    """What is on this machine now: a digest of the source as it is on disk, and the versions of the
    packages, without what a build for another device adds to them."""
    return {"icl_core": _source(), **{name: version(name).partition("+")[0] for name in PACKAGES}}


def differs(wanted: Mapping[str, str], found: Mapping[str, str]) -> str:
    """What is not as it is wanted, in words: "torch 2.13.0 was expected, 2.12.1 came"; empty if all
    is."""
    return "; ".join(
        f"{name} {each:.12} was expected, {found.get(name, 'nothing'):.12} came"
        for name, each in wanted.items()
        if found.get(name) != each
    )


def source_mtimes() -> dict[Path, int]:
    """When each file of the source was changed."""
    found = {}
    for folder in _folders():
        for path in folder.rglob("*.py"):
            with suppress(FileNotFoundError):  # being written
                found[path] = path.stat().st_mtime_ns
    return found


def _source() -> str:
    total = hashlib.sha256()
    for folder in _folders():
        for path in sorted(folder.rglob("*.py")):
            total.update(f"{path.relative_to(folder).as_posix()}\n".encode() + path.read_bytes())
    return total.hexdigest()


def _folders() -> list[Path]:
    registry.papers()  # now all of them are known
    return [_CORE, *(Path(path) for path in papers.__path__ if Path(path) != _CORE / "papers")]
