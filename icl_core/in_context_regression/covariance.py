"""Prompts' covariates, their covariance matrix Sigma with its powers, and their Gram matrices.

Sigma is in float64. Prompts are the last axis, so that every loop reads memory in order; a batched
product of such small matrices is several times slower. One pool of whitened Gram matrices serves
every covariance: the classical methods commute with rotations, so all is computed in the eigenbasis
of Sigma, where `coloured` turns the whitened matrices into those of any eigenvalues."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from icl_core.contract.knobs import BadSetting
from icl_core.contract.settings_io import numbers
from icl_core.in_context_regression.solvers import Grams

# Eigenvalues are within this factor of 1 and of each other; float32 cannot resolve a larger ratio.
LARGEST = 1e6


@dataclass(frozen=True, eq=False)
class Covariance:
    """Sigma = U^T diag(eigenvalues) U.

    U x are the coordinates of x in the eigenbasis, in which this package computes. Raises
    ValueError for eigenvalues that are not positive and finite, and for shapes that do not match.

    eigenvalues  D [d]
    rotation     U [d, d], orthogonal; its rows are the eigenvectors
    """

    eigenvalues: Float[Tensor, "d"]
    rotation: Float[Tensor, "d d"]

    def __post_init__(self) -> None:
        if not bool((torch.isfinite(self.eigenvalues) & (self.eigenvalues > 0)).all()):
            raise ValueError(
                f"eigenvalues must be positive and finite, got {self.eigenvalues.tolist()}"
            )
        if self.rotation.shape != (self.d, self.d):
            raise ValueError(
                f"rotation must have shape {(self.d, self.d)}, got {tuple(self.rotation.shape)}"
            )

    @property
    def d(self) -> int:
        return len(self.eigenvalues)

    @property
    def inverse(self) -> Float[Tensor, "d d"]:
        """Sigma^-1, the best preconditioner that does not depend on the prompt."""
        return self._power(-1.0)

    @property
    def root(self) -> Float[Tensor, "d d"]:
        """The symmetric Sigma^(1/2): x = root u has covariance Sigma if u is white."""
        return self._power(0.5)

    @property
    def inverse_root(self) -> Float[Tensor, "d d"]:
        """The symmetric Sigma^(-1/2): u = inverse_root x is white if x has covariance Sigma, and
        inverse_root v ~ N(0, Sigma^-1), as w* is, if v is white."""
        return self._power(-0.5)

    def _power(self, exponent: float) -> Float[Tensor, "d d"]:
        U = self.rotation.double()
        return U.T @ (self.eigenvalues.double().pow(exponent)[:, None] * U)


def rotation(d: int, generator: torch.Generator) -> Float[Tensor, "d d"]:
    """Draw an orthogonal matrix [d, d] from the Haar measure, reflections included; float64."""
    Q, R = torch.linalg.qr(
        torch.randn(d, d, generator=generator, dtype=torch.float64, device=generator.device)
    )
    # The signs that QR chooses by convention are not those of the Haar measure.
    return Q * torch.where(R.diagonal() < 0, -1.0, 1.0)


def geometric(d: int, condition: float, decay: float) -> Float[Tensor, "d"]:
    """Return the eigenvalues condition^-((i / (d - 1))^decay), i = 0..d-1; float64.

    They fall from 1 to 1 / condition: by equal factors if `decay` is 1; most are near 1 if it is
    larger, and most are small if it is smaller. For d = 1 the eigenvalue is 1.
    """
    if d < 1:
        raise ValueError(f"d must be at least 1, got {d}")
    if not 1 <= condition <= LARGEST:
        raise ValueError(f"condition must be from 1 to {LARGEST:.0f}, got {condition}")
    if not 0 < decay < math.inf:
        raise ValueError(f"decay must be positive, got {decay}")
    place = torch.arange(d, dtype=torch.float64) / max(d - 1, 1)
    return condition ** -(place**decay)


def parse_eigenvalues(text: str, d: int) -> Float[Tensor, "d"]:
    """Return the eigenvalues that a visitor has typed, as `read_eigenvalues` does; float64."""
    return torch.tensor(read_eigenvalues(text, d), dtype=torch.float64)


def read_eigenvalues(text: str, d: int) -> list[float]:
    """Return the eigenvalues that a visitor has typed, "1, 1, 1/4, 1/16, 1": numbers or fractions
    separated by commas or blanks. Settings call it, hence no torch.

    Raises `BadSetting` unless they are d numbers from 1e-6 to 1e6, none of them more than 1e6 times
    another.
    """
    values = numbers("eigenvalues", text, d, d, 1 / LARGEST, LARGEST)
    ratio = max(values) / min(values)
    if ratio > LARGEST * (1 + 1e-9):
        raise BadSetting(
            f"the ratio of largest to smallest eigenvalue must be from 1 to {LARGEST:.0f}, got "
            f"{ratio:.3g}"
        )
    return values


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
