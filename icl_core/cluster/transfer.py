"""Pack the files of a job for the way between this machine and the one that trains it: the bytes of
one safetensors file, with the files' paths relative to the local store. None of them is code.

Called by `remote_job` on this machine and by `remote_worker` on the other one.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from icl_core.contract.experiment import LENGTH, LONGER
from icl_core.jobs.folder import Job, jobs_folder
from icl_core.runs import documents, store
from icl_core.runs.disk import write_whole
from icl_core.runs.file import Damaged

Files = dict[str, bytes]
STATE = "state.json"  # the row of the job, of which there is no file
LIVE = "live.safetensors"
PREVIEW = "preview.safetensors"
CHECKPOINT = "checkpoint.safetensors"
RUN = "run.safetensors"


def pack(files: Mapping[str, bytes]) -> bytes:
    """Return files, by name, as the bytes of a parcel."""
    return save({name: np.frombuffer(content, np.uint8) for name, content in files.items()})


def unpack(content: bytes) -> Files:
    """Return the files in a parcel. Raises `Damaged` if it is none."""
    try:
        return {name: array.tobytes() for name, array in load(content).items()}
    except (SafetensorError, KeyError, TypeError, ValueError) as problem:
        raise Damaged(f"expected a parcel, got {problem!r:.200}") from problem


def collect(job: Job) -> Files:
    """Return all files that a machine with an empty store needs to train the job, or to continue
    it."""
    root = store.default().local
    files: Files = {}
    for path in _needed_paths(job):
        with suppress(OSError):  # a job that has not begun has no checkpoint
            files[path.relative_to(root).as_posix()] = path.read_bytes()
    return files


def _needed_paths(job: Job) -> Iterator[Path]:
    """Yield the checkpoint, the documents that the settings name, and the final
    states of the runs that this one can continue from."""
    request = job.request() or {}
    yield job.checkpoint
    for document in documents.all_documents():
        if documents.is_used_by(request["config"], document):
            yield document.path
    for folder in jobs_folder().glob("*/ends"):
        if _continues(request, Job(folder.parent.name).request() or {}):
            yield from folder.glob("*.safetensors")


def _continues(request: Mapping[str, Any], earlier: Mapping[str, Any]) -> bool:
    """Return whether a run may continue from the final states of an earlier one. This is decided
    without the experiment, whose import takes seconds."""
    config = request["config"]
    earlier_config = earlier.get("config", {})
    steps = config.get(LENGTH, 0)
    earlier_steps = earlier_config.get(LENGTH, 0)
    same_settings = {**earlier_config, LENGTH: steps} == config
    return (
        earlier.get("experiment") == request["experiment"]
        and same_settings
        and steps in [times * earlier_steps for times in LONGER]
    )


def lay_out(files: Mapping[str, bytes]) -> list[Path]:
    """Write the files of a parcel into the local store; return their paths. Raises `Damaged` for a
    path that leads out of it."""
    root = store.default().local.resolve()
    paths: list[Path] = []
    for name, content in files.items():
        path = (root / name).resolve()
        if not path.is_relative_to(root):
            raise Damaged(f"expected a path within the folder of the parcel, got {name!r:.80}")
        write_whole(path, content)
        paths.append(path)
    return paths
