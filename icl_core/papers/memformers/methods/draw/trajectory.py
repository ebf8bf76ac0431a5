"""One prompt: the iterates of every method in the plane of two eigenvectors of Σ."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.figures import Bowl, Track
from icl_core.in_context_regression import (
    conjugate_gradient,
    gradient_descent,
    gram,
    momentum,
    nesterov,
)
from icl_core.papers.memformers.methods.settings import View
from icl_core.papers.memformers.shared import known_methods, load_run
from icl_core.papers.memformers.shared.task import Batch

# of a path, its colour where that has another name
KINDS = {"Nesterov": "nesterov", "CGD": "conjugate gradient"}
NOISY = (
    " The labels have noise: the rings' centre, where conjugate gradient arrives, is the "
    "least-squares solution, and not w*."
)
Paths = dict[str, Tensor]


@dataclass(frozen=True, eq=False)
class Problem:
    """A prompt in the eigenbasis of Σ, with a last axis of one prompt.

    S            [d, d, 1]
    target       w* [d, 1]
    fitted       [d, 1] the least-squares solution: w* itself where labels have no noise
    eigenvalues  [d]
    """

    S: Tensor
    target: Tensor
    fitted: Tensor
    eigenvalues: Tensor

    def losses(self, path: Tensor) -> np.ndarray:
        """Return what a fresh query loses in the mean, eᵀ Σ e, at iterates [points, d, 1]:
        [points]."""
        error = path[..., 0] - self.target[:, 0]
        return (error.square() * self.eigenvalues).sum(-1).double().numpy()


def trajectory_panel(run: Run, view: View) -> Panel:
    """Draw the paths of all methods over the contours of this prompt's loss in the plane of two
    eigenvectors."""
    depth = load_run.depth_of(run, view)
    across, up = axes(run.config.d, view)
    problem, paths = solved(run, view, depth)
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
    return Panel(
        _title(losses, layers),
        _caption(run),
        figure,
        data=_table(paths, losses, plane),
        note="The rings are lines of equal loss on this prompt's own examples, with all other "
        "coordinates at w*; the paths are seen from above the plane. The error is that on a fresh "
        "query, eᵀ Σ e." + NOISY * bool(run.config.noise),
    )


def axes(d: int, view: View) -> tuple[int, int]:
    """Return the two eigenvectors that the view asks for, from 0. One beyond d becomes the last;
    where both are the same, the second becomes the next."""
    across = min(view.first_axis, d) - 1
    up = min(view.second_axis, d) - 1
    return across, up if up != across else (across + 1) % d


def solved(run: Run, view: View, depth: int) -> tuple[Problem, Paths]:
    """Return the prompt, and the iterates [depth + 1, d, 1] of every method on it."""
    U, target, _ = load_run.prompt_of(run, view.prompt)
    covariance = load_run.covariance_of(run, view.seed_shown)
    white = gram(U[..., None])  # [d, d, 1]
    turn = covariance.rotation.float()
    shrink = covariance.eigenvalues.float().sqrt()[:, None]  # [d, 1]
    S = torch.einsum("ia,abp,jb->ijp", shrink * turn, white, shrink * turn)
    problem_target = (turn @ target / shrink[:, 0])[:, None]  # [d, 1]
    white_fitted = target[:, None]
    pull = None
    if run.config.noise:
        noise = U @ load_run.label_noise_of(run, view.prompt) / run.config.n  # U ε / n, [d]
        white_fitted = target[:, None] + torch.linalg.solve(white[..., 0], noise)[:, None]
        pull = noise[None, :, None, None]
    fitted = turn @ white_fitted / shrink
    problem = Problem(S, problem_target, fitted, covariance.eigenvalues.float())
    batch = Batch(white[None], target[None, :, None, None], U[None, ..., None], noise=pull)
    parameters = load_run.parameters_at(run, view.seed_shown, depth, run.snapshot_at(view))
    config = replace(run.config, layers=depth, seeds=1)
    root = load_run.root_of(run, view.seed_shown)
    learned = load_run.iterates(parameters, config, root, batch)
    gd, ball, ahead = (load_run.tuned(run, name, depth) for name in ("gd", "momentum", "nesterov"))
    return problem, {
        "gradient descent": gradient_descent(S, problem.fitted, depth, *gd),
        "momentum": momentum(S, problem.fitted, depth, *ball),
        "Nesterov": nesterov(S, problem.fitted, depth, *ahead),
        **_construction(run, depth, problem, white, white_fitted, turn / shrink),
        "CGD": conjugate_gradient(S, problem.fitted, depth).iterates,
        "trained": torch.einsum("ia,lap->lip", turn / shrink, learned),
    }


def _construction(
    run: Run, depth: int, problem: Problem, white: Tensor, target: Tensor, back: Tensor
) -> Paths:
    """Return the path [depth + 1, d, 1] of the plain linear transformer that attains the floor, A_l
    = Σ⁻¹ / r_l or I / r_l; none if the roots r_l are complex. `back` [d, d] turns whitened
    coordinates, in which `white` [d, d, 1] and `target` [d, 1] are, into the problem's."""
    steps, is_white = load_run.constructed(run, depth)
    if not np.isfinite(steps).all():
        return {}
    if not is_white:
        return {"construction": known_methods.replay(np.diag(steps), problem.S, problem.fitted)}
    path = known_methods.replay(np.diag(steps), white, target)
    return {"construction": torch.einsum("ia,lap->lip", back, path)}


def _title(losses: dict[str, np.ndarray], layers: int) -> str:
    order = ("trained", "construction", "CGD", "gradient descent")
    errors = ", ".join(f"{name} {losses[name][layers]:.2g}" for name in order if name in losses)
    return f"Error on this prompt after {layers} layer{'s' * (layers != 1)}: {errors}"


def _caption(run: Run) -> str:
    direction = (
        "The construction knows Σ⁻¹ and heads for w*, as does a model that has learned Σ⁻¹. "
        "Gradient descent first falls down the steep side, then creeps along the valley."
        if load_run.knows_covariance(run.config)
        else "Only CGD, which looks at the prompt, can allow for it: Aₗ = aₗ I takes the same "
        "steps along every axis."
    )
    return (
        "Each dot is a guess after one more layer, from w₀ = 0 towards the star w*. Gradient "
        "descent, momentum and Nesterov have their best constant settings. The valley is "
        f"longest along the eigenvector of the smallest eigenvalue. {direction} Without training "
        "the blue path would stay at the start or leave the axes."
    )


def _table(paths: Paths, losses: dict[str, np.ndarray], plane: list[int]) -> pd.DataFrame:
    rows: list[dict[str, Any]] = []
    for name, path in paths.items():
        for layer, point in enumerate(path):
            across, up = (float(point[axis, 0]) for axis in plane)
            loss = float(losses[name][layer])
            rows.append({"method": name, "layer": layer, "across": across, "up": up, "loss": loss})
    return pd.DataFrame(rows).round(6)
