"""How far a trained model is from its construction, on tasks that no training saw (Section 4.1, Figures 1 and 2)."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from icl_core.papers.gdssm.shared import any_layer as models
from icl_core.papers.gdssm.shared.any_layer import Model
from icl_core.papers.gdssm.shared.task import Tasks, loss

DERIVED = 64  # tasks at which sensitivities are taken: f^2 numbers a task, and their cosine differs little among tasks


@dataclass(frozen=True, eq=False)
class Watch:
    """Held-out tasks, with what the construction makes of them computed once."""

    tasks: Tasks
    prediction: Tensor  # (n_o, tasks)
    sensitivity: Tensor  # (n_o, f, DERIVED)


def watch(tasks: Tasks, constructed: Model) -> Watch:
    """Watch these tasks beside that construction, of one seed."""
    first = tasks.part(0, DERIVED)
    return Watch(tasks, models.predict(constructed, tasks)[0], models.sensitivity(constructed, first)[0])


def measure(weights: Model, watch: Watch) -> dict[str, np.ndarray]:
    """For every seed: the loss; the mean L2 distance of the predictions; the mean cosine and L2 distance of the
    sensitivities, the derivatives of the prediction by the query's x."""
    predicted = models.predict(weights, watch.tasks)  # (seeds, n_o, tasks)
    derived = models.sensitivity(weights, watch.tasks.part(0, DERIVED)).flatten(1, 2)  # (seeds, n_o f, DERIVED)
    theirs = watch.sensitivity.flatten(0, 1)
    found = {
        "loss": loss(predicted, watch.tasks.y[-1]),
        "prediction_distance": (predicted - watch.prediction).norm(dim=1).mean(-1),
        "sensitivity_cosine": torch.cosine_similarity(derived, theirs[None], dim=1).mean(-1),
        "sensitivity_distance": (derived - theirs).norm(dim=1).mean(-1),
    }
    return {name: value.cpu().numpy() for name, value in found.items()}
