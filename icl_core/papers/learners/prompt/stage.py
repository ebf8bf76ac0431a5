"""One prompt as it is read: its pairs, the weights of every learner, their errors and states, and
what each keeps of w* along each eigenvector of the pairs."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure, Trace
from icl_core.figures import Curve
from icl_core.figures.style import FAINT, INK, axis, layout
from icl_core.in_context_regression import untrained
from icl_core.in_context_regression.recent_learners import EVERY
from icl_core.in_context_regression.untrained import Learner
from icl_core.papers.learners.prompt.draw import STYLES
from icl_core.papers.learners.prompt.load_run import (
    Shown,
    members,
    pairs_read,
    settings_of,
    shown,
)
from icl_core.papers.learners.prompt.settings import View
from icl_core.papers.learners.prompt.words import WORDS
from icl_core.papers.learners.shared.plane import (
    STAR,
    add_mark,
    add_pairs,
    frame,
    plane,
    titles_of_pairs,
    two,
)

LEAST, LARGEST = 1e-4, 10.0  # the ends of the axis of errors
REACH = 1.35  # of a plane's picture over what it must hold
CIRCLE = np.linspace(0, 2 * np.pi, 73)
DEVIATIONS = 2.0  # of the posterior's ellipse
MARK, NEWEST = 12, 18  # pixels of a mark, and of the newest pair's
NAMES = 104  # pixels of the names of learners beside a map
TO_COME = 0.15  # opacity of pairs that are still to come
POINTS = 121  # of a curve of a filter
ENDS = (-0.5, 2.0)  # of the axis of shares that are kept
FARTHEST = 10.0  # where a curve is cut off
FILTER_MARK = 10  # pixels


@dataclass(frozen=True, eq=False)
class Filter:
    """What one learner keeps.

    curve        its share at every λ of the grid; NaN where it has no such curve
    eigenvalues  of S, ascending
    shares       what it keeps along each eigenvector
    """

    curve: np.ndarray
    eigenvalues: np.ndarray
    shares: np.ndarray


def errors(run: Run, view: View) -> Panel:
    """Draw the error of every learner on the prompt after each pair."""
    prompt = shown(run, view)
    read = pairs_read(run, view)
    x = np.arange(len(prompt.x) + 1)
    series = [
        Curve(
            learner.short,
            x,
            np.clip(prompt.errors[learner.id], LEAST, None),
            *STYLES[learner.id][:2],
        )
        for learner in members(run, view)
    ]
    figure = figures.curves(
        series,
        "pairs read",
        "share left",
        log_y=True,
        y_range=(_lower_end(prompt), LARGEST),
        at=read,
        height=figures.SEAT,
    )
    return WORDS.panel(
        "errors",
        run,
        view,
        figures.seated(figure, figures.HALF),
        data=pd.DataFrame(
            {"pairs": x} | {learner.id: prompt.errors[learner.id] for learner in members(run, view)}
        ),
    )


def weights(run: Run, view: View) -> Panel:
    """Draw the weights of every learner in the plane of the first two features, with the ellipse
    that Bayes leaves for w*."""
    prompt = shown(run, view)
    read = pairs_read(run, view)
    figure = plane("w₁", "w₂") if run.config.d > 1 else plane("w", "")
    ellipse = _ellipse(prompt, read)
    figure.add_scatter(
        x=ellipse[:, 0],
        y=ellipse[:, 1],
        mode="lines",
        line={"color": FAINT, "width": 2, "dash": "dot"},
        fill="toself",
        fillcolor=figures.colour("floor"),
        opacity=0.12,
        name="posterior",
        hoverinfo="skip",
        showlegend=False,
    )
    for learner in members(run, view):
        path = two(prompt.learned[learner.id])
        figure.add_traces(_path(learner.id, learner.short, path, read))
    target = two(prompt.w)
    add_mark(figure, target, "w*", STAR)
    frame(figure, _extent(prompt, run, view), REACH)
    return WORDS.panel(
        "plane",
        run,
        view,
        figures.seated(figure),
        data=pd.DataFrame(
            [
                {
                    "learner": learner.short,
                    "pairs": t,
                    **{f"w{i + 1}": float(value) for i, value in enumerate(row)},
                }
                for learner in members(run, view)
                for t, row in enumerate(prompt.learned[learner.id])
            ]
        ),
    )


def pairs_drawn(run: Run, view: View) -> Panel:
    """Draw the pairs of the prompt: x in the plane and y as a colour, or with one feature y over
    x. With one or two features they can be dragged."""
    prompt = shown(run, view)
    read = pairs_read(run, view)
    d = run.config.d
    order = np.arange(len(prompt.x))
    marker = {
        "size": np.where(order == read - 1, NEWEST, MARK),
        "opacity": np.where(order < read, 1.0, TO_COME),
    }
    figure = plane(*titles_of_pairs(d))
    add_pairs(figure, prompt.x, prompt.y, prompt.w, marker, REACH)
    data = pd.DataFrame(prompt.x, columns=[f"x{i + 1}" for i in range(d)])
    data["y"] = prompt.y
    return WORDS.panel("pairs", run, view, figures.seated(figure), data=data)


def states(run: Run, view: View) -> Panel:
    """Draw the weights of every learner beside the gradient at zero and w*."""
    prompt = shown(run, view)
    read = pairs_read(run, view)
    shown_learners = members(run, view)
    rows = {
        "w*": prompt.w,
        "−gradient": prompt.b[read],
        **{learner.short: prompt.learned[learner.id][read] for learner in shown_learners},
    }
    matrix = np.array(list(rows.values()))
    limit = 1.5 * float(np.abs(prompt.w).max()) or 1.0
    columns = [f"{i + 1}" for i in range(run.config.d)]
    figure = figures.small_map(
        np.clip(matrix, -limit, limit),
        (list(rows), columns),
        ("learner", "feature"),
        "weight",
        limit,
    )
    return WORDS.panel(
        "states",
        run,
        view,
        figures.seated(figure).update_layout(margin={"l": NAMES}, yaxis={"title": {"text": ""}}),
        data=pd.DataFrame(matrix, index=list(rows), columns=columns).reset_index(),
    )


def kept(run: Run, view: View) -> Panel:
    """Draw what is kept of w* along each eigenvector of the pairs read, against its eigenvalue,
    with the curves of fixed methods."""
    prompt = shown(run, view)
    end = max(_usual_end(run), 1.15 * float(np.linalg.eigvalsh(prompt.S[-1]).max()))
    grid = torch.linspace(0, end, POINTS, dtype=torch.float64)
    filters_by_id = {
        learner.id: _filter(run, view, learner, grid) for learner in members(run, view)
    }
    figure = Figure(layout=layout(figures.SEAT))
    for id, filtered in filters_by_id.items():
        figure.add_traces(_filter_traces(EVERY[id], grid.numpy(), filtered))
    for level in (0, 1):
        line = {"color": FAINT, "width": 1, "dash": "dot"}
        figure.add_shape(type="line", xref="paper", x0=0, x1=1, y0=level, y1=level, line=line)
    figure.update_layout(
        xaxis=axis("eigenvalue λ of S", range=[0, end], showgrid=False),
        yaxis=axis("kept of w*", range=list(ENDS)),
    )
    rows = [
        {"learner": id, "eigenvalue": at, "kept": share}
        for id, filtered in filters_by_id.items()
        for at, share in zip(filtered.eigenvalues, filtered.shares, strict=True)
    ]
    first = members(run, view)[0]
    return WORDS.panel(
        "filter",
        run,
        view,
        figures.seated(figure),
        data=pd.DataFrame(rows).round(5),
        learner=first.short,
        weakest=float(np.nan_to_num(filters_by_id[first.id].shares[0])),
    )


def _lower_end(prompt: Shown) -> float:
    """Return the lower end of the axis of errors, a power of ten below all that are not tiny."""
    smallest = min(float(errors.min()) for errors in prompt.errors.values())
    return float(np.clip(10.0 ** np.floor(np.log10(max(smallest, LEAST))), LEAST, 0.1))


def _extent(prompt: Shown, run: Run, view: View) -> np.ndarray:
    """Return points [points, 2] that the picture must hold: zero, w*, where every learner ends,
    without those that are far away, and the ellipse. They are the same after every pair."""
    target = two(prompt.w)
    ends = np.stack([two(prompt.learned[learner.id][-1]) for learner in members(run, view)])
    reach = 2.5 * max(float(np.abs(target).max()), 0.2)
    near = ends[np.abs(ends).max(1) < reach]
    return np.concatenate([near, _ellipse(prompt, len(prompt.x)), [target, np.zeros(2)]])


def _ellipse(prompt: Shown, read: int) -> np.ndarray:
    """Return the ellipse that holds the first two features of w* with 86 % probability, [points,
    2]."""
    covariance = prompt.posterior[read]
    if len(covariance) == 1:
        covariance = np.diag([covariance[0, 0], 0.0])
    values, vectors = np.linalg.eigh(covariance[:2, :2])
    circle = np.stack([np.cos(CIRCLE), np.sin(CIRCLE)])
    radii = DEVIATIONS * np.sqrt(np.clip(values, 0, None))
    centre = two(prompt.learned["bayes"][read])
    return centre + (vectors @ (radii[:, None] * circle)).T


def _path(id: str, name: str, path: np.ndarray, read: int) -> list[Trace]:
    """Return a learner's path from zero to the pairs read, and its mark."""
    kind, dash, symbol = STYLES[id]
    points = np.where(np.arange(len(path))[:, None] <= read, path, np.nan)
    line = Trace(
        x=points[:, 0],
        y=points[:, 1],
        mode="lines",
        line={"color": figures.colour(kind), "width": 1.2, "dash": dash or "solid"},
        opacity=0.45,
        name=name,
        showlegend=False,
        hoverinfo="skip",
    )
    mark = Trace(
        x=path[read : read + 1, 0],
        y=path[read : read + 1, 1],
        mode="markers",
        marker={
            "symbol": symbol,
            "size": MARK,
            "color": figures.colour(kind),
            "line": {"color": INK, "width": 1},
        },
        name=name,
        hovertemplate=f"{name}: %{{x:.3f}}, %{{y:.3f}}<extra></extra>",
    )
    return [line, mark]


