"""The floor of all methods linear in y whose layers share one preconditioner. Such a method is C =
p(S), p(0) = 1, so the best polynomial of degree L bounds L layers. In a Chebyshev basis its
expected loss is c^T G c, with G_jk = mean sum_ij D_i / D_j T_j(S)_ij T_k(S)_ij; it is least at c =
G^-1 b / (b^T G^-1 b), b_k being T_k at S = 0.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from icl_core.learners.linear import Eigenvalues, expected_loss, identity, mean_and_error, weight
from icl_core.learners.solvers import Grams, product

CHUNK = 2**18  # numbers of the basis held at a time: it is to stay in the cache
SEEN = 1024  # prompts whose eigenvalues set the basis's interval


@dataclass(frozen=True, eq=False)
class Polynomial:
    """p in Chebyshev polynomials of 2 S / high - I; p(0) = 1. Float64 on the CPU.

    If all roots r_l are real, a plain linear transformer with A_l = A / r_l attains the floor, in
    any order: p(S) = prod_l (I - S / r_l), with A = I, or A = Sigma^-1 where S was whitened. They
    always are where S was whitened; with A = I they can be complex if n is small against d.
    """

    loss: float  # mean expected loss on the pool
    error: float  # its standard error, at these coefficients
    coefficients: Float[Tensor, "degree_1"]
    roots: Tensor  # [degree], ascending; float64 if all are real, else complex128
    high: float


@dataclass(frozen=True, eq=False)
class Moments:
    """The quadratic form G of the expected loss in the basis on [0, high]: all that a pool says
    about polynomials."""

    G: Float[Tensor, "degree_1 degree_1"]
    high: float


def moments(S: Grams, eigenvalues: Eigenvalues | None, degree: int) -> Moments:
    """G for polynomials up to `degree`, that of a lower degree being its leading block; float64 on
    the CPU."""
    if degree < 0:
        raise ValueError(f"degree must be at least 0, got {degree}")
    # A high quantile serves as well as the largest of all: the basis need not be bounded by one on
    # every prompt.
    high = float(torch.linalg.eigvalsh(S[..., :SEEN].permute(2, 0, 1).double()).max())
    G = torch.zeros(degree + 1, degree + 1, dtype=torch.float64, device=S.device)
    for basis in _bases(S, degree, high):
        if eigenvalues is not None:
            basis = basis * weight(eigenvalues).to(basis).sqrt()[:, :, None]
        flat = basis.flatten(1)  # [degree + 1, d d chunk]
        G += flat @ flat.T
    return Moments(G.cpu() / S.shape[-1], high)


def floors(S: Grams, eigenvalues: Eigenvalues | None, degrees: Sequence[int]) -> list[Polynomial]:
    """The polynomial of each degree with the least expected loss on the pool, among those with p(0)
    = 1.

    With `coloured` S and its eigenvalues: the floor of layers A_l proportional to I. With whitened
    S and None: of layers proportional to Sigma^-1.
    """
    found = moments(S, eigenvalues, max(degrees))
    C = torch.zeros(len(degrees), max(degrees) + 1, dtype=torch.float64)
    for row, degree in zip(C, degrees, strict=True):
        row[: degree + 1] = _best(found.G[: degree + 1, : degree + 1])
    losses = _losses(S, eigenvalues, C, found.high)
    mean, error = (each.tolist() for each in mean_and_error(losses))
    kept = [c[: degree + 1] for c, degree in zip(C, degrees, strict=True)]
    return [
        Polynomial(mean[i], error[i], c, _roots(c, found.high), found.high)
        for i, c in enumerate(kept)
    ]


def evaluate(polynomial: Polynomial, S: Grams) -> Grams:
    """C = p(S) by the three-term recurrence, in S's precision."""
    basis = _basis(S, len(polynomial.coefficients) - 1, polynomial.high)
    return torch.tensordot(polynomial.coefficients.to(S), basis, 1)


def chebyshev(x: Tensor, degree: int) -> Float[Tensor, "degree_1 ..."]:
    """T_0..T_degree of the numbers x."""
    return _recur(torch.ones_like(x), x, degree, lambda T: x * T)


def _basis(S: Tensor, degree: int, high: float) -> Float[Tensor, "degree_1 d d prompts"]:
    one = identity(S)
    Z = S * (2 / high) - one
    return _recur(one, Z, degree, lambda T: product(Z, T))


def _recur(first: Tensor, second: Tensor, degree: int, times: Callable[[Tensor], Tensor]) -> Tensor:
    basis = [first, second]
    for _ in range(degree - 1):
        basis.append(2 * times(basis[-1]) - basis[-2])
    return torch.stack(basis[: degree + 1])


def _bases(S: Tensor, degree: int, high: float) -> Iterator[Float[Tensor, "degree_1 d d chunk"]]:
    chunk = max(CHUNK // (len(S) ** 2 * (degree + 1)), 64)
    return (_basis(part.double(), degree, high) for part in S.split(chunk, -1))


def _best(G: Tensor) -> Tensor:
    b = torch.ones(len(G), dtype=G.dtype)
    b[1::2] = -1.0  # T_k(-1)
    scale = G.diagonal().rsqrt()
    scaled = G * scale[:, None] * scale
    # A pool with fewer different eigenvalues than the degree has floor zero and a singular G:
    # raised by rounding.
    scaled.diagonal().add_(len(G) * torch.finfo(G.dtype).eps)
    c = scale * torch.linalg.solve(scaled, b * scale)
    return c / (b @ c)


def _losses(
    S: Tensor, eigenvalues: Tensor | None, C: Tensor, high: float
) -> Float[Tensor, "polynomials prompts"]:
    maps = (torch.tensordot(C.to(basis), basis, 1) for basis in _bases(S, C.shape[1] - 1, high))
    return torch.cat([expected_loss(each, eigenvalues) for each in maps], -1).cpu()


def _roots(c: Tensor, high: float) -> Tensor:
    roots = np.polynomial.chebyshev.chebroots(c.numpy())
    return torch.from_numpy(np.sort((roots + 1) * (high / 2)))
