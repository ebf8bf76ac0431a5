"""In-context linear regression and its classical solvers, for many prompts at once; prompts are the
last axis of every tensor."""

from icl_core.in_context_regression.covariance import (
    Covariance,
    geometric,
    parse_eigenvalues,
    read_eigenvalues,
    rotation,
)
from icl_core.in_context_regression.linear import (
    error_maps,
    expected_loss,
    inverse_factor,
    noise_loss,
    sampled_loss,
    weight,
)
from icl_core.in_context_regression.polynomial import Polynomial, evaluate, floors
from icl_core.in_context_regression.prompts import coloured, covariates, gram, grams
from icl_core.in_context_regression.solvers import (
    Conjugate,
    conjugate_gradient,
    gradient_descent,
    momentum,
    nesterov,
    product,
)
from icl_core.in_context_regression.tuned import (
    best_momentum,
    best_nesterov,
    best_rate,
    losses_of_pairs,
)
from icl_core.in_context_regression.wishart import exact_floors, exact_moments

__all__ = [
    "Conjugate",
    "Covariance",
    "Polynomial",
    "best_momentum",
    "best_nesterov",
    "best_rate",
    "coloured",
    "conjugate_gradient",
    "covariates",
    "error_maps",
    "evaluate",
    "exact_floors",
    "exact_moments",
    "expected_loss",
    "floors",
    "geometric",
    "gradient_descent",
    "gram",
    "grams",
    "inverse_factor",
    "losses_of_pairs",
    "momentum",
    "nesterov",
    "noise_loss",
    "parse_eigenvalues",
    "product",
    "read_eigenvalues",
    "rotation",
    "sampled_loss",
    "weight",
]
