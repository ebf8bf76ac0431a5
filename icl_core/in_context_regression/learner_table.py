"""The untrained learners: classical methods, and the rules by which recurrent layers change their
state; and the settings of each. See `untrained` for what they have in common.

One rule sets them: the least mean error after all n pairs of prompts of a learner's home.

For a learner that is linear in the labels, ŵ = M w* + V e with the noise e, the error's mean over
w*, noise and query is exact on every prompt's covariates:

    E = tr Σ (M − I) C (M − I)ᵀ + τ² tr Σ V Vᵀ.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from icl_core.in_context_regression.home import Home, Prompts
from icl_core.in_context_regression.polynomial import minimise
from icl_core.in_context_regression.rules import RULES
from icl_core.in_context_regression.solvers import Grams, gradient_descent, momentum, nesterov
from icl_core.in_context_regression.untrained import (
    METHODS,
    RANK,
    STATES,
    Learner,
    Settings,
    conjugate_iterates,
    errors_by_query,
    inverse,
    least_squares,
    solve,
)


def _descent(S: Grams, b: Tensor, settings: Settings, home: Home, steps: int) -> Tensor:
    return gradient_descent(S, least_squares(S, b), steps, settings["rate"])[-1]


def _momentum(S: Grams, b: Tensor, settings: Settings, home: Home, steps: int) -> Tensor:
    return momentum(S, least_squares(S, b), steps, settings["rate"], settings["beta"])[-1]


def _nesterov(S: Grams, b: Tensor, settings: Settings, home: Home, steps: int) -> Tensor:
    return nesterov(S, least_squares(S, b), steps, settings["rate"], settings["beta"])[-1]


def _conjugate(S: Grams, b: Tensor, settings: Settings, home: Home, steps: int) -> Tensor:
    return conjugate_iterates(S, b, steps).iterates[-1].reshape(b.shape)


def _ridge(S: Grams, b: Tensor, settings: Settings, home: Home, steps: int) -> Tensor:
    one = torch.eye(len(S), dtype=S.dtype)[:, :, None]
    return torch.einsum("ijp,jsp->isp", inverse(S + settings["ridge"] * one), b)


def _squares(S: Grams, b: Tensor, settings: Settings, home: Home, steps: int) -> Tensor:
    return least_squares(S, b)


def _bayes(S: Grams, b: Tensor, settings: Settings, home: Home, steps: int) -> Tensor:
    """Return the posterior mean: ridge with λ = τ²/n where w* is scaled to N(0, I)."""
    root = home.target_variances().sqrt()  # [d]
    scaled = S * (root[:, None] * root)[:, :, None]
    one = torch.eye(len(S), dtype=S.dtype)[:, :, None]
    penalised = scaled + home.noise**2 / home.n * one
    mean = torch.einsum("ijp,jsp->isp", inverse(penalised), root[:, None, None] * b)
    return root[:, None, None] * mean


RATE = (-7.0, 4.0)  # of a logarithm
BETA = (0.0, 0.95)
DECAY = (0.5, 1.0)
RIDGE = (-12.0, 3.0)

LEARNERS = (
    Learner(
        "sum",
        "one step of gradient descent (GD-SSM, linear attention)",
        "one step",
        STATES,
        "W ← W + b y xᵀ",
        ("rate",),
        (RATE,),
        (True,),
        rule="sum",
    ),
    Learner(
        "gd",
        "gradient descent, L steps",
        "GD",
        METHODS,
        "w ← w − η (S w − b), L times",
        ("rate",),
        (RATE,),
        (True,),
        _descent,
    ),
    Learner(
        "momentum",
        "heavy ball, L steps",
        "momentum",
        METHODS,
        "v ← β v − η (S w − b), w ← w + v",
        ("rate", "beta"),
        (RATE, BETA),
        (True, False),
        _momentum,
    ),
    Learner(
        "nesterov",
        "Nesterov, L steps",
        "Nesterov",
        METHODS,
        "heavy ball, with the gradient at w + β v",
        ("rate", "beta"),
        (RATE, BETA),
        (True, False),
        _nesterov,
    ),
    Learner(
        "cg",
        "conjugate gradient, L steps",
        "CG",
        METHODS,
        "directions that are conjugate in S, steps by line search",
        method=_conjugate,
        linear=False,
    ),
    Learner(
        "gd-sigma",
        "gradient descent with Σ⁻¹, L steps",
        "GD, Σ⁻¹",
        METHODS,
        "w ← w − η Σ⁻¹ (S w − b), L times",
        ("rate",),
        (RATE,),
        (True,),
        _descent,
        whitens=True,
    ),
    Learner(
        "cg-sigma",
        "conjugate gradient with Σ⁻¹, L steps",
        "CG, Σ⁻¹",
        METHODS,
        "conjugate gradient on whitened x",
        method=_conjugate,
        whitens=True,
        linear=False,
    ),
    Learner(
        "ridge",
        "ridge",
        "ridge",
        METHODS,
        "w = (S + λ I)⁻¹ b",
        ("ridge",),
        (RIDGE,),
        (True,),
        _ridge,
    ),
    Learner("squares", "least squares", "least squares", METHODS, "w = S⁺ b", method=_squares),
    Learner(
        "bayes",
        "Bayes, who knows home",
        "Bayes",
        METHODS,
        "w = E[w* | pairs] = (S + τ²/n C⁻¹)⁻¹ b, w* ~ N(0, C)",
        method=_bayes,
    ),
    Learner(
        "decayed",
        "decayed sum (RetNet, Mamba-2, GLA)",
        "decayed",
        STATES,
        RULES["decayed"].equation,
        ("rate", "decay"),
        (RATE, DECAY),
        (True, False),
        rule="decayed",
    ),
    Learner(
        "delta",
        "delta rule, one rate",
        "delta",
        STATES,
        RULES["delta"].equation,
        ("rate",),
        (RATE,),
        (True,),
        rule="delta",
    ),
    Learner(
        "unit",
        "delta rule, normalised rate (DeltaNet)",
        "unit keys",
        STATES,
        RULES["unit"].equation,
        ("rate",),
        (RATE,),
        (True,),
        rule="unit",
    ),
    Learner(
        "longhorn",
        "implicit step (Longhorn)",
        "implicit",
        STATES,
        RULES["longhorn"].equation,
        ("rate",),
        ((-4.0, 9.0),),
        (True,),
        rule="longhorn",
    ),
    Learner(
        "gated",
        "gated delta rule (Gated DeltaNet)",
        "gated",
        STATES,
        RULES["gated"].equation,
        ("rate", "decay"),
        (RATE, DECAY),
        (True, False),
        rule="gated",
    ),
    Learner(
        "delta-sigma",
        "preconditioned delta rule",
        "delta, Σ⁻¹",
        STATES,
        "W ← W + b (y − W x) (Σ⁻¹ x)ᵀ",
        ("rate",),
        (RATE,),
        (True,),
        rule="delta",
        whitens=True,
    ),
    Learner(
        "recursive",
        "recursive least squares (Mesa)",
        "recursive LS",
        STATES,
        RULES["squares"].equation,
        ("ridge", "decay"),
        (RIDGE, DECAY),
        (True, False),
        rule="squares",
    ),
)
BY_ID = {learner.id: learner for learner in LEARNERS}


# Points of the first grid along each axis, and how many grids there are, by the number of settings.
# Each grid of FINER points has half the spacing of the one before.
GRIDS = {1: ([31], 12), 2: ([21, 9], 11)}
FINER, REACH = 5, 1


def tune(
    learner: Learner,
    prompts: Prompts,
    home: Home,
    steps: int,
    fixed: Mapping[str, float] | None = None,
) -> dict[str, float]:
    """Return the settings of a learner with the least mean error on prompts of its home, beside
    those that are `fixed`."""
    given = dict(fixed or {})
    if not learner.settings:
        return given
    first, rounds = GRIDS[len(learner.settings)]
    spectrum = _spectrum(learner, prompts, home) if learner.method else None

    def losses(points: Float[Tensor, "settings axes"]) -> Float[Tensor, "settings"]:
        values: list[float] = []
        for point in points.tolist():
            settings = given | _natural(learner, point)
            if spectrum is None:
                value = mean_error(learner, prompts, settings, home, steps)
            else:
                value = spectrum.mean_error(learner, settings, home, steps)
            values.append(float(value))
        return torch.tensor(values, dtype=torch.float64).nan_to_num(nan=math.inf)

    best = minimise(losses, list(learner.box), first, rounds, FINER, REACH)
    return given | _natural(learner, best)


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
    """Return the same of each prompt after 0, 1, … all pairs, or after all pairs alone; of a
    learner whose weights depend on the query, a mean over a few queries."""
    if learner.by_query:
        return errors_by_query(learner, prompts, settings, home, steps, every)
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
