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
    """A memory as it is learned from a batch and in expectation."""
    name, ways = view.matrix, ("batch", "exact")
    batch, exact = (
        memory_scores(name, weights_after(run, 3, way), task_of(run.config)) for way in ways
    )
    found, expected = batch.matrix, exact.matrix
    figure = figures.triple(
        found, expected, None, batch.rows, batch.columns, "reading",
        titles=(f"{run.config.batch:,} sequences", "infinitely many", "difference"),
        row_title=batch.row_kind, column_title=batch.column_kind,
    )  # fmt: skip
    right = [float(after(run, f"recall_{name}", 3, way).mean()) for way in ways]
    title = (
        f"{NAMES[name]}: recall {right[0]:.0%} from a batch, {right[1]:.0%} in expectation; cosine "
    )
    return Panel(
        title + f"{cosine(found, expected):.2f}"
        if found.any()
        else f"{NAMES[name]}: the gradient is zero, both ways",
        "At the left the gradient is measured on sequences. In the middle it is the exact "
        "expectation by the proof's formulas, with p̂ = 1/N and, for W_K¹, a linear softmax. The "
        "difference is sampling noise and what these two approximations leave out. If the proof "
        "missed something, the two diagonals would differ.",
        figure,
        data=pd.DataFrame(
            found.numpy().round(4), index=batch.rows, columns=batch.columns
        ).reset_index(names="row"),
    )


def cosine(a: torch.Tensor, b: torch.Tensor) -> float:
    """Of two maps as vectors; 0 if one is zero."""
    return float(torch.cosine_similarity(a.flatten(), b.flatten(), 0))
