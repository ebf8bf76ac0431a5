"""One prompt: the iterates of methods in the plane of two eigenvectors of Σ."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.figures import Bowl, Track
from icl_core.figures.drawn_paths import window
from icl_core.papers.memformers.methods import iterates
from icl_core.papers.memformers.methods.draw.stage import seat_of
from icl_core.papers.memformers.methods.settings import View
from icl_core.papers.memformers.methods.words import WORDS
from icl_core.papers.memformers.shared import load_run
from icl_core.papers.memformers.shared.draw.losses import fitted
from icl_core.papers.memformers.shared.load_run import depth_of

DRAWN = ("gradient descent", "construction", "CGD", "trained")  # of the paths
# of a path, its colour where that has another name
KINDS = {"Nesterov": "nesterov", "CGD": "conjugate gradient"}


def path(run: Run, view: View) -> Panel:
    """Draw one prompt's paths over the contours of its loss."""
    depth = depth_of(run, view)
    plane = list(iterates.axes(run.config.d, view))
    problem, paths = iterates.solved(run, view, depth)
    _, finished = iterates.solved(run, replace(view, snapshot=len(run.snapshot_steps) - 1), depth)
    if "construction" in paths and not run.snapshot_at(view):
        # A question asks what can be reached: before the first training step the path is a point.
        built = paths["construction"]  # [depth + 1, d, 1]
        paths = {**paths, "construction": built[:1].expand_as(built)}
    names = [name for name in DRAWN if name in paths]
    lost = {name: problem.losses(paths[name]) for name in names}
    tracks = [_track(name, paths[name], plane, lost[name]) for name in names]
    ends = [_track(name, finished[name], plane, lost[name]) for name in names]
    goal = problem.target[plane, 0].double().numpy()
    centre = tuple(problem.fitted[plane, 0].tolist())
    bowl = Bowl(problem.S[plane][:, plane, 0].double().numpy(), centre)
    titles = [
        f"eigenvector {axis + 1} (λ = {float(problem.eigenvalues[axis]):.3g})" for axis in plane
    ]
    corners = window([track.points() for track in ends], tracks[0].points()[0], goal)
    figure = figures.paths(
        tracks, bowl, titles[0], titles[1], at=depth, corners=corners, target=tuple(goal.tolist())
    )
    return WORDS.panel(
        "path",
        run,
        view,
        fitted(figure, seat_of(run.config)),
        own=lost["trained"][-1],
        cg=lost["CGD"][-1],
    )


def _track(name: str, points: Any, plane: list[int], lost: np.ndarray) -> Track:
    x, y = (points[:, axis, 0].numpy() for axis in plane)
    return Track(name, x, y, KINDS.get(name, name), lost)


def trajectory_panel(run: Run, view: View) -> Panel:
    """Draw the paths of all methods over the contours of this prompt's loss in the plane of two
    eigenvectors."""
    depth = load_run.depth_of(run, view)
    across, up = iterates.axes(run.config.d, view)
    problem, paths = iterates.solved(run, view, depth)
    layers = min(view.after, depth)
    losses = {name: problem.losses(path) for name, path in paths.items()}
    tracks = [
        Track(
            name,
            path[:, across, 0].numpy(),
            path[:, up, 0].numpy(),
            KINDS.get(name, name),
            losses[name],
        )
        for name, path in paths.items()
    ]
    plane = [across, up]
    values = problem.eigenvalues.tolist()
    centre = tuple(problem.fitted[plane, 0].tolist())
    bowl = Bowl(problem.S[plane][:, plane, 0].double().numpy(), centre)
    names = [f"along eigenvector {axis + 1} of Σ (eigenvalue {values[axis]:.3g})" for axis in plane]
    target = tuple(problem.target[plane, 0].tolist())
    figure = figures.paths(tracks, bowl, *names, at=layers, target=target)
    after = {name: loss[layers] for name, loss in losses.items()}
    return WORDS.panel(
        "trajectory",
        run,
        view,
        figure,
        data=_table(paths, losses, plane),
        layers_shown=layers,
        own=after["trained"],
        has_construction="construction" in after,
        construction=after.get("construction"),
        cg=after["CGD"],
        gd=after["gradient descent"],
        knows_covariance=load_run.knows_covariance(run.config),
    )


def _table(paths: iterates.Paths, losses: dict[str, np.ndarray], plane: list[int]) -> pd.DataFrame:
    rows: list[dict[str, Any]] = []
    for name, path in paths.items():
        for layer, point in enumerate(path):
            across, up = (float(point[axis, 0]) for axis in plane)
            loss = float(losses[name][layer])
            rows.append({"method": name, "layer": layer, "across": across, "up": up, "loss": loss})
    return pd.DataFrame(rows).round(6)
