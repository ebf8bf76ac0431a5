"""Which matrix has something to learn, and when: the gradients at every snapshot."""

from functools import lru_cache

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.figures import Curve
from icl_core.papers.birth.induction.load_run import weights_at
from icl_core.papers.birth.induction.settings import View
from icl_core.papers.birth.shared.gradient import loss_and_gradient
from icl_core.papers.birth.shared.train import held_out, task_of

TOKENS = 2048  # on which a gradient is taken, in eight sequences or more: all snapshots in .3 s
MATRICES = {
    "W_O2": ("W_O²", "layer 3", None),
    "W_K2": ("W_K²", "layer 2", None),
    "W_K1": ("W_K¹", "layer 1", None),
    "W_F": ("W_F", "layer 4", "dash"),
}


def gradients_panel(run: Run, view: View) -> Panel:
    """Draw the Frobenius norm of every matrix's gradient over training, on held-out sequences."""
    norms = _norms(run)
    steps = np.array(run.snapshot_steps)
    series = [
        Curve(MATRICES[name][0], steps, norm[None], *MATRICES[name][1:])
        for name, norm in norms.items()
    ]
    at = run.step(view)
    figure = figures.curves(series, "training step", "norm of the gradient", at=at, log_y=True)
    return Panel(
        _title(run, norms),
        "How strongly the loss pulls at each matrix, whether it is frozen or not: the norm of the "
        "gradient on held-out sequences, at every snapshot. A matrix whose gradient is small "
        "waits for another: see which line rises after which. Where little is left to learn, all "
        "fall.",
        figure,
        data=pd.DataFrame({"step": steps, **norms}),
    )


def _title(run: Run, norms: dict[str, np.ndarray]) -> str:
    """Return which matrix is pulled at most at the start, and by how much more than the one pulled
    at least."""
    first = {name: norm[0] for name, norm in norms.items()}
    most = max(first, key=first.__getitem__)
    least = min(first, key=first.__getitem__)
    most_label, least_label = (MATRICES[name][0] for name in (most, least))
    return (
        f"At the start {most_label} is pulled {_times(first[most] / first[least])} as strongly as "
        f"{least_label}"
    )


def _times(ratio: float) -> str:
    return f"{ratio:.0f} times" if ratio >= 10 else f"{ratio:.1f} times"


@lru_cache(maxsize=8)
def _norms(run: Run) -> dict[str, np.ndarray]:
    """By matrix [snapshots]."""
    config = run.config
    norms = []
    batch = held_out(task_of(config), max(8, TOKENS // config.T), "cpu")
    for index in range(len(run.snapshot_steps)):
        gradient, _ = loss_and_gradient(
            weights_at(run, index), batch, config.positions, layers=config.layers
        )
        norms.append({name: float(matrix.norm()) for name, matrix in gradient.items()})
    return {name: np.array([each[name] for each in norms]) for name in MATRICES if name in norms[0]}
