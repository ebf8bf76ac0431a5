"""From a run to the model that it holds, and what to call it."""

import numpy as np
import torch

from icl_core.contract.experiment import Run
from icl_core.papers.birth.induction.settings import View
from icl_core.papers.birth.shared.model import Weights
from icl_core.papers.birth.shared.train import FROZEN


def origin(run: Run) -> str:
    """Return where the matrices of a run come from: "trained" here, or "given" by a visitor."""
    return "trained" if run.config.trains else "given"


def at_step(run: Run, view: View) -> str:
    """Return which of a run's models is shown, as a title begins."""
    return f"Step {run.step(view)}" if run.config.trains else "As given"


def weights_at(run: Run, snapshot: int) -> Weights:
    """Return the weights at a snapshot, float32 on the CPU; the last one exactly, earlier ones
    about as they were."""
    last = snapshot == len(run.snapshot_steps) - 1
    names = [name.removeprefix("final/") for name in run.tensors if name.startswith("final/")]
    found = {name: run[f"final/{name}"] if last else run.snapshot(name, snapshot) for name in names}
    found.setdefault("W_K1", np.zeros_like(found["W_K2"]))  # one layer has none, and never reads it
    found |= {name: run[f"frozen/{name}"] for name in FROZEN}
    # a copy: memory-mapped arrays are read-only
    return Weights(**{name: torch.tensor(array) for name, array in found.items()})
