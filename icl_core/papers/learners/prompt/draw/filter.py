"""What every learner keeps of w* along each eigenvector of the pairs read."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure, Trace
from icl_core.figures import number_text
from icl_core.figures.style import FAINT, axis, layout
from icl_core.in_context_regression import filters
from icl_core.in_context_regression.untrained import Learner
from icl_core.papers.learners.prompt.draw.style import STYLES
from icl_core.papers.learners.prompt.load_run import (
    members,
    pairs_read,
    settings_of,
    shown,
    where,
)
from icl_core.papers.learners.prompt.settings import View

POINTS = 121  # of a curve
ENDS = (-0.5, 2.0)  # of the axis of shares
FARTHEST = 10.0  # where a curve is cut off
MARK = 10  # pixels


@dataclass(frozen=True, eq=False)
class Kept:
    """What one learner keeps.

    curve        its share at every λ of the grid; NaN where it has no such curve
    eigenvalues  of S, ascending
    shares       what it keeps along each eigenvector
    """

    curve: np.ndarray
    eigenvalues: np.ndarray
    shares: np.ndarray


def draw(run: Run, view: View) -> Panel:
    """Draw the shares that are kept against the eigenvalues, with the curves of fixed methods."""
    prompt = shown(run, view)
    end = max(_usual_end(run), 1.15 * float(np.linalg.eigvalsh(prompt.S[-1]).max()))
    grid = torch.linspace(0, end, POINTS, dtype=torch.float64)
    learners = members(run, view)
    kept = [_kept(run, view, learner, grid) for learner in learners]
    figure = Figure(layout=layout(figures.SEAT))
    for learner, each in zip(learners, kept, strict=True):
        figure.add_traces(_traces(learner, grid.numpy(), each))
    for level in (0, 1):
        line = {"color": FAINT, "width": 1, "dash": "dot"}
        figure.add_shape(type="line", xref="paper", x0=0, x1=1, y0=level, y1=level, line=line)
    figure.update_layout(
        xaxis=axis("eigenvalue λ of S", range=[0, end], showgrid=False),
        yaxis=axis("kept of w*", range=list(ENDS)),
    )
    weakest = number_text(float(np.nan_to_num(kept[0].shares[0])), 2)
    rows = [
        {"learner": learner.id, "eigenvalue": at, "kept": share}
        for learner, each in zip(learners, kept, strict=True)
        for at, share in zip(each.eigenvalues, each.shares, strict=True)
    ]
    return Panel(
        f"Of the weakest direction {learners[0].short} keeps {weakest}",
        "For each eigenvector of S the share of w* that a learner's weights have along it; 1 is "
        "right. Lines are methods with fixed coefficients: one curve for every prompt, low where λ "
        "is small. Conjugate gradient has a curve of its own for each prompt, bent towards 1 at "
        "the eigenvalues. Marks without a line are the other rules"
        + ("; noise moves all marks off their lines." if run.config.noise else "."),
        figures.seated(figure),
        data=pd.DataFrame(rows).round(5),
        note=where(run, view),
    )


def _usual_end(run: Run) -> float:
    """Return about the largest eigenvalue that prompts of home have, for an axis that stays where
    it is while a pair is dragged: that of Σ times (1 + √(d/n))², the edge of its spectrum."""
    home = run.config.home
    return float(home.eigenvalues().max()) * (1 + (home.d / home.n) ** 0.5) ** 2


def _kept(run: Run, view: View, learner: Learner, grid: Float[Tensor, "points"]) -> Kept:
    prompt = shown(run, view)
    read = pairs_read(run, view)
    home = run.config.home
    steps = run.config.steps
    S = torch.tensor(prompt.S[read])
    curve = torch.full_like(grid, torch.nan)
    if filters.has_curve(learner, home):
        curve = filters.curve(learner, settings_of(run, learner.id), home, steps, grid)
    elif learner.id == "cg":
        curve = filters.conjugate_curve(
            S[..., None], torch.tensor(prompt.b[read])[:, None], steps, grid
        )
    weights = torch.tensor(prompt.learned[learner.id][read])
    eigenvalues, shares = filters.along_eigenvectors(weights, torch.tensor(prompt.w), S)
    cut = torch.where(curve.abs() < FARTHEST, curve, torch.nan)
    return Kept(cut.numpy(), eigenvalues.numpy(), shares.numpy())


def _traces(learner: Learner, grid: np.ndarray, kept: Kept) -> list[Trace]:
    """Return a learner's curve, and its marks within the picture."""
    kind, dash, symbol = STYLES[learner.id]
    colour = figures.colour(kind)
    line = Trace(
        x=grid,
        y=kept.curve,
        mode="lines",
        line={"color": colour, "width": 2, "dash": dash},
        name=learner.short,
        showlegend=False,
        hoverinfo="skip",
    )
    marks = Trace(
        x=kept.eigenvalues,
        y=np.clip(kept.shares, *ENDS),
        mode="markers",
        marker={"symbol": symbol, "size": MARK, "color": colour},
        name=learner.short,
        hovertemplate="λ %{x:.3g}, kept %{y:.3g}",
    )
    return [line, marks]
