"""What the matrices of the whole model do over training: their recall as memories, and the size of
their gradients."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import CannotDraw, Panel, Run
from icl_core.figures import Curve, mean_of
from icl_core.papers.birth.shared.memories import memory_tokens
from icl_core.papers.birth.shared.probes import early_positions
from icl_core.papers.birth.shared.train import task_of
from icl_core.papers.birth.transformer.draw.stage import step
from icl_core.papers.birth.transformer.settings import View

# by the id of a probe: label, colour, dash; the colours of the simplified model's
PROBES = {
    "W_O2": ("W_O²", "layer 3", None),
    "W_K2": ("W_K²", "layer 2", None),
    "W_K1_early": ("W_K¹ early", "layer 1", None),
    "W_K1": ("W_K¹ all", "layer 1", "dot"),
}
# by the id of a matrix: label, colour, dash
GATES = {
    "W_O2": ("W_O²", "layer 3", None),
    "W_K2": ("W_K²", "layer 2", None),
    "W_K1": ("W_K¹", "layer 1", None),
    "W_out2": ("feed-forward 2", "layer 4", "dash"),
}
WINDOW = 10  # steps that a gradient's size is averaged over


def recalls(run: Run, view: View) -> Panel:
    """Draw the recall of the three memories of an induction head over training (Figure 10). Raises
    `CannotDraw` unless the model has two layers."""
    if "curve/recall_W_O2" not in run.tensors:
        raise CannotDraw("which matrix stores what is known of two layers only")
    x = run["curve/step"]
    series = [
        Curve(label, x, run[f"curve/recall_{name}"], *look)
        for name, (label, *look) in PROBES.items()
    ]
    final = {curve.name: curve.mean()[-1] for curve in series}
    chance = 1 / len(memory_tokens(task_of(run.config)))
    return Panel(
        ", ".join(
            f"{name} recalls {value:.0%}" for name, value in final.items() if name != "W_K¹ all"
        )
        if run.finished
        else "Recall so far",
        "The same questions as to the simplified model: does the query of a position pick the "
        f"position before it (W_K¹; early: the first {early_positions(run.config.T)}), does the "
        "query of a character pick its copy made by layer 1 (W_K²), and is the character attended "
        "to the one that is said (W_O²)? Here queries and embeddings are learned, too. Of several "
        f"heads the best one counts. A head's chance is {chance:.1%} for W_K².",
        figures.curves(series, "training step", "recall", y_range=(0, 1.02), at=step(run, view)),
        data=pd.DataFrame({"step": x} | {curve.name: curve.mean() for curve in series}),
    )


def gradients(run: Run, view: View) -> Panel:
    """Draw the size of each matrix's gradient over training: what waits for what."""
    looks = {name: look for name, look in GATES.items() if f"batch/gradient_{name}" in run.tensors}
    sizes = {name: _smooth(run[f"batch/gradient_{name}"]) for name in looks}
    x = np.arange(next(iter(sizes.values())).shape[1]) * WINDOW + WINDOW / 2
    series = [Curve(label, x, sizes[name], *look) for name, (label, *look) in looks.items()]
    peaks = sorted((float(x[np.nanargmax(mean_of(sizes[name]))]), looks[name][0]) for name in looks)
    peak_steps = ", ".join(f"{label} at {at:.0f}" for at, label in peaks)
    return Panel(
        f"The gradients are largest at step: {peak_steps}" if run.finished else "Gradients so far",
        f"The norm of the loss's gradient by each matrix, the mean over {WINDOW} steps. A matrix "
        "whose gradient is small learns little yet. If none waited for another, all would be "
        "largest at once.",
        figures.curves(
            series, "training step", "norm of the gradient", log_y=True, at=step(run, view)
        ),
        data=pd.DataFrame({"step": x} | {curve.name: curve.mean() for curve in series}),
    )


def _smooth(norms: np.ndarray) -> np.ndarray:
    """Return means over windows of steps, [seeds, windows], of norms [seeds, steps]."""
    steps = norms.shape[1] // WINDOW * WINDOW  # in whole windows
    return norms[:, :steps].reshape(len(norms), -1, WINDOW).mean(2)
