"""The headers of many runs in one file, so that a new process need not open the file of each.

    <cache>/headers-1.json

A header counts only while the file of its run has the stamp that it had when it was read. Where the
file of headers is missing or damaged, the runs are read.
"""

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from icl_core.machine import limits
from icl_core.runs.disk import write_whole
from icl_core.runs.header import Header, Stamp

NAME = "headers-1.json"  # the number rises with the form of the file


def read(folder: Path, paths: Mapping[str, Path]) -> dict[Path, tuple[Stamp, Header | None]]:
    """Return the headers that are kept in `folder` of the runs at `paths`, by key, with the stamps
    of their files; by file."""
    with suppress(OSError):
        seal, _, content = (folder / NAME).read_bytes().partition(b"\n")
        if _seal(content) == seal:
            return {
                paths[key]: (
                    tuple(stamp),
                    Header(experiment, key, config, info, digest, "local", paths[key]),
                )
                for key, stamp, experiment, config, info, digest in json.loads(content)
                if key in paths
            }
    return {}


def write(folder: Path, seen: Mapping[Path, tuple[Stamp, Header | None]]) -> None:
    """Keep headers with the stamps of their files, if that is possible."""
    rows = [
        (header.key, stamp, header.experiment, header.config, header.info, header.digest)
        for stamp, header in seen.values()
        if header
    ]
    content = json.dumps(rows, separators=(",", ":")).encode()
    if not limits.read_only():
        with suppress(OSError):
            write_whole(folder / NAME, _seal(content) + b"\n" + content)


def _seal(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()
