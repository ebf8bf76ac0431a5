"""A run in memory: its settings, tensors and circumstances. No torch."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Tensors = Mapping[str, np.ndarray]
PER_SNAPSHOT = ("snapshot", "scale", "reading")  # kinds of tensors that have one row a snapshot


@dataclass(frozen=True, eq=False)
class Run:
    """A finished training (or one still going, `finished` False): its settings, tensors and
    circumstances. It equals itself alone, so that what is found in it can be kept by it.

    `tensors` are numpy arrays. Names begin with what they are: `curve/...` (seeds first),
    `snapshot/...` (snapshots first), `snapshot/step`, `reading/...` (of what a view would compute,
    snapshots first), `frozen/...`, `final/...`, `names/...` (see `names`), and others an
    experiment's own. `info` is JSON: version, packages, device, seconds, metrics. `digest` names
    the content: equal digests, equal tensors.
    """

    config: Any
    tensors: Tensors
    info: Mapping[str, Any] = field(default_factory=dict)
    digest: str = ""
    finished: bool = True

    def __getitem__(self, name: str) -> np.ndarray:
        return self.tensors[name]

    def names(self, what: str) -> list[str]:
        """The ids of what was measured, `names/<what>`, in order: the run knows them, whatever
        today's code does."""
        return json.loads(self.tensors[f"names/{what}"].tobytes())

    @property
    def snapshot_steps(self) -> list[int]:
        """The training steps of its snapshots; empty if it has none."""
        return [int(step) for step in self.tensors.get("snapshot/step", ())]

    def snapshot_at(self, view: Any) -> int:
        """The index of the snapshot that `view` shows; one beyond the last means the last."""
        return min(view.snapshot, len(self.snapshot_steps) - 1)

    def snapshot(self, name: str, index: int) -> np.ndarray:
        """`snapshot/<name>` at an index, float32."""
        found = self.tensors[f"snapshot/{name}"][index].astype(np.float32)
        scale = self.tensors.get(f"scale/{name}")
        return found if scale is None else found * scale[index]


def names(ids: Iterable[str]) -> np.ndarray:
    """A tensor that holds ids, for a run's `names/...`: their JSON as bytes."""
    return np.frombuffer(json.dumps(list(ids)).encode(), dtype=np.uint8)


def compact(name: str, snapshots: np.ndarray) -> dict[str, np.ndarray]:
    """Snapshots that are only looked at, [snapshots, …, rows, columns], as int8 with a scale a row:
    `Run.snapshot` gives them back, each entry within 1/254 of the largest of its row."""
    scale = np.abs(snapshots).max(-1, keepdims=True) / 127
    whole = np.rint(snapshots / np.where(scale > 0, scale, 1)).astype(np.int8)
    return {f"snapshot/{name}": whole, f"scale/{name}": scale.astype(np.float32)}


def thinned(tensors: Tensors, count: int) -> Tensors:
    """The same with at most `count` of its snapshots, evenly among them, the first and the last
    included."""
    held = len(tensors.get("snapshot/step", ()))
    if held <= count:
        return tensors
    at = np.linspace(0, held - 1, count).round().astype(int)
    return {
        name: array[at] if name.split("/")[0] in PER_SNAPSHOT else array
        for name, array in tensors.items()
    }
