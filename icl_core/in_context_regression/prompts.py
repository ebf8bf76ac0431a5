"""Prompts: their covariates and Gram matrices.

Prompts are the last axis, so that every loop reads memory in order; a batched product of such small
matrices is several times slower. One pool of whitened Gram matrices serves every covariance: the
classical methods commute with rotations, so all is computed in the eigenbasis of Sigma, where
`coloured` turns the whitened matrices into those of any eigenvalues.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from icl_core.in_context_regression.solvers import Grams

CHUNK = 2**19  # numbers of covariates that are in memory at a time


def covariates(
    d: int, n: int, prompts: int, generator: torch.Generator, dtype: torch.dtype | None = None
) -> Float[Tensor, "d n prompts"]:
    """Draw whitened covariates u ~ N(0, I) on the generator's device, float32 unless told
    otherwise; x = Sigma^(1/2) u."""
    for name, value in (("d", d), ("n", n), ("prompts", prompts)):
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}")
    return torch.randn(d, n, prompts, generator=generator, dtype=dtype, device=generator.device)


def gram(U: Float[Tensor, "d n prompts"]) -> Grams:
    """Return S = U U^T / n of every prompt."""
    d, n, prompts = U.shape
    S = U.new_zeros(d, d, prompts)
    for column in U.unbind(1):  # [d, prompts]
        S.addcmul_(column[:, None], column[None, :])
    return S / n


def grams(
    d: int, n: int, prompts: int, generator: torch.Generator, dtype: torch.dtype | None = None
) -> Grams:
    """Draw prompts and return their whitened Gram matrices.

    They are drawn some at a time and written into one tensor, since joining the parts would take
    twice the memory.
    """
    chunk = max(CHUNK // (d * n), 1)  # prompts
    S = torch.empty(d, d, max(prompts, 0), dtype=dtype, device=generator.device)
    for start in range(0, max(prompts, 1), chunk):
        U = covariates(d, n, min(chunk, prompts - start), generator, dtype)
        S[..., start : start + chunk] = gram(U)
    return S


def coloured(S: Grams, eigenvalues: Float[Tensor, "d"]) -> Grams:
    """Return the Gram matrices of x in the eigenbasis of Sigma, sqrt(D_i D_j) S_ij, from whitened
    S."""
    root = eigenvalues.to(S).sqrt()
    return S * (root[:, None] * root)[:, :, None]
