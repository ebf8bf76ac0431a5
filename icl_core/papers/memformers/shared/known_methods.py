"""Every first-order method as one table: w_{l+1} = w_l − Σ_{j≤l} Λ_j^l ∇R(w_j), Λ a number, [L, L]
over (l, j).

A plain linear transformer has its steps on the diagonal. The rows of a table added up are Λ_i^k of
eq. 1.1, which counts from w_0: w_{k+1} = w_0 − Σ_i Λ_i^k ∇R(w_i).
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from icl_core.in_context_regression import product


def gradient_descent(layers: int, rate: float) -> np.ndarray:
    """Return the table of gradient descent, [L, L]: `rate` on the newest gradient, nothing on the
    others."""
    return rate * np.eye(layers)


def momentum(layers: int, rate: float, beta: float) -> np.ndarray:
    """Return the table of heavy ball, [L, L]: v_{l+1} = β v_l − rate ∇R(w_l), so Λ_j^l = rate
    β^{l−j}."""
    age = np.arange(layers)[:, None] - np.arange(layers)
    return np.where(age >= 0, rate * float(beta) ** np.maximum(age, 0), 0.0)


def nesterov(layers: int, rate: float, beta: float) -> np.ndarray:
    """Return the table of Nesterov's method, [L, L]: `momentum` on gradients at w_l + β (w_l −
    w_{l−1}). R is quadratic, so such a gradient is (1 + β) ∇R(w_l) − β ∇R(w_{l−1}), and this too is
    a table on gradients at the iterates."""
    ahead = (1 + beta) * np.eye(layers) - beta * np.eye(layers, k=-1)
    ahead[0] = np.eye(layers)[0]  # no step has been taken: nothing to look ahead along
    return momentum(layers, rate, beta) @ ahead


def deflected(alpha: Tensor, gamma: Tensor) -> Tensor:
    """Return the table of conjugate gradient, or of any method w_{l+1} = w_l + α_l s_l, s_l =
    −∇R(w_l) + γ_l s_{l−1}: Λ_j^l = α_l γ_{j+1} … γ_l, [L, L, prompts], of alpha and gamma [L,
    prompts]."""
    table = alpha.new_zeros(len(alpha), *alpha.shape)
    register = table[0]  # a row for each past gradient
    for layer in range(len(table)):
        register = register * gamma[layer]
        register[layer] = 1.0
        table[layer] = alpha[layer] * register
    return table


def replay(table: Any, S: Tensor, target: Tensor) -> Tensor:
    """Return the iterates [L + 1, d, prompts] that a table makes on prompts S [d, d, prompts] with
    target [d, prompts].

    `table` is [L, L], or [L, L, prompts] where each prompt has its own."""
    weights = torch.as_tensor(table).to(S)
    iterates = [torch.zeros_like(target)]
    gradients: list[Tensor] = []
    for row in weights:
        gradients.append(product(S, iterates[-1] - target))
        past = (weight * gradient for weight, gradient in zip(row, gradients, strict=False))
        iterates.append(iterates[-1] - sum(past, torch.zeros(())))
    return torch.stack(iterates)
