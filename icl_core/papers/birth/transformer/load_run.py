"""What is read from a run: its heads' measures and what they do at a step, its example's maps, its
final weights."""

from dataclasses import dataclass

import numpy as np
import torch

from icl_core.contract.experiment import Run
from icl_core.papers.birth.shared.behaviour import INDUCTION, PREVIOUS, UNIFORM, beyond, role
from icl_core.papers.birth.shared.full.model import forward

DOES = {
    PREVIOUS: "finds the previous character",
    INDUCTION: "finds what followed",
    UNIFORM: "spreads evenly",
}
MIXED = "does neither"
KINDS = {PREVIOUS: "layer 1", INDUCTION: "layer 2"}  # colours


@dataclass(frozen=True)
class Head:
    """What one head of the first seed does at a step: its mass on t − 1; on what followed, at
    triggers and at other characters that come again, each beside a uniform attention's; how evenly
    it is spread."""

    name: str
    previous: float
    triggers: float
    others: float
    uniformity: float
    triggers_even: float
    others_even: float

    @property
    def role(self) -> str:
        """One of `behaviour`'s roles."""
        return role(self.previous, self.triggers, self.triggers_even, self.uniformity)

    @property
    def does(self) -> str:
        """In words."""
        return DOES.get(self.role, MIXED)

    @property
    def found(self) -> float:
        """How far its mass at triggers is beyond a uniform attention's: 0 is chance, 1 is all."""
        return beyond(self.triggers, self.triggers_even)

    @property
    def strength(self) -> float:
        """Of what it does, how much."""
        return {PREVIOUS: self.previous, INDUCTION: self.found}.get(self.role, self.uniformity)


MEASURES = ("previous", "triggers", "others", "uniformity", "triggers_even", "others_even")


def heads_at(run: Run, step: float) -> list[Head]:
    """All heads at the evaluation nearest to a training step."""
    at = int(np.abs(run["curve/step"][: len(run["heads/previous"])] - step).argmin())
    columns = zip(*(run[f"heads/{name}"][at].tolist() for name in MEASURES), strict=True)
    return [Head(name, *values) for name, values in zip(run.names("heads"), columns, strict=True)]


def heads_shown(run: Run, snapshot: int) -> list[Head]:
    """All heads at a snapshot."""
    return heads_at(run, run.snapshot_steps[snapshot])


def last_heads(run: Run) -> list[Head]:
    """All heads after the training."""
    return heads_at(run, float(run["curve/step"][-1]))


def of_role(heads: list[Head], wanted: str) -> list[Head]:
    """The heads that do one thing."""
    return [head for head in heads if head.role == wanted]


def example_maps(run: Run, snapshot: int) -> np.ndarray:
    """The example's attention at a snapshot, [heads, T, T]: the last from the final weights, others
    as they are kept, in parts of 255."""
    if run.finished and snapshot == len(run.snapshot_steps) - 1:
        with torch.no_grad():
            found = forward(final_weights(run), example_inputs(run)[None], run.config.heads)
        return torch.cat(found.attention, 1)[0].numpy()
    packed, T = run["reading/attention"][snapshot], len(run.names("sequence"))
    maps = np.zeros((len(packed), T, T), np.float32)
    maps[:, *np.tril_indices(T)] = packed.astype(np.float32) / 255
    return maps


def example_inputs(run: Run) -> torch.Tensor:
    """The tokens of the example, [T]."""
    known = {character: token for token, character in enumerate(run.names("characters"))}
    return torch.tensor([known[character] for character in run.names("sequence")])


def final_weights(run: Run) -> dict[str, torch.Tensor]:
    """The weights after the training, in single precision."""
    return {
        name[6:]: torch.from_numpy(array.astype(np.float32))
        for name, array in run.tensors.items()
        if name.startswith("final/")
    }


def forms(run: Run, wanted: str) -> float | None:
    """The step of the first evaluation at which some head of the first seed has a role; None if
    none ever does."""
    steps = run["curve/step"][: len(run["heads/previous"])]
    return next((float(at) for at in steps if of_role(heads_at(run, at), wanted)), None)
