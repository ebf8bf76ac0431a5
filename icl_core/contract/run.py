"""A run in memory: its settings, its tensors and how it came about. No torch."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Tensors = Mapping[str, np.ndarray]


class CannotDraw(Exception):
    """This run has nothing to show in this view; the message is a sentence for the visitor."""


PER_SNAPSHOT = ("snapshot", "scale", "reading")  # first parts of names with one row a snapshot


@dataclass(frozen=True, eq=False)
class Run:
    """A finished training, or one that is still going. A run equals only itself, so that it can be
    the key of a cache.

    config    the settings that it was trained with
    tensors   numpy arrays by name; the first part of a name says what the array holds:
              `curve/…` (seeds first), `snapshot/…` (snapshots first), `snapshot/step` (the training
              step of each snapshot), `scale/…` (see `compact`), `reading/…` (what a view would
              compute, snapshots first), `frozen/…` and `final/…` (weights), `names/…` (see
              `names`), `seed/…` (see `seeds`); an experiment may add others
    info      JSON: version, packages, device, seconds, metrics
    digest    a name for the content: runs of equal digests have equal tensors
    finished  False while the training is going on
    shipped   takes the name of a preset of the same experiment and returns its shipped run, None if
              there is none: for what is said of several runs together
    """

    config: Any
    tensors: Tensors
    info: Mapping[str, Any] = field(default_factory=dict)
    digest: str = ""
    finished: bool = True
    shipped: Callable[[str], "Run | None"] = lambda preset: None

    def __getitem__(self, name: str) -> np.ndarray:
        """Return a tensor. Raises `CannotDraw` if a run that is still going does not have it yet,
        `KeyError` if a finished one does not have it."""
        if not self.finished and name not in self.tensors:
            raise CannotDraw("This is measured when the training has ended.")
        return self.tensors[name]

    def names(self, what: str) -> list[str]:
        """Return the ids of what was measured, in order, from the tensor `names/<what>`.

        They are those of the time of the run; a table of today's code may have others.
        """
        return json.loads(self[f"names/{what}"].tobytes())

    @property
    def seeds_held(self) -> int:
        """The number of seeds whose final model the run holds (see `seeds`)."""
        numbers = {name.split("/")[1] for name in self.tensors if name.startswith("seed/")}
        return 1 + len(numbers - {"shown"})

    def limit(self, at_most: str) -> int:
        """Return what a knob's `at_most` names: a property of the run or of its config."""
        owner = self if hasattr(type(self), at_most) else self.config
        return getattr(owner, at_most)

    @property
    def snapshot_steps(self) -> list[int]:
        """The training step of each snapshot; empty if there are no snapshots."""
        return [int(step) for step in self.tensors.get("snapshot/step", ())]

    def snapshot_at(self, view: Any) -> int:
        """Return the index of the snapshot that `view` shows: the last one if its index is beyond
        the last."""
        return min(view.snapshot, len(self.snapshot_steps) - 1)

    def step(self, view: Any) -> int:
        """Return the training step of the snapshot that `view` shows. Raises IndexError if the run
        has no snapshots."""
        return self.snapshot_steps[self.snapshot_at(view)]

    def snapshot(self, name: str, index: int) -> np.ndarray:
        """Return the tensor `snapshot/<name>` at the snapshot `index`, as float32."""
        values = self[f"snapshot/{name}"][index].astype(np.float32)
        scale = self.tensors.get(f"scale/{name}")
        return values if scale is None else values * scale[index]


def names(ids: Iterable[str]) -> np.ndarray:
    """Return the tensor that stores `ids` under a run's `names/…`: the bytes of their JSON."""
    return np.frombuffer(json.dumps(list(ids)).encode(), dtype=np.uint8)


def compact(name: str, snapshots: np.ndarray) -> dict[str, np.ndarray]:
    """Return the tensors that store `snapshots` [snapshots, …, rows, columns] as int8, with one
    scale a row.

    For snapshots that are only drawn: `Run.snapshot` gives each entry back to within 1/254 of the
    largest of its row.
    """
    scale = np.abs(snapshots).max(-1, keepdims=True) / 127  # [snapshots, …, rows, 1]
    whole = np.rint(snapshots / np.where(scale > 0, scale, 1)).astype(np.int8)
    return {f"snapshot/{name}": whole, f"scale/{name}": scale.astype(np.float32)}


def thinned(tensors: Tensors, count: int) -> Tensors:
    """Return the same tensors with at most `count` snapshots, evenly spaced among them; the first
    and the last stay."""
    snapshots = len(tensors.get("snapshot/step", ()))
    if snapshots <= count:
        return tensors
    chosen = np.linspace(0, snapshots - 1, count).round().astype(int)
    return {
        name: array[chosen] if name.split("/")[0] in PER_SNAPSHOT else array
        for name, array in tensors.items()
    }
