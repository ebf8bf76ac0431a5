"""What travels between the store and the machine that trains: files, by their paths in the folder
for what is made here, packed into the bytes of one safetensors file. Nothing in a parcel is code.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from icl_core.jobs import warm_start
from icl_core.jobs.folder import Job, jobs_folder
from icl_core.jobs.reading import plain_file
from icl_core.runs import documents, store
from icl_core.runs.disk import write_whole
from icl_core.runs.file import Damaged

Files = dict[str, bytes]
STATE, LIVE, CHECKPOINT, RUN = (
    "state.json",
    "live.safetensors",
    "checkpoint.safetensors",
    "run.safetensors",
)


def pack(files: Mapping[str, bytes]) -> bytes:
    """The bytes of a parcel."""
    return save({name: np.frombuffer(content, np.uint8) for name, content in files.items()})


def unpack(content: bytes) -> Files:
    """The files in a parcel. Raises `Damaged` if it is none."""
    try:
        return {name: array.tobytes() for name, array in load(content).items()}
    except (SafetensorError, KeyError, TypeError, ValueError) as problem:
        raise Damaged(f"expected a parcel, got {problem!r:.200}") from problem


def outward(job: Job) -> Files:
    """All that a machine which has nothing needs to train the job, or to go on with it."""
    root, found = store.default().local, {}
    for path in _needed(job):
        with suppress(OSError):  # not there, most often
            if plain_file(path):
                found[path.relative_to(root).as_posix()] = path.read_bytes()
    return found


def _needed(job: Job) -> Iterator[Path]:
    request = job.request() or {}
    yield from (job.folder / STATE, job.checkpoint)
    yield from (
        each.path
        for each in documents.all_documents()
        if documents.is_used_by(request["config"], each)
    )
    for folder in jobs_folder().glob("*/ends"):
        if _goes_on(request, Job(folder.parent.name).request() or {}):
            yield from folder.glob("*.safetensors")


def _goes_on(request: Mapping[str, Any], before: Mapping[str, Any]) -> bool:
    """Whether a run may go on from the ends of another one. Without the experiment: to import it
    takes seconds."""
    config, shorter = request["config"], before.get("config", {})
    steps, reached = config.get(warm_start.FIELD, 0), shorter.get(warm_start.FIELD, 0)
    same = (
        before.get("experiment") == request["experiment"]
        and {**shorter, warm_start.FIELD: steps} == config
    )
    return same and steps in [times * reached for times in warm_start.TIMES]


def lay_out(files: Mapping[str, bytes]) -> list[Path]:
    """Put the files of a parcel where they belong, here; where they are. Raises `Damaged` for a
    path that leads out of the folder."""
    root, placed = store.default().local.resolve(), []
    for name, content in files.items():
        path = (root / name).resolve()
        if not path.is_relative_to(root):
            raise Damaged(f"expected a path within the folder of the parcel, got {name!r:.80}")
        write_whole(path, content)
        placed.append(path)
    return placed
