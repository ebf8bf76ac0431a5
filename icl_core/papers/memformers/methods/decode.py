"""Every first-order method as one table: w_{l+1} = w_l − Σ_{j≤l} Λ_j^l ∇R(w_j), Λ a number, [L, L] over (l, j).

A plain linear transformer has its steps on the diagonal. The rows of a table added up are Λ_i^k of eq. 1.1, which
counts from w_0: w_{k+1} = w_0 − Σ_i Λ_i^k ∇R(w_i).
"""

from typing import Any

import numpy as np
import torch
from numpy.polynomial import Polynomial
from torch import Tensor

from icl_core.papers.memformers.shared import variants
from icl_core.papers.memformers.shared.variants import Parameters
from icl_core.regression import product


def learned(parameters: Parameters, config: Any, root: Tensor) -> tuple[np.ndarray, float]:
    """Λ_j^l = tr(W_j^l) / d of the first seed, in shares of Σ⁻¹ ∇R, and how much of the W that is (1: all of it).

    W acts in whitened coordinates, so a Λ says what is done along the average eigenvector. With A_l = a I that share
    is counted in the original coordinates, where a number is all there is.
    """
    W = variants.steps(parameters, config, root)[0].double()  # [L, L, d, d]
    d = W.shape[-1]
    table = W.diagonal(dim1=-2, dim2=-1).sum(-1) / d
    if "A" in parameters and config.preconditioner == "scalar" and config.variant != "coordinate":
        return table.numpy(), 1.0
    share = d * table.square().sum() / W.square().sum().clamp(min=1e-300)
    return table.numpy(), float(share)


def gradient_descent(layers: int, rate: float) -> np.ndarray:
    """`rate` on the newest gradient, nothing on the others."""
    return rate * np.eye(layers)


def momentum(layers: int, rate: float, beta: float) -> np.ndarray:
    """Heavy ball: v_{l+1} = β v_l − rate ∇R(w_l), so Λ_j^l = rate β^{l−j}."""
    age = np.arange(layers)[:, None] - np.arange(layers)
    return np.where(age >= 0, rate * float(beta) ** np.maximum(age, 0), 0.0)


def nesterov(layers: int, rate: float, beta: float) -> np.ndarray:
    """As `momentum` on gradients at w_l + β (w_l − w_{l−1}). R is quadratic, so such a gradient is
    (1 + β) ∇R(w_l) − β ∇R(w_{l−1}), and Nesterov too is a table on gradients at the iterates."""
    ahead = (1 + beta) * np.eye(layers) - beta * np.eye(layers, k=-1)
    ahead[0] = np.eye(layers)[0]  # no step has been taken: nothing to look ahead along
    return momentum(layers, rate, beta) @ ahead


def memory(table: np.ndarray) -> float:
    """The share of the table's weight that lies on gradients older than the newest, 0 to 1."""
    whole = np.abs(table).sum()
    return float(np.abs(table - np.diag(np.diag(table))).sum() / whole) if whole > 0 else 0.0


def equivalent(table: np.ndarray) -> np.ndarray:
    """The steps, smallest first, of the plain linear transformer that does the same after its last layer.

    w_L − w* = −p(S) w* with p_{l+1}(t) = p_l(t) − t Σ_j Λ_j^l p_j(t): the steps are one over p's roots. Complex where
    no linear transformer does the same.
    """
    done, t = [Polynomial([1.0])], Polynomial([0.0, 1.0])
    for row in table:
        done.append(done[-1] - t * sum((weight * p for weight, p in zip(row, done, strict=False)), Polynomial([0.0])))
    # the reversed polynomial's roots are one over those of p, and a step of zero gives no root at infinity
    coefficients = np.zeros(len(table) + 1)
    coefficients[: len(done[-1].coef)] = done[-1].coef
    steps = np.sort_complex(np.roots(coefficients))
    return steps.real if np.allclose(steps.imag, 0, atol=1e-9 * np.abs(steps).max(initial=1)) else steps


def replay(table: Any, S: Tensor, target: Tensor) -> Tensor:
    """The iterates [L + 1, d, prompts] that a table makes on prompts S [d, d, prompts] with target [d, prompts].

    `table` is [L, L], or [L, L, prompts] where each prompt has its own."""
    weights = torch.as_tensor(table).to(S)
    iterates, gradients = [torch.zeros_like(target)], []
    for row in weights:
        gradients.append(product(S, iterates[-1] - target))
        past = sum((weight * gradient for weight, gradient in zip(row, gradients, strict=False)), torch.zeros(()))
        iterates.append(iterates[-1] - past)
    return torch.stack(iterates)
