"""In-context linear regression and its classical solvers, over many prompts at once (the last axis everywhere)."""

from icl_core.regression.covariance import Covariance, geometric, parse_eigenvalues, rotation
from icl_core.regression.linear import (
    error_maps,
    expected_loss,
    identity,
    log_loss,
    mean_and_error,
    sampled_loss,
    weight,
)
from icl_core.regression.polynomial import Polynomial, best_polynomial, evaluate, floors, from_roots
from icl_core.regression.prompts import coloured, covariates, gram, grams, targets
from icl_core.regression.solvers import (
    Conjugate,
    conjugate_gradient,
    gradient_descent,
    least_squares,
    momentum,
    nesterov,
    product,
    ridge,
)
from icl_core.regression.tuned import best_momentum, best_nesterov, best_rate

__all__ = [
    "Conjugate",
    "Covariance",
    "Polynomial",
    "best_momentum",
    "best_nesterov",
    "best_polynomial",
    "best_rate",
    "coloured",
    "conjugate_gradient",
    "covariates",
    "error_maps",
    "evaluate",
    "expected_loss",
    "floors",
    "from_roots",
    "geometric",
    "gradient_descent",
    "gram",
    "grams",
    "identity",
    "least_squares",
    "log_loss",
    "mean_and_error",
    "momentum",
    "nesterov",
    "parse_eigenvalues",
    "product",
    "ridge",
    "rotation",
    "sampled_loss",
    "targets",
    "weight",
]
