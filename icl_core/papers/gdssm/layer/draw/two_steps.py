"""Two layers as two numbers: the prediction A G x − B G S x, over the contours of its
exact loss."""

from typing import Any

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure, Trace
from icl_core.figures import Bowl, Curve, number_text
from icl_core.figures.style import INK, PAPER
from icl_core.papers.gdssm.layer.symmetries import quantities
from icl_core.papers.gdssm.shared import closed_forms
from icl_core.papers.gdssm.shared.closed_forms import TwoSteps
from icl_core.papers.gdssm.shared.load_run import row_of, trained_at

LEVELS = (
    0.003,
    0.015,
    0.05,
    0.12,
    0.25,
    0.45,
    0.7,
)  # of the contours, above the optimum, as shares of zero's loss


def draw(run: Run, view: Any) -> Panel:
    """Draw where training took A and B, over the exact loss, with the curve of all shared rates."""
    size = run.config.f, run.config.N, run.config.r
    free = closed_forms.two_steps_free(*size)
    shared = closed_forms.two_steps_shared(*size)
    paths = np.stack([coefficients(run, index) for index in range(len(run.snapshot_steps))], 1)
    snapshot = run.snapshot_at(view)
    row = row_of(run, view)
    table = {"step": run.snapshot_steps, "A": paths[:, :, 0].mean(0), "B": paths[:, :, 1].mean(0)}
    A, B = paths[row, snapshot].tolist()
    from_there = " Here training begins at the grey dot: the star is where it should go." * (
        run.config.start == "construction"
    )
    penalised = (
        f" The penalty λ = {run.config.penalty:g} that is built in shrinks the first step; "
        "training makes up for it."
    )
    return Panel(
        f"Step {run.snapshot_steps[snapshot]}: A = {number_text(A)}, B = {number_text(B, 4)}; loss "
        f"{number_text(closed_forms.two_step_loss(A, B, *size))}",
        "Two steps of one rate h = η/N lie on the dashed curve (A, B) = (2h, h²), and the best of "
        f"them costs {number_text(shared.loss)}. Steps with a rate each can lie anywhere on "
        f"or below it, and the best of them cost {number_text(free.loss)}. Training is not bound "
        "to the curve, and this is the whole of its advantage. Layers that only copied gradient "
        "descent at one rate would stop at the grey dot." + from_there,
        _plane(size, free, shared, paths[row, : snapshot + 1]),
        data=pd.DataFrame(table).round(6),
        note="Lines of equal loss, exact for infinitely many tasks. G = ∑ y xᵀ, S = ∑ x xᵀ. "
        "Decays and other entries of the trained matrices count only as far as they scale A and B."
        + penalised
        * (run.config.penalty > 0),
    )


def _plane(
    size: tuple[int, int, float], free: TwoSteps, shared: TwoSteps, path: np.ndarray
) -> Figure:
    """Draw the path [snapshots, 2] of one seed over the contours of the loss, and the two
    optima."""
    rates = np.linspace(0, 1.7 * shared.A / 2, 60)
    series = [
        Curve("one rate for both steps", 2 * rates, rates**2, "gradient descent"),
        Curve("trained", path[:, 0], path[:, 1], markers=True),
    ]
    reach = 1.55 * free.A, 1.7 * free.B
    figure = figures.curves(
        series,
        "A, on the gradient",
        "B, on curvature times gradient",
        x_range=(-0.04 * reach[0], reach[0]),
        y_range=(-0.12 * reach[1], reach[1]),
        height=440,
    )
    best = (
        _best(shared, "best shared rate", "gradient descent"),
        _best(free, "best two rates", "construction"),
    )
    figure.add_traces([_contours(size, free), *best])
    return figure.update_layout(
        hovermode="closest", showlegend=True, yaxis={"exponentformat": "none"}
    )


def coefficients(run: Run, snapshot: int) -> np.ndarray:
    """Return (A, B) of every seed at a snapshot, [seeds, 2]."""
    rates = quantities(trained_at(run, snapshot), run.config.N)
    return np.stack([rates["A"].numpy(), rates["B"].numpy()], -1)


def _contours(size: tuple[int, int, float], free: TwoSteps) -> Trace:
    """Return lines of equal loss on tasks of that f, N and r: ellipses about the best pair."""
    f, _, r = size
    _, m2, m3, m4 = closed_forms.moments(*size)
    scale = np.array([free.A, free.B])  # A and B differ by powers of N
    curvature = closed_forms.variance(r) * np.array([[m2, -m3], [-m3, m4]]) * scale[:, None] * scale
    losses = [share * closed_forms.zero_loss(f, r) for share in LEVELS]
    return figures.contours(Bowl(curvature, (1.0, 1.0)), losses, 100.0, (free.A, free.B)).update(
        opacity=0.4
    )


def _best(best: TwoSteps, name: str, kind: str) -> Trace:
    """Return a marker at the best pair, with its name and loss."""
    marker = {"size": 14, "color": figures.colour(kind), "line": {"color": INK, "width": 1.5}}
    marker |= {"symbol": "star" if kind == "construction" else "circle", "opacity": 1}
    look = {"mode": "markers", "marker": marker, "hoverlabel": {"bgcolor": PAPER}}
    return Trace(x=[best.A], y=[best.B], name=f"{name}: {best.loss:.3f}", **look)
