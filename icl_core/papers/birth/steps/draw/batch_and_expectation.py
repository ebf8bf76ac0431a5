"""A memory learned from a batch, beside the one learned in exact expectation."""

import pandas as pd
import torch

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.papers.birth.shared.draw import NAMES
from icl_core.papers.birth.shared.probes import memory_scores
from icl_core.papers.birth.steps.gradient_steps import task_of
from icl_core.papers.birth.steps.load_run import weights_after
from icl_core.papers.birth.steps.metrics import after
from icl_core.papers.birth.steps.settings import View


def beside(run: Run, view: View) -> Panel:
    """Draw a memory as it is learned from a batch, beside the one in exact expectation."""
    name = view.matrix
    ways = ("batch", "exact")
    batch, exact = (
        memory_scores(name, weights_after(run, 3, way), task_of(run.config)) for way in ways
    )
    figure = figures.triple(
        batch.matrix, exact.matrix, None, batch.rows, batch.columns, "reading",
        titles=(f"{run.config.batch:,} sequences", "infinitely many", "difference"),
        row_title=batch.row_kind, column_title=batch.column_kind,
    )  # fmt: skip
    recalls = [float(after(run, f"recall_{name}", 3, way).mean()) for way in ways]
    return Panel(
        f"{NAMES[name]}: recall {recalls[0]:.0%} from a batch, {recalls[1]:.0%} in expectation; "
        f"cosine {cosine(batch.matrix, exact.matrix):.2f}"
        if batch.matrix.any()
        else f"{NAMES[name]}: the gradient is zero, both ways",
        "At the left the gradient is measured on sequences. In the middle it is the exact "
        "expectation by the proof's formulas, with p̂ = 1/N and, for W_K¹, a linear softmax. The "
        "difference is sampling noise and what these two approximations leave out. If the proof "
        "missed something, the two diagonals would differ.",
        figure,
        data=pd.DataFrame(
            batch.matrix.numpy().round(4), index=batch.rows, columns=batch.columns
        ).reset_index(names="row"),
    )


def cosine(a: torch.Tensor, b: torch.Tensor) -> float:
    """Return the cosine of two maps as vectors; 0 if one is zero."""
    return float(torch.cosine_similarity(a.flatten(), b.flatten(), 0))
