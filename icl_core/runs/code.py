"""Which code computes. Two versions of the dashboard, or two checkouts, may share one cache:
requests, checkpoints and runs carry the code that they are of, and only its workers take a request.

A name of code is the dashboard's version and the beginning of a digest of its Python files,
"1.0.0+1a2b3c4d5e6f"; texts do not count. An identity is a name with the folder that holds the code.
"""

import hashlib
import os
import platform
from contextlib import suppress
from functools import cache
from pathlib import Path

from icl_core import papers, registry
from icl_core.figures.character_labels import shown_name
from icl_core.machine import folders
from icl_core.runs.header import Header

_CORE = Path(__file__).resolve().parents[1]


def source_folders() -> list[Path]:
    """Return the folders of the code: `icl_core` and those of papers from elsewhere."""
    registry.papers()  # adds the folders of papers from elsewhere to `papers.__path__`
    elsewhere = [Path(path) for path in papers.__path__ if Path(path) != _CORE / "papers"]
    return [_CORE, *elsewhere]


def source_digest() -> str:
    """Return the SHA-256 of the Python files as they are on disk now."""
    digest = hashlib.sha256()
    for folder in source_folders():
        for path in sorted(folder.rglob("*.py")):
            with suppress(FileNotFoundError):  # an editor is replacing it, or has locked it
                content = path.read_bytes()
                digest.update(f"{path.relative_to(folder).as_posix()}\n".encode() + content)
    return digest.hexdigest()


@cache
def name() -> str:
    """Return the name of the code here, as it was on disk when this process first asked."""
    version = ""
    with suppress(FileNotFoundError):  # the folder icl_core alone, on a cluster's machine
        version = folders.project_version()
    return f"{version}+{source_digest()[:12]}"


def place() -> str:
    """Return the folder of the code here, with its machine or container."""
    return f"{platform.node()}:{_CORE.parent}"


def identity() -> str:
    """Return the name of the code here and its place."""
    return f"{name()}@{place()}"


def as_seen_here(other: str) -> str:
    """Return `identity()` for the identity of equal code elsewhere, and for that of code which this
    folder held at another time, in whose place there is now what it holds; else `other`."""
    other_name, _, other_place = other.partition("@")
    return identity() if other_name == name() or other_place == place() else other


def is_gone(other: str) -> bool:
    """Return whether an identity is of code whose folder was on this machine and is there no
    more."""
    machine, _, folder = other.partition("@")[2].partition(":")
    return machine == platform.node() and not os.path.isdir(Path(folder, _CORE.name))


def described(other: str) -> str:
    """Return an identity in words: "1.0.0+1a2b3c4d5e6f in machine:/folder"."""
    return shown_name(other.replace("@", " in ", 1), 200) or "an earlier version of the dashboard"


def note(header: Header) -> str:
    """Return a sentence if other code than this computed a run here; "" if it did not, and for the
    runs that come with the project or were given as files."""
    if header.origin != "local" or header.info.get("given") or header.info.get("code") == name():
        return ""
    if other := header.info.get("code"):
        other = shown_name(str(other), 80)
        return f"Computed by other code of the same version ({other}; here {name()})."
    return f"It is not noted which code computed it (here {name()})."
