"""Set the settings of every untrained learner by one rule: the least mean error after all n pairs
of prompts of its home.

For a learner that is linear in the labels, ŵ = M w* + V e with the noise e, the error's mean over
w*, noise and query is exact on every prompt's covariates:

    E = tr Σ (M − I) C (M − I)ᵀ + τ² tr Σ V Vᵀ.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from icl_core.in_context_regression.home import Home, Prompts
from icl_core.in_context_regression.tuned import minimise
from icl_core.in_context_regression.untrained import RANK, Learner, Settings, solve

# Points of the first grid along each axis, and how many grids there are, by the number of settings.
# Each grid of FINER points has half the spacing of the one before.
GRIDS = {1: ([31], 12), 2: ([21, 9], 11)}
FINER, REACH = 5, 1


def tune(learner: Learner, prompts: Prompts, home: Home, steps: int) -> dict[str, float]:
    """Return the settings of a learner with the least mean error on prompts of its home."""
    if not learner.settings:
        return {}
    first, rounds = GRIDS[len(learner.settings)]
    spectrum = _spectrum(learner, prompts, home) if learner.method else None

    def losses(points: Float[Tensor, "settings axes"]) -> Float[Tensor, "settings"]:
        values: list[float] = []
        for point in points.tolist():
            settings = _natural(learner, point)
            if spectrum is None:
                value = mean_error(learner, prompts, settings, home, steps)
            else:
                value = spectrum.mean_error(learner, settings, home, steps)
            values.append(float(value))
        return torch.tensor(values, dtype=torch.float64).nan_to_num(nan=math.inf)

    return _natural(learner, minimise(losses, list(learner.box), first, rounds, FINER, REACH))


def _natural(learner: Learner, point: list[float]) -> dict[str, float]:
    """Return settings by name, of a point of the search."""
    values = [math.exp(at) if log else at for at, log in zip(point, learner.log, strict=True)]
    return dict(zip(learner.settings, values, strict=True))


@dataclass(frozen=True, eq=False)
class _Spectrum:
    """What decides the mean error of a method whose weights are S⁺ b times a filter f of the
    eigenvalues, M = ∑ f(λ_i) v_i v_iᵀ: with K_ij = ⟨v_i, Σ v_j⟩ ⟨v_i, C v_j⟩

        E = ∑ (f_i − 1) (f_j − 1) K_ij + τ²/n ∑ f_i² ⟨v_i, Σ v_i⟩ / λ_i.

    eigenvalues  λ of every prompt
    K            as above
    noise        τ²/n ⟨v_i, Σ v_i⟩ / λ_i, 0 where λ_i is
    """

    eigenvalues: Float[Tensor, "prompts d"]
    K: Float[Tensor, "prompts d d"]
    noise: Float[Tensor, "prompts d"]

    def mean_error(self, learner: Learner, settings: Settings, home: Home, steps: int) -> Tensor:
        """Return the mean error of a method with these settings."""
        assert learner.method is not None
        S = self.eigenvalues.reshape(1, 1, -1)  # every eigenvalue as a prompt of one feature
        f = learner.method(S, S, settings, home, steps).reshape(self.eigenvalues.shape)
        rest = f - 1
        systematic = torch.einsum("pi,pij,pj->p", rest, self.K, rest)
        return (systematic + (f.square() * self.noise).sum(1)).mean()


def _spectrum(learner: Learner, prompts: Prompts, home: Home) -> _Spectrum:
    x = prompts.x
    covariance = prompts.covariance.permute(2, 0, 1)  # [prompts, d, d]
    variances = home.target_variances()
    if learner.whitens:
        scale = home.known_variances().rsqrt()
        x = scale[:, None] * x
        covariance = covariance * (scale[:, None] * scale)
        variances = variances / scale.square()
    S = torch.einsum("nip,njp->pij", x, x) / home.n
    eigenvalues, vectors = torch.linalg.eigh(S)
    covariance = vectors.mT @ covariance @ vectors
    target = vectors.mT @ (variances[:, None] * vectors)
    is_positive = eigenvalues > RANK * eigenvalues[:, -1:]
    share = home.noise**2 / home.n
    noise = torch.where(is_positive, share * covariance.diagonal(dim1=1, dim2=2) / eigenvalues, 0.0)
    eigenvalues = torch.where(is_positive, eigenvalues, 0.0)
    return _Spectrum(eigenvalues, covariance * target, noise)


def mean_error(
    learner: Learner, prompts: Prompts, settings: Settings, home: Home, steps: int
) -> Tensor:
    """Return the mean error after all pairs over the prompts' covariates, exact over w*, noise and
    query, of a learner that is linear in the labels."""
    return exact_errors(learner, prompts, settings, home, steps, every=False).mean()


def exact_errors(
    learner: Learner,
    prompts: Prompts,
    settings: Settings,
    home: Home,
    steps: int,
    every: bool = True,
) -> Float[Tensor, "lengths prompts"]:
    """Return the same of each prompt after 0, 1, … all pairs, or after all pairs alone."""
    x = prompts.x
    pairs, d, count = x.shape
    if home.noise:
        labels = torch.eye(pairs, dtype=x.dtype)[:, :, None].expand(-1, -1, count)
        V = solve(learner, x, labels, settings, home, steps, every)  # [lengths, pairs, d, prompts]
        M = torch.einsum("ltip,tjp->lijp", V, x)
        image = torch.einsum("ijp,ltjp->ltip", prompts.covariance, V)
        noise = home.noise**2 * (V * image).sum((1, 2))  # [lengths, prompts]
    else:
        M = solve(learner, x, x, settings, home, steps, every).transpose(1, 2)
        noise = torch.zeros(1, 1, dtype=x.dtype)
    rest = M - torch.eye(d, dtype=x.dtype)[:, :, None]  # [lengths, d, d, prompts]
    # (M − I) C^(1/2); where every prompt is rotated w* is N(0, I)
    spread = rest * home.target_variances().sqrt()[None, :, None]
    image = torch.einsum("ijp,ljkp->likp", prompts.covariance, spread)
    return (spread * image).sum((1, 2)) + noise
