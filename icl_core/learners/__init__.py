"""In-context linear regression and its classical solvers, for many prompts at once; prompts are the
last axis of every tensor."""

from icl_core.learners.covariance import (
    Covariance,
    geometric,
    parse_eigenvalues,
    read_eigenvalues,
    rotation,
)
from icl_core.learners.linear import (
    error_maps,
    expected_loss,
    inverse_factor,
    noise_loss,
    sampled_loss,
    weight,
)
from icl_core.learners.polynomial import Polynomial, evaluate, floors
from icl_core.learners.prompts import coloured, covariates, gram, grams
from icl_core.learners.solvers import (
    Conjugate,
    conjugate_gradient,
    gradient_descent,
    momentum,
    nesterov,
    product,
)
from icl_core.learners.tuned import best_momentum, best_nesterov, best_rate, losses_of_pairs
from icl_core.learners.wishart import exact_floors, exact_moments

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
