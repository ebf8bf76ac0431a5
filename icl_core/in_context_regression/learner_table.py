"""The untrained learners: classical methods, and the rules by which recurrent layers change their
state. See `untrained` for what they have in common."""

import torch
from torch import Tensor

from icl_core.in_context_regression.home import Home
from icl_core.in_context_regression.rules import RULES
from icl_core.in_context_regression.solvers import Grams, gradient_descent, momentum, nesterov
from icl_core.in_context_regression.untrained import (
    METHODS,
    STATES,
    Learner,
    Settings,
    conjugate_iterates,
    inverse,
    least_squares,
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