def _usual_end(run: Run) -> float:
    """Return about the largest eigenvalue that prompts of home have, for an axis that stays where
    it is while a pair is dragged: that of Σ times (1 + √(d/n))², the edge of its spectrum."""
    home = run.config.home
    return float(home.eigenvalues().max()) * (1 + (home.d / home.n) ** 0.5) ** 2


def _filter(run: Run, view: View, learner: Learner, grid: Float[Tensor, "points"]) -> Filter:
    prompt = shown(run, view)
    read = pairs_read(run, view)
    home = run.config.home
    steps = run.config.steps
    S = torch.tensor(prompt.S[read])
    curve = torch.full_like(grid, torch.nan)
    if untrained.has_filter_curve(learner, home):
        curve = untrained.filter_curve(learner, settings_of(run, learner.id), home, steps, grid)
    elif learner.id == "cg":
        curve = untrained.conjugate_filter_curve(
            S[..., None], torch.tensor(prompt.b[read])[:, None], steps, grid
        )
    weights = torch.tensor(prompt.learned[learner.id][read])
    eigenvalues, shares = untrained.along_eigenvectors(weights, torch.tensor(prompt.w), S)
    cut = torch.where(curve.abs() < FARTHEST, curve, torch.nan)
    return Filter(cut.numpy(), eigenvalues.numpy(), shares.numpy())


def _filter_traces(learner: Learner, grid: np.ndarray, filtered: Filter) -> list[Trace]:
    """Return a learner's curve, and its marks within the picture."""
    kind, dash, symbol = STYLES[learner.id]
    colour = figures.colour(kind)
    line = Trace(
        x=grid,
        y=filtered.curve,
        mode="lines",
        line={"color": colour, "width": 2, "dash": dash},
        name=learner.short,
        showlegend=False,
        hoverinfo="skip",
    )
    marks = Trace(
        x=filtered.eigenvalues,
        y=np.clip(filtered.shares, *ENDS),
        mode="markers",
        marker={"symbol": symbol, "size": FILTER_MARK, "color": colour},
        name=learner.short,
        hovertemplate="λ %{x:.3g}, kept %{y:.3g}",
    )
    return [line, marks]
