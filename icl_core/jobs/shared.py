"""The trainings of one job, done by several workers: each by one of them, with the digits that one
alone would get.

<job>/phases/<training>.lock  .step (of the one that is at it)  .part.safetensors (its checkpoint)
             <training>.safetensors (what it made)
"""

import hashlib
import os
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from icl_core.contract.experiment import Tensors
from icl_core.jobs.folder import Job, hold_lock
from icl_core.jobs.reading import plain_file, set_odd_aside
from icl_core.runs.disk import private_folder, write_note, write_whole
from icl_core.runs.file import Damaged, pack, read


class SharedTrainings:
    """What one of the workers sees and does. `identity` is what a file must agree with: see
    `JobProgress`. A file that cannot be written costs only that another worker trains the same
    again."""

    def __init__(self, job: Job, identity: dict[str, Any]) -> None:
        self.folder, self.identity = job.phases, identity
        self.seconds = 0.0  # of computing that others have put into what `found` gave
        self._mine, self._merged = ExitStack(), set()

    def merged(self, names: Iterable[str]) -> None:
        """Note what has been taken over already, by a worker before."""
        self._merged.update(names)

    def untouched(self, names: Iterable[str]) -> list[str]:
        """Those of the trainings that nobody has begun."""
        return [name for name in names if not self._path(name, "step").exists()]

    def found(self, name: str) -> Tensors | None:
        """What another worker made of it, if it has."""
        known = self._read(self._path(name, "safetensors"))
        if known is None:
            return None
        self.seconds += known[0].get("seconds", 0.0) if name not in self._merged else 0.0
        self._merged.add(name)
        return known[1]

    def begin(self, name: str) -> bool:
        """Take a training; False if another worker has it. Where locks cannot be written no other
        takes it either."""
        with suppress(OSError):
            private_folder(self.folder)
        lock = self._path(name, "lock")
        mine = self._mine.enter_context(hold_lock(lock)) is not None or not os.access(lock, os.W_OK)
        if (
            mine and self._read(self._path(name, "safetensors")) is None
        ):  # nothing made of it, or nothing that is whole
            self.step(name, 0)
            self._merged.add(name)
            return True
        self._mine.close()
        return False

    def step(self, name: str, step: int) -> None:
        """Tell how far the training in hand is."""
        path = self._path(name, "step")
        set_odd_aside(path)
        with suppress(OSError):
            write_note(path, str(step))

    def steps(self) -> int:
        """The steps made of trainings that other workers have in hand."""
        mine, total = {self._path(name, "step") for name in self._merged}, 0
        for path in self.folder.glob("*.step"):
            with suppress(OSError, ValueError):
                total += int(path.read_text()) if path not in mine and plain_file(path) else 0
        return total

    def give(self, name: str, tensors: Tensors, seconds: float) -> None:
        """Leave to the others what the training in hand made, in so many seconds of computing."""
        with suppress(OSError):
            write_whole(
                self._path(name, "safetensors"),
                pack(tensors, {**self.identity, "seconds": seconds}),
            )
            self._path(name, "part.safetensors").unlink(missing_ok=True)
        self._mine.close()

    def keep(self, name: str, part: Tensors) -> None:
        """Write a checkpoint of the training in hand."""
        with suppress(OSError):
            write_whole(self._path(name, "part.safetensors"), pack(part, self.identity))

    def part(self, name: str) -> Tensors:
        """The last checkpoint of a training, empty if there is none."""
        known = self._read(self._path(name, "part.safetensors"))
        return known[1] if known else {}

    def leave(self) -> None:
        """Let go of the training in hand, if there is one."""
        self._mine.close()

    def _path(self, name: str, kind: str) -> Path:
        return self.folder / f"{hashlib.sha256(name.encode()).hexdigest()[:16]}.{kind}"

    def _read(self, path: Path) -> tuple[dict[str, Any], Tensors] | None:
        if plain_file(path):
            with suppress(OSError, Damaged):
                record, tensors = read(path)
                if {name: record.get(name) for name in self.identity} == self.identity:
                    return record, tensors
        return None
