"""Tensors that several shipped runs of a paper have in common; each is stored once.

    artifacts/<paper>/shared/<name>.safetensors

The frozen matrices of one seed, for example, are the same in every run of that seed. A tensor's
name is a hash of its content, so that a file can be checked by its name.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from icl_core.contract.run import Tensors
from icl_core.runs.disk import write_shipped
from icl_core.runs.file import Damaged, tensor_sizes

SMALLEST = 16 * 2**10  # bytes; smaller tensors stay in the files of their runs
_TENSOR = "tensor"  # the name of the one tensor in its file


class SharedTensors:
    """The shared tensors of one paper, in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, name: str) -> Path:
        """Return the file of the tensor called `name`."""
        return self.folder / f"{name}.safetensors"

    def check_present(self, names: Iterable[str]) -> None:
        """Raise `Damaged` unless there is a file for each of `names`."""
        for name in names:
            if not self.path(name).exists():
                raise Damaged(f"expected a tensor of it in {self.path(name)}, got no such file")

    def read(self, name: str) -> np.ndarray:
        """Return the tensor called `name`; raises `Damaged` if it is missing or has changed."""
        self.check_present([name])
        path = self.path(name)
        try:
            array = load(path.read_bytes())[_TENSOR]
        except (OSError, SafetensorError, KeyError, TypeError, ValueError) as problem:
            raise Damaged(f"expected a tensor of it in {path}, got {problem!r:.200}") from problem
        if name_of(array) != name:
            raise Damaged(
                f"expected a tensor of it in {path}, got another: the content has changed"
            )
        return array

    def size(self, name: str) -> tuple[tuple[int, ...], int]:
        """Return the shape and the bytes of the tensor called `name`, of which only the header of
        its file is read; raises `Damaged`, and `OSError` if the file cannot be read."""
        sizes = tensor_sizes(self.path(name))
        if sizes.keys() != {_TENSOR}:
            raise Damaged(f"expected one tensor in {self.path(name)}, got {len(sizes)}")
        return sizes[_TENSOR]

    def write(self, array: np.ndarray) -> None:
        """Store a tensor, unless it is stored already."""
        path = self.path(name_of(array))
        content = save({_TENSOR: np.ascontiguousarray(array)})
        if not path.exists() or path.read_bytes() != content:
            write_shipped(path, content)

    def delete_all_but(self, names: set[str]) -> list[Path]:
        """Delete the tensors whose name is not in `names` and return their files."""
        unused = [path for path in self.folder.glob("*.safetensors") if path.stem not in names]
        for path in unused:
            path.unlink()
        return unused


def name_of(array: np.ndarray) -> str:
    """Return the name of a tensor: 20 hexadecimal digits of a hash of dtype, shape and content."""
    hashed = hashlib.sha256(f"{array.dtype.name} {array.shape}\n".encode())
    hashed.update(np.ascontiguousarray(array).data)
    return hashed.hexdigest()[:20]


def names_in_common(runs: Iterable[Tensors]) -> list[dict[str, str]]:
    """Return for each run which of its large tensors occur more than once in all of `runs`.

    These are given as the names in the run and, for each, the shared tensor's name.
    """
    names = [_names_of_large(tensors) for tensors in runs]
    occurrences = Counter(name for run_names in names for name in run_names.values())
    return [
        {tensor: name for tensor, name in run_names.items() if occurrences[name] > 1}
        for run_names in names
    ]


def _names_of_large(tensors: Mapping[str, np.ndarray]) -> dict[str, str]:
    large = {tensor: array for tensor, array in tensors.items() if array.nbytes >= SMALLEST}
    return {tensor: name_of(array) for tensor, array in sorted(large.items())}
