"""Read a run of trained learners."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from icl_core import registry
from icl_core.contract.experiment import Run
from icl_core.contract.trained_learner import TrainedLearner
from icl_core.papers.learners.trained.settings import View

LATE = 0.1  # the share of the steps over which a training's end is measured
LEARNING = 0.05  # a fall of the error over these by more than this share: it is still learning


@dataclass(frozen=True)
class Reference:
    """The reference that a learner's answers are nearest to.

    name      its name
    distance  the mean squared difference, as a share of the error of predicting zero
    error     its standard error
    """

    name: str
    distance: float
    error: float


def learners_of(run: Run) -> list[TrainedLearner]:
    """Return the learners of a run, in order."""
    every = registry.trained_learners()
    return [every[id] for id in run.names("learners")]


def trained_weights(run: Run, learner: TrainedLearner) -> dict[str, Tensor]:
    """Return the weights of a learner at the end of its training, as the run holds them, in half
    precision."""
    prefix = f"final/{learner.id}/"
    return {
        name.removeprefix(prefix): torch.tensor(array.astype(np.float32))
        for name, array in run.tensors.items()
        if name.startswith(prefix)
    }


def place(run: Run, id: str) -> int:
    """Return the place of a learner among those of a run."""
    return run.names("learners").index(id)


def reference_place(run: Run, name: str) -> int:
    """Return the place of a reference among those of a run."""
    return run.names("references").index(name)


def share_of(run: Run, name: str) -> float:
    """Return what a reference leaves on the test prompts."""
    return float(run["baseline/reference"][reference_place(run, name)])


def nearest(run: Run, id: str, snapshot: int) -> Reference:
    """Return the reference that a learner acts most like at a snapshot; its error is that at the
    end."""
    distances = run["snapshot/reference"][snapshot, place(run, id)]
    best = int(distances.argmin())
    error = float(run["final/error"][place(run, id), best])
    return Reference(run.names("references")[best], float(distances[best]), error)


def prompt_shown(run: Run, view: View) -> int:
    """Return the index of the prompt of home that is shown."""
    return min(view.prompt, run["prompt/y"].shape[1] - 1)


def implied_weights(run: Run, view: View) -> np.ndarray:
    """Return every learner's implied weights in the prompt that is shown, [learners, d]."""
    return run["snapshot/implied"][run.snapshot_at(view), :, prompt_shown(run, view)]


def distances_to_target(run: Run, view: View) -> np.ndarray:
    """Return how far these are from w*, [learners]."""
    target = run["prompt/w"][:, prompt_shown(run, view)]
    return np.linalg.norm(implied_weights(run, view) - target, axis=1)


def fall(run: Run, id: str) -> float:
    """Return by what share a learner's error fell over the last tenth of its steps."""
    steps = run["curve/step"]
    losses = run[f"curve/{id}"]
    before = float(np.interp((1 - LATE) * steps[-1], steps, losses))
    return 1 - float(losses[-1]) / before


def is_learning(run: Run, id: str) -> bool:
    """Return whether a learner was still learning when its training ended."""
    return fall(run, id) > LEARNING
