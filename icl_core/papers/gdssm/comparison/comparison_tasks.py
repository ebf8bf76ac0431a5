"""The tasks of the comparison: fresh ones to train on, and held-out ones on which every model is judged alike."""

import numpy as np
import torch

from icl_core import device
from icl_core.papers.gdssm.comparison.models import Learner, chunked
from icl_core.papers.gdssm.comparison.settings import Config
from icl_core.papers.gdssm.shared.task import Tasks, loss, sample

TUNED_ON, WATCHED, JUDGED = (101, 2**11), (102, 2**9), (103, 2**13)  # seed and number of held-out tasks
CHUNK = 512  # tasks judged at a time


def tasks(config: Config, count: int, generator: torch.Generator) -> Tasks:
    """Fresh tasks of the setting, on the device."""
    return sample(config.f, config.N, count, generator, 1 if config.model == "1-D" else config.f).to(device.device())


def held_out(config: Config, which: tuple[int, int]) -> Tasks:
    """Tasks that no model is trained on."""
    return tasks(config, which[1], torch.Generator().manual_seed(2**31 + which[0]))


def judged(each: Learner, weights: dict[str, torch.Tensor], on: Tasks) -> np.ndarray:
    """The losses [seeds], infinite where the weights went astray."""
    losses = loss(chunked(each, weights, on, CHUNK), on.y[-1]).cpu().numpy()
    return np.where(np.isfinite(losses), losses, np.float32(np.inf))
