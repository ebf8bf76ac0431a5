"""The table (`shared.known_methods`) that a trained model amounts to, and what is read
off a table."""

from typing import Any

import numpy as np
from numpy.polynomial import Polynomial
from torch import Tensor

from icl_core.papers.memformers.shared import variants
from icl_core.papers.memformers.shared.variants import Parameters


def learned(parameters: Parameters, config: Any, root: Tensor) -> tuple[np.ndarray, float]:
    """Λ_j^l = tr(W_j^l) / d of the first seed, in shares of Σ⁻¹ ∇R, and how much of the W that is
    (1: all of it).

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


def memory(table: np.ndarray) -> float:
    """The share of the table's weight that lies on gradients older than the newest, 0 to 1."""
    whole = np.abs(table).sum()
    return float(np.abs(table - np.diag(np.diag(table))).sum() / whole) if whole > 0 else 0.0


def equivalent(table: np.ndarray) -> np.ndarray:
    """The steps, smallest first, of the plain linear transformer that does the same after its last
    layer.

    w_L − w* = −p(S) w* with p_{l+1}(t) = p_l(t) − t Σ_j Λ_j^l p_j(t): the steps are one over p's
    roots. Complex where no linear transformer does the same.
    """
    done, t = [Polynomial([1.0])], Polynomial([0.0, 1.0])
    for row in table:
        done.append(
            done[-1]
            - t * sum((weight * p for weight, p in zip(row, done, strict=False)), Polynomial([0.0]))
        )
    # the reversed polynomial's roots are one over those of p, and a step of zero gives no root at
    # infinity
    coefficients = np.zeros(len(table) + 1)
    coefficients[: len(done[-1].coef)] = done[-1].coef
    steps = np.sort_complex(np.roots(coefficients))
    return (
        steps.real
        if np.allclose(steps.imag, 0, atol=1e-9 * np.abs(steps).max(initial=1))
        else steps
    )
