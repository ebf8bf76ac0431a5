"""Losses of prompts. A method linear in y has w_L - w* = -C w* with a C [d, d] of the prompt's S
alone, and with x ~ N(0, Sigma) and w* ~ N(0, Sigma^-1) the query and w* integrate out exactly: E =
tr(Sigma C Sigma^-1 C^T).

Everything stands in the eigenbasis of Sigma = diag(eigenvalues), or, with eigenvalues None, in
whitened coordinates. The mean over prompts is heavy-tailed: do without sampled queries and targets
where you can, and state its error.
"""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from icl_core.learners.solvers import Grams, Setting

Eigenvalues = Float[Tensor, "d"]
Losses = Float[Tensor, "... prompts"]


def identity(S: Grams) -> Grams:
    """The identity for every prompt of S, without memory of its own."""
    return torch.eye(len(S), dtype=S.dtype, device=S.device)[:, :, None].expand_as(S)


def error_maps(method: Callable[..., Tensor], S: Grams, steps: int, *settings: Setting) -> Tensor:
    """C after 0 to `steps` steps, [steps + 1, d, d, prompts], of a method of `solvers` with its
    settings."""
    target = identity(S)
    return target - method(S, target, steps, *settings)


def expected_loss(C: Float[Tensor, "... d d prompts"], eigenvalues: Eigenvalues | None) -> Losses:
    """sum_ij D_i / D_j C_ij^2: the expected squared error of the query's label; d for C = I."""
    squares = C.square()
    return (
        squares if eigenvalues is None else squares * weight(eigenvalues).to(C)[:, :, None]
    ).sum((-3, -2))


def weight(eigenvalues: Eigenvalues) -> Float[Tensor, "d d"]:
    """D_i / D_j, in float64."""
    D = eigenvalues.double()
    return D[:, None] / D


def sampled_loss(error: Float[Tensor, "... d prompts"], eigenvalues: Eigenvalues | None) -> Losses:
    """e^T Sigma e for e = w - w* with w* sampled, the query integrated out: for methods that are
    not linear in y."""
    squares = error.square()
    return (squares if eigenvalues is None else squares * eigenvalues.to(error)[:, None]).sum(-2)


def mean_and_error(losses: Losses) -> tuple[Float[Tensor, "..."], Float[Tensor, "..."]]:
    """The mean over prompts and its standard error, in float64; the error of a single prompt is
    NaN."""
    losses = losses.double()
    mean, prompts = losses.mean(-1), losses.shape[-1]
    variance = (losses - mean[..., None]).square().sum(-1) / (prompts - 1)
    return mean, (variance / prompts).sqrt()
