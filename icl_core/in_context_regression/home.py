"""Prompts of linear regression from a distribution that can be named, and the error by which every
learner is measured on them.

A prompt holds n examples (x_t, y_t) with y_t = ⟨w*, x_t⟩ + noise. Its covariates are N(0, Σ). The
error of weights ŵ is that of the label of a fresh x, without its noise, in units of the error of
predicting zero:

    E(ŵ) = (ŵ − w*)ᵀ Σ (ŵ − w*) / E[⟨w*, x⟩²].

All is float64, and prompts are the last axis.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from icl_core.in_context_regression.covariance import geometric, rotation

# Of Section 4 of the Memformers' paper; repeated for larger d.
UNEVEN = (1.0, 1.0, 1 / 4, 1 / 16, 1.0)
COVARIANCES = {
    "isotropic": "isotropic, Σ = I",
    "narrow": "from 1 down by equal factors",
    "uneven": "1, 1, 1/4, 1/16, 1, the Memformers'",
}
TARGETS = {"white": "w* ~ N(0, I)", "inverse": "w* ~ N(0, Σ⁻¹)"}


@dataclass(frozen=True)
class Home:
    """The distribution of prompts for which rules are tuned: their home.

    d, n        features, and examples of a prompt
    noise       τ, the standard deviation of the noise in the labels
    covariance  one of COVARIANCES, the eigenvalues of Σ
    rotated     whether every prompt has eigenvectors of its own; otherwise Σ is diagonal
    target      one of TARGETS; where prompts are rotated it is "white", so that Bayes is ridge
    condition   the largest eigenvalue over the smallest one, of the narrow covariance
    """

    d: int
    n: int
    noise: float
    covariance: str
    rotated: bool
    target: str
    condition: float = 16.0

    def eigenvalues(self) -> Float[Tensor, "d"]:
        """Return the eigenvalues of Σ."""
        if self.covariance == "isotropic":
            return torch.ones(self.d, dtype=torch.float64)
        if self.covariance == "narrow":
            return geometric(self.d, self.condition, 1.0)
        repeated = [UNEVEN[i % len(UNEVEN)] for i in range(self.d)]
        return torch.tensor(repeated, dtype=torch.float64)

    def target_variances(self) -> Float[Tensor, "d"]:
        """Return the variances of w* along the eigenvectors of Σ."""
        eigenvalues = self.eigenvalues()
        return torch.ones_like(eigenvalues) if self.target == "white" else 1 / eigenvalues

    def known_variances(self) -> Float[Tensor, "d"]:
        """Return what a learner may know of Σ before it reads a prompt, as a diagonal: its
        eigenvalues, or their mean where the eigenvectors are different in every prompt."""
        eigenvalues = self.eigenvalues()
        if self.rotated:
            return torch.full_like(eigenvalues, float(eigenvalues.mean()))
        return eigenvalues

    def label_variance(self) -> float:
        """Return E[⟨w*, x⟩²], the error of predicting zero."""
        return float((self.eigenvalues() * self.target_variances()).sum())


@dataclass(frozen=True, eq=False)
class Prompts:
    """Prompts of equal length.

    x           covariates
    y           labels, with their noise
    w           w*, the weights that made the labels
    covariance  Σ of every prompt
    query       one more covariate
    """

    x: Float[Tensor, "n d prompts"]
    y: Float[Tensor, "n prompts"]
    w: Float[Tensor, "d prompts"]
    covariance: Float[Tensor, "d d prompts"]
    query: Float[Tensor, "d prompts"]


def sample(home: Home, prompts: int, generator: torch.Generator) -> Prompts:
    """Draw prompts of a distribution."""
    root = home.eigenvalues().sqrt()[:, None]  # [d, 1]
    white = _normal(generator, home.n + 1, home.d, prompts)
    covariates = root * white
    w = home.target_variances().sqrt()[:, None] * _normal(generator, home.d, prompts)
    noise = home.noise * _normal(generator, home.n, prompts)
    covariance = torch.diag(home.eigenvalues())[:, :, None].expand(-1, -1, prompts)
    if home.rotated:
        R = torch.stack([rotation(home.d, generator) for _ in range(prompts)], -1)
        covariates = torch.einsum("ijp,njp->nip", R, covariates)
        w = torch.einsum("ijp,jp->ip", R, w)
        covariance = torch.einsum("ijp,j,kjp->ikp", R, home.eigenvalues(), R)
    x = covariates[:-1]
    query = covariates[-1]
    return Prompts(x, (x * w).sum(1) + noise, w, covariance, query)


def error(
    weights: Float[Tensor, "*rest d prompts"], prompts: Prompts
) -> Float[Tensor, "*rest prompts"]:
    """Return (ŵ − w*)ᵀ Σ (ŵ − w*), the error of the label of a fresh x."""
    difference = weights - prompts.w
    image = torch.einsum("ijp,...jp->...ip", prompts.covariance, difference)
    return (difference * image).sum(-2)


def one_step_share(d: int, n: int) -> float:
    """Return what the best step of gradient descent from zero leaves of the error of predicting
    zero: isotropic covariates and w*, no noise. E tr S² = d (n + d + 1) / n decides it."""
    return 1 - n / (n + d + 1)


def sum_share(d: int, pairs: float, rate: float, scale: float = 1.0, noise: float = 0.0) -> float:
    """Return the share that ŵ = rate ∑ y x leaves of isotropic prompts of so many pairs, with x
    `scale` times as large and w* ~ N(0, I): 1 − 2 b n α² + b² n α² (α² (n + d + 1) + τ²)."""
    step = rate * pairs * scale**2
    return 1 - 2 * step + step * rate * (scale**2 * (pairs + d + 1) + noise**2)


def _normal(generator: torch.Generator, *shape: int) -> Tensor:
    return torch.randn(*shape, generator=generator, dtype=torch.float64)
