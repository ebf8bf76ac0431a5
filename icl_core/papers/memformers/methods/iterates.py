"""One prompt, and the iterates of every method on it."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from icl_core.contract.experiment import Run
from icl_core.in_context_regression import (
    conjugate_gradient,
    gradient_descent,
    gram,
    momentum,
    nesterov,
)
from icl_core.papers.memformers.methods.settings import View
from icl_core.papers.memformers.shared import baselines, load_run
from icl_core.papers.memformers.shared.task import Batch

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
        return {"construction": baselines.replay(np.diag(steps), problem.S, problem.fitted)}
    path = baselines.replay(np.diag(steps), white, target)
    return {"construction": torch.einsum("ia,lap->lip", back, path)}
