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


def step_shown(run: Run, view: View) -> float:
    """Return the training step shown, NaN of a run in training that has no snapshots yet."""
    return run.step(view) if run.snapshot_steps else np.nan


def at_step(run: Run, view: View) -> str:
    """Return the beginning of a title: which of a run's models is shown."""
    return f"Step {run.step(view)}" if run.config.trains else "As given"


def weights_at(run: Run, snapshot: int) -> Weights:
    """Return the weights at a snapshot, float32 on the CPU: the last one's exactly, earlier ones'
    with the rounding of `compact`."""
    is_last = snapshot == len(run.snapshot_steps) - 1
    arrays = {}
    for tensor in run.tensors:
        if tensor.startswith("final/"):
            name = tensor.removeprefix("final/")
            arrays[name] = run[tensor] if is_last else run.snapshot(name, snapshot)
    # one layer has no W_K1, and never reads it
    arrays.setdefault("W_K1", np.zeros_like(arrays["W_K2"]))
    for name in FROZEN:
        arrays[name] = run[f"frozen/{name}"]
    # torch.tensor copies: memory-mapped arrays are read-only
    return Weights(**{name: torch.tensor(array) for name, array in arrays.items()})
