"""The loss of a method on a prompt, with the query and the target integrated out.

After L steps, a method that is linear in the labels y has

    w_L - w* = -C w*

with a matrix C [d, d] that depends on the prompt's Gram matrix S only. For a query x ~ N(0, Sigma)
and a target w* ~ N(0, Sigma^-1) the expected squared error of the query's label is then exactly

    E = tr(Sigma C Sigma^-1 C^T).

If the labels have noise, y_i = <w*, x_i> + e_i with e_i ~ N(0, v), the least-squares solution is
off w* by S^-1 X e / n, and the loss also holds

    v / n tr(Sigma (I - C) S^-1 (I - C)^T).

All is computed in the eigenbasis of Sigma = diag(eigenvalues) or, where eigenvalues are None, in
whitened coordinates. The loss is heavy-tailed over prompts: avoid sampled queries and targets where
possible, and state the error of the mean.
"""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from icl_core.in_context_regression.solvers import Grams, Setting

Eigenvalues = Float[Tensor, "d"]
Losses = Float[Tensor, "... prompts"]


def identity(S: Grams) -> Grams:
    """Return the identity for every prompt of S, as a view that takes no memory of its own."""
    eye = torch.eye(len(S), dtype=S.dtype, device=S.device)  # [d, d]
    return eye[:, :, None].expand_as(S)  # [d, d, prompts]


def error_maps(method: Callable[..., Tensor], S: Grams, steps: int, *settings: Setting) -> Tensor:
    """Return C after 0 to `steps` steps, [steps + 1, d, d, prompts], of a function of `solvers`
    with its further `settings`."""
    target = identity(S)
    return target - method(S, target, steps, *settings)


def expected_loss(C: Float[Tensor, "... d d prompts"], eigenvalues: Eigenvalues | None) -> Losses:
    """Return the expected squared error of the query's label, sum_ij D_i / D_j C_ij^2; it is d for
    C = I."""
    squares = C.square()
    if eigenvalues is not None:
        squares = squares * weight(eigenvalues).to(C)[:, :, None]
    return squares.sum((-3, -2))  # [..., prompts]


def noise_loss(
    C: Float[Tensor, "... d d prompts"], S: Grams, eigenvalues: Eigenvalues | None, share: float
) -> Losses:
    """Return what noise in the labels adds to the expected loss; `share` is v / n, S invertible."""
    factor = inverse_factor(S)  # [d, d, prompts]
    reached = identity(S) - C
    product = torch.einsum("...ikp,kjp->...ijp", reached, factor.to(reached))
    squares = product.square()
    if eigenvalues is not None:
        squares = squares * eigenvalues.to(squares)[:, None, None]
    return share * squares.sum((-3, -2))  # [..., prompts]


def inverse_factor(S: Grams) -> Float[Tensor, "d d prompts"]:
    """Return a matrix F of every prompt with F F^T = S^-1, in float64; S = L L^T, F = L^-T."""
    lower = torch.linalg.cholesky(S.permute(2, 0, 1).double())  # [prompts, d, d]
    one = torch.eye(len(S), dtype=lower.dtype, device=lower.device)
    return torch.linalg.solve_triangular(lower.mT, one, upper=True).permute(1, 2, 0)


def weight(eigenvalues: Eigenvalues) -> Float[Tensor, "d d"]:
    """Return the matrix of D_i / D_j in float64."""
    D = eigenvalues.double()
    return D[:, None] / D


def sampled_loss(error: Float[Tensor, "... d prompts"], eigenvalues: Eigenvalues | None) -> Losses:
    """Return e^T Sigma e for the error e = w - w* of a sampled w*, the query integrated out: the
    loss of methods that are not linear in y."""
    squares = error.square()
    if eigenvalues is not None:
        squares = squares * eigenvalues.to(error)[:, None]
    return squares.sum(-2)  # [..., prompts]


def mean_and_error(losses: Losses) -> tuple[Float[Tensor, "..."], Float[Tensor, "..."]]:
    """Return the mean over prompts and its standard error, in float64; the error of a single prompt
    is NaN."""
    losses = losses.double()
    mean = losses.mean(-1)
    prompts = losses.shape[-1]
    variance = (losses - mean[..., None]).square().sum(-1) / (prompts - 1)
    return mean, (variance / prompts).sqrt()
