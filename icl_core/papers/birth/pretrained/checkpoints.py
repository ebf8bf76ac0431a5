"""The checkpoints of a folder in the order of their steps, and what is wrong with them.

A checkpoint is a folder or a GGUF file whose name holds its training step, such as `step1000` or
`checkpoint-1000`. A published series need not be what its names say: of Pythia-2.8B 76 of 154 steps
have had the final weights, and of Pythia-12B a part of two steps (issues 205 and 206 of
EleutherAI/pythia). So every file is hashed, and every tensor: checkpoints that are equal, and those
that share tensors which change elsewhere in the series, are named.
"""

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import torch

from icl_core.machine.folders import read_regular_file
from icl_core.papers.birth.pretrained.readers.checks import BadModel
from icl_core.papers.birth.pretrained.readers.model import Weights

FOLDER = "ICL_MODELS"


def place_of(name: str) -> Path | None:
    """Return `<ICL_MODELS>/<name>` or `<ICL_MODELS>/<name>.gguf`; None if there is neither."""
    if folder := os.environ.get(FOLDER):
        parent = Path(os.path.expanduser(folder))  # which leaves a user that there is not as it is
        for path in (parent / name, parent / f"{name}.gguf"):
            if os.path.exists(path):  # False also for a name that no path can have
                return path
    return None


STEP = re.compile(r"(?:step|checkpoint)[-_]?(\d{1,9})(?!\d)", re.IGNORECASE)
MOST = 40  # checkpoints of a series
WEIGHTS = (".safetensors", ".gguf")
STATE = "trainer_state.json"  # which `transformers` writes beside a checkpoint, with its step
DIGITS = 16  # of a digest


class Checkpoint(NamedTuple):
    """A checkpoint: its training step by its name, and where it is."""

    step: int
    path: Path


def listed(folder: Path) -> list[Checkpoint]:
    """Return the checkpoints of a folder by their steps. Raises `BadModel` if it is none, if there
    are fewer than two, or too many, or two of one step."""
    if not folder.is_dir():
        raise BadModel(f"a series must be a folder of checkpoints, got the file {folder.name:.60}")
    paths: dict[int, Path] = {}
    for path in sorted(folder.iterdir()):
        match = STEP.search(path.name)
        if match is None or not (path.is_dir() or path.suffix == ".gguf"):
            continue
        step = int(match[1])
        if step in paths:
            raise BadModel(
                f"a step must be that of one checkpoint, got {paths[step].name:.60} and "
                f"{path.name:.60}"
            )
        paths[step] = path
    if not 2 <= len(paths) <= MOST:
        raise BadModel(
            f"a series must have 2 to {MOST} folders or GGUF files with their steps in their "
            f"names, such as step1000, got {len(paths)}"
        )
    return [Checkpoint(step, paths[step]) for step in sorted(paths)]


def file_digest(path: Path) -> str:
    """Return the digest of a checkpoint's files of weights: of one file, that of its bytes."""
    digests = [_digest(each) for each in _files(path, WEIGHTS)]
    if len(digests) == 1:
        return digests[0][:DIGITS]
    return hashlib.sha256("".join(digests).encode()).hexdigest()[:DIGITS]


def content_of(folder: Path) -> str:
    """Return the digest of all that a series is: the steps, and the files of weights, settings and
    tokens of each checkpoint. Folders of equal content have equal digests. Raises `BadModel` if it
    is no series."""
    digest = hashlib.sha256()
    for step, path in listed(folder):
        for each in _files(path, (*WEIGHTS, ".json")):
            digest.update(f"{step} {each.suffix} {_digest(each)}\n".encode())
    return digest.hexdigest()[:DIGITS]


def all_of(path: Path) -> str:
    """Return the digest of all that a model is: its weights, settings and tokens."""
    digest = hashlib.sha256()
    for each in _files(path, (*WEIGHTS, ".json")):
        digest.update(f"{each.suffix} {_digest(each)}\n".encode())
    return digest.hexdigest()[:DIGITS]


def _files(path: Path, endings: Sequence[str]) -> list[Path]:
    """Return a checkpoint's files with these endings; of one that is a file, itself."""
    if not path.is_dir():
        return [path]
    return sorted(each for each in path.iterdir() if each.suffix in endings and each.is_file())


def _digest(path: Path) -> str:
    """Return the digest of a file, all of it."""
    status = path.stat()
    return _stamped_digest(path, (status.st_mtime_ns, status.st_size, status.st_ino))


@lru_cache(maxsize=1024)
def _stamped_digest(path: Path, stamp: tuple[int, int, int]) -> str:
    """Return the digest of a file; `stamp`, its time, size and number, tells it from a later
    one."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def tensor_digests(weights: Weights) -> dict[str, str]:
    """Return the digest of every tensor that is not one number throughout, such as a bias that has
    not moved from zero."""
    digests = {}
    for name, tensor in weights.items():
        if not torch.all(tensor == tensor.flatten()[0]):
            content = tensor.contiguous().numpy().tobytes()
            digests[name] = hashlib.sha256(content).hexdigest()[:DIGITS]
    return digests


def stated_step(path: Path) -> int | None:
    """Return the step that the state of the training beside a checkpoint states; None if it states
    none."""
    with suppress(OSError, ValueError, AttributeError):
        state = json.loads(read_regular_file(path / STATE, 2**24))
        step = state.get("global_step")
        return step if isinstance(step, int) else None
    return None


def remarks(
    steps: Sequence[int],
    files: Sequence[str],
    tensors: Sequence[Mapping[str, str]],
    stated: Sequence[int | None],
) -> list[str]:
    """Return what is wrong with each checkpoint, in words; empty if nothing is.

    files    digests of their files
    tensors  digests of their tensors by name
    stated   the steps that they state
    """
    frozen = {name for name in tensors[0] if len({each.get(name) for each in tensors}) == 1}
    sentences: list[str] = []
    for index, step in enumerate(steps):
        reasons = []
        if stated[index] not in (None, step):
            reasons.append(f"it states step {stated[index]}")
        for other in range(len(steps)):
            if other != index and (reason := _shared(index, other, files, tensors, frozen)):
                reasons.append(reason.format(steps[other]))
        sentences.append("; ".join(reasons))
    return sentences


def _shared(
    index: int,
    other: int,
    files: Sequence[str],
    tensors: Sequence[Mapping[str, str]],
    frozen: set[str],
) -> str:
    """Return what two checkpoints have in common that they should not; empty if nothing. Tensors
    that are the same in all of the series were not trained, unless all of a checkpoint's are."""
    if files[index] == files[other]:
        return "the same file as step {}"
    if tensors[index] == tensors[other]:
        return "all tensors as at step {}"
    moving = tensors[index].keys() - frozen
    equal = [name for name in moving if tensors[index][name] == tensors[other].get(name)]
    if not equal:
        return ""
    whole = "all" if len(equal) == len(moving) else f"{len(equal)} of {len(moving)}"
    return f"{whole} tensors as at step {{}}"
