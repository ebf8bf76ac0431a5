"""The table (see `shared.baselines`) that a trained model amounts to, and what is read
off a table."""

from typing import Any

import numpy as np
from numpy.polynomial import Polynomial
from torch import Tensor

from icl_core.contract.experiment import Run
from icl_core.papers.memformers.shared import baselines, variants
from icl_core.papers.memformers.shared.load_run import constructed, parameters_at, root_of, tuned
from icl_core.papers.memformers.shared.variants import VARIANTS, Parameters

BUILT = "constructed"
CGD = "CGD"
PRE = "CGD with Σ⁻¹"
Tables = dict[str, np.ndarray]


def applies(config: Any) -> bool:
    """Return whether the model is a table of numbers on past gradients: not with a Γ per token, nor
    where covariates move."""
    return VARIANTS[config.variant].has_one_w


def learned_in(run: Run, seed: int, depth: int, snapshot: int) -> tuple[np.ndarray, float]:
    """Return `learned` of a run's trained model of that depth, at a snapshot."""
    parameters = parameters_at(run, seed, depth, snapshot)
    return learned(parameters, run.config, root_of(run, seed))


def learned(parameters: Parameters, config: Any, root: Tensor) -> tuple[np.ndarray, float]:
    """Return Λ_j^l = tr(W_j^l) / d of the first seed, [L, L], in shares of Σ⁻¹ ∇R, and the share of
    the squares of all W that these multiples of I have, 0 to 1.

    W acts in whitened coordinates, so a Λ says what is done along the average eigenvector. With A_l
    = a I that share is counted in the original coordinates, where a number is all there is.
    """
    W = variants.steps(parameters, config, root)[0].double()  # [L, L, d, d]
    d = W.shape[-1]
    table = W.diagonal(dim1=-2, dim2=-1).sum(-1) / d
    if "A" in parameters and config.preconditioner != "full" and config.variant != "coordinate":
        return table.numpy(), 1.0
    share = d * table.square().sum() / W.square().sum().clamp(min=1e-300)
    return table.numpy(), float(share)


def references(run: Run, depth: int) -> Tables:
    """Return the tables [depth, depth] of the methods that need no training, in shares of Σ⁻¹ ∇R,
    with the best settings for this depth."""
    # A step η in the original coordinates is η Σ in whitened ones.
    unit = float(run["frozen/eigenvalues"].mean())
    return {
        BUILT: np.diag(built(run, depth)),
        PRE: run["reference/pcg"][:depth, :depth].astype(float),
        CGD: unit * run["reference/cg"][:depth, :depth],
        "gradient descent": unit
        * baselines.gradient_descent_table(depth, *tuned(run, "gd", depth)),
        "momentum, tuned": unit * baselines.momentum_table(depth, *tuned(run, "momentum", depth)),
        "Nesterov, tuned": unit * baselines.nesterov_table(depth, *tuned(run, "nesterov", depth)),
    }


def built(run: Run, depth: int) -> np.ndarray:
    """Return the constructed transformer's steps in shares of Σ⁻¹ ∇R, [depth]."""
    steps, is_white = constructed(run, depth)
    return steps if is_white else steps * float(run["frozen/eigenvalues"].mean())


def memory(table: np.ndarray) -> float:
    """Return the share of the table's weight that lies on gradients older than the newest, 0 to
    1."""
    whole = np.abs(table).sum()
    if not whole > 0:
        return 0.0
    older = table - np.diag(np.diag(table))
    return float(np.abs(older).sum() / whole)


def equivalent(table: np.ndarray) -> np.ndarray:
    """Return the steps [L], smallest first, of the plain linear transformer that does the same as a
    table [L, L] after its last layer.

    w_L − w* = −p(S) w* with p_{l+1}(t) = p_l(t) − t Σ_j Λ_j^l p_j(t): the steps are one over p's
    roots. Complex where no linear transformer does the same.
    """
    t = Polynomial([0.0, 1.0])
    polynomials = [Polynomial([1.0])]  # p_0, p_1, …
    for row in table:
        terms = (weight * p for weight, p in zip(row, polynomials, strict=False))
        polynomials.append(polynomials[-1] - t * sum(terms, Polynomial([0.0])))
    # The reversed polynomial's roots are one over those of p, and a step of zero gives no root at
    # infinity.
    coefficients = np.zeros(len(table) + 1)
    coefficients[: len(polynomials[-1].coef)] = polynomials[-1].coef
    steps = np.sort_complex(np.roots(coefficients))
    is_real = np.allclose(steps.imag, 0, atol=1e-9 * np.abs(steps).max(initial=1))
    return steps.real if is_real else steps
