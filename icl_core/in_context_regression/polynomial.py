"""The least loss of all methods that are linear in y and whose layers share one preconditioner.

Such a method with L layers has C = p(S) with a polynomial p of degree L and p(0) = 1, so no such
method is better than the best polynomial. In a Chebyshev basis, p(S) = sum_k c_k T_k(S), its
expected loss is the quadratic form

    c^T G c,  G_jk = mean over prompts of sum_ij D_i / D_j T_j(S)_ij T_k(S)_ij.

Noise in the labels of variance v adds, with b_k = T_k at S = 0,

    v / n mean over prompts of tr Sigma (b_j I - T_j(S)) S^-1 (b_k I - T_k(S)).

The constraint p(0) = 1 is b^T c = 1, and the least loss is at

    c = G^-1 b / (b^T G^-1 b).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from icl_core.in_context_regression.linear import (
    Eigenvalues,
    expected_loss,
    identity,
    inverse_factor,
    mean_and_error,
    noise_loss,
    weight,
)
from icl_core.in_context_regression.solvers import Grams, product

CHUNK = 2**18  # numbers of the basis that are computed at a time, so that they fit the CPU's cache
SEEN = 1024  # prompts whose largest eigenvalue sets the interval of the basis


@dataclass(frozen=True, eq=False)
class Polynomial:
    """A polynomial p with p(0) = 1, in Chebyshev polynomials of 2 S / high - I; float64 on the CPU.

    If all its roots r_l are real, a plain linear transformer whose layers have the preconditioners
    A_l = A / r_l, in any order, attains the loss: p(S) = prod_l (I - S / r_l). If S is whitened,
    A = Sigma^-1, and the roots are always real. Otherwise A = I, and they may be complex if n is
    small compared with d.

    loss          the mean expected loss, on a pool of prompts or over all
    error         its standard error, at these coefficients; it leaves out that they were fitted
    coefficients  c [degree + 1]
    roots         [degree], ascending; float64 if all are real, else complex128
    high          the upper end of the interval [0, high] of the basis
    """

    loss: float
    error: float
    coefficients: Float[Tensor, "degree_1"]
    roots: Tensor
    high: float


@dataclass(frozen=True, eq=False)
class Moments:
    """The quadratic form G of a pool of prompts, in the basis on [0, high]; it determines the
    expected loss of every polynomial."""

    G: Float[Tensor, "degree_1 degree_1"]
    high: float


def moments(S: Grams, eigenvalues: Eigenvalues | None, degree: int, share: float = 0.0) -> Moments:
    """Return G for polynomials up to `degree`, in float64 on the CPU. Its leading block is the G of
    a lower degree. `share` is the variance of noise in the labels over n."""
    if degree < 0:
        raise ValueError(f"degree must be at least 0, got {degree}")
    # Some prompts may have larger eigenvalues: the basis need not be bounded by 1 on every prompt.
    high = float(torch.linalg.eigvalsh(S[..., :SEEN].permute(2, 0, 1).double()).max())
    G = torch.zeros(degree + 1, degree + 1, dtype=torch.float64, device=S.device)
    for basis in _bases(S, degree, high):
        if eigenvalues is not None:
            basis = basis * weight(eigenvalues).to(basis).sqrt()[:, :, None]
        flat = basis.flatten(1)  # [degree + 1, d d chunk]
        G += flat @ flat.T
    if share:
        G += share * _noise_form(S, eigenvalues, degree, high)
    return Moments(G.cpu() / S.shape[-1], high)


def _noise_form(
    S: Grams, eigenvalues: Eigenvalues | None, degree: int, high: float
) -> Float[Tensor, "degree_1 degree_1"]:
    """Return the part of the noise in the labels in G, summed over prompts."""
    G = torch.zeros(degree + 1, degree + 1, dtype=torch.float64, device=S.device)
    b = at_zero(degree).to(S.device)[:, None, None, None]
    start = 0
    for basis in _bases(S, degree, high):
        part = S[..., start : start + basis.shape[-1]]
        start += basis.shape[-1]
        reached = b * identity(part).double() - basis  # [degree + 1, d, d, chunk]
        factors = torch.einsum("mikp,kjp->mijp", reached, inverse_factor(part))
        if eigenvalues is not None:
            factors = factors * eigenvalues.to(factors).sqrt()[:, None, None]
        flat = factors.flatten(1)
        G += flat @ flat.T
    return G


def at_zero(degree: int) -> Float[Tensor, "degree_1"]:
    """Return b_k, the value of T_k(2 z / high - 1) at z = 0: (-1)^k."""
    b = torch.ones(degree + 1, dtype=torch.float64)
    b[1::2] = -1.0
    return b


def floors(
    S: Grams, eigenvalues: Eigenvalues | None, degrees: Sequence[int], share: float = 0.0
) -> list[Polynomial]:
    """Return for each degree the polynomial with p(0) = 1 that has the least expected loss on the
    pool. Its loss there is below that of every polynomial over all prompts: evaluate it on another
    pool, or see `wishart.exact_floors`.

    With `coloured` S and its eigenvalues this is the least loss of layers A_l proportional to I;
    with whitened S and None, of layers proportional to Sigma^-1. `share` is the variance of noise
    in the labels over n.
    """
    form = moments(S, eigenvalues, max(degrees), share)
    coefficients = torch.zeros(len(degrees), max(degrees) + 1, dtype=torch.float64)
    for row, degree in zip(coefficients, degrees, strict=True):
        row[: degree + 1] = _best(form.G[: degree + 1, : degree + 1])
    losses = _losses(S, eigenvalues, coefficients, form.high, share)  # [degrees, prompts]
    means, errors = mean_and_error(losses)  # [degrees] each
    polynomials: list[Polynomial] = []
    for i, degree in enumerate(degrees):
        c = coefficients[i, : degree + 1]
        roots = roots_of(c, form.high)
        polynomials.append(Polynomial(means[i].item(), errors[i].item(), c, roots, form.high))
    return polynomials


def evaluate(polynomial: Polynomial, S: Grams) -> Grams:
    """Return C = p(S), computed by the three-term recurrence in the precision of S."""
    basis = _basis(S, len(polynomial.coefficients) - 1, polynomial.high)
    return torch.tensordot(polynomial.coefficients.to(S), basis, 1)


def chebyshev(x: Tensor, degree: int) -> Float[Tensor, "degree_1 ..."]:
    """Return the Chebyshev polynomials T_0..T_degree at the numbers x, [degree + 1, ...]."""
    return _recur(torch.ones_like(x), x, degree, lambda T: x * T)


def _basis(S: Tensor, degree: int, high: float) -> Float[Tensor, "degree_1 d d prompts"]:
    one = identity(S)
    Z = S * (2 / high) - one  # [0, high] is mapped to [-1, 1]
    return _recur(one, Z, degree, lambda T: product(Z, T))


def _recur(first: Tensor, second: Tensor, degree: int, times: Callable[[Tensor], Tensor]) -> Tensor:
    """Return T_0..T_degree by T_{k+1} = 2 Z T_k - T_{k-1}; `times` multiplies by Z."""
    basis = [first, second]
    for _ in range(degree - 1):
        basis.append(2 * times(basis[-1]) - basis[-2])
    return torch.stack(basis[: degree + 1])


def _bases(S: Tensor, degree: int, high: float) -> Iterator[Float[Tensor, "degree_1 d d chunk"]]:
    """Yield the basis in float64, some prompts at a time."""
    chunk = max(CHUNK // (len(S) ** 2 * (degree + 1)), 64)  # prompts
    return (_basis(part.double(), degree, high) for part in S.split(chunk, -1))


def _best(G: Tensor) -> Tensor:
    """Return c = G^-1 b / (b^T G^-1 b), solved with G scaled to a unit diagonal."""
    b = at_zero(len(G) - 1)
    scale = G.diagonal().rsqrt()
    scaled = G * scale[:, None] * scale
    # G is singular, and the least loss zero, if the pool has fewer distinct eigenvalues than the
    # degree. Adding rounding errors to the diagonal keeps it solvable.
    scaled.diagonal().add_(len(G) * torch.finfo(G.dtype).eps)
    c = scale * torch.linalg.solve(scaled, b * scale)
    return c / (b @ c)


def _losses(
    S: Tensor, eigenvalues: Tensor | None, coefficients: Tensor, high: float, share: float
) -> Float[Tensor, "polynomials prompts"]:
    """Return the expected loss of every polynomial, a row of `coefficients`, on every prompt."""
    losses: list[Tensor] = []
    start = 0
    for basis in _bases(S, coefficients.shape[1] - 1, high):
        part = S[..., start : start + basis.shape[-1]]
        start += basis.shape[-1]
        C = torch.tensordot(coefficients.to(basis), basis, 1)  # [polynomials, d, d, chunk]
        loss = expected_loss(C, eigenvalues)
        losses.append(loss + noise_loss(C, part, eigenvalues, share) if share else loss)
    return torch.cat(losses, -1).cpu()


def roots_of(c: Float[Tensor, "degree_1"], high: float) -> Tensor:
    """Return the roots of a series in T_k(2 z / high - 1), ascending; complex128 if one is not
    real."""
    roots = np.polynomial.chebyshev.chebroots(c.numpy())  # of 2 S / high - 1
    return torch.from_numpy(np.sort((roots + 1) * (high / 2)))
