"""The exact floors that training is timed against."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from icl_core import in_context_regression as regression
from icl_core.in_context_regression.polynomial import Moments

STARTS = 8  # of the search for the best shared Γ
SEED = 2**31 + 41


def loss_floors(config: Any) -> dict[str, np.ndarray]:
    """Return `baseline/floor`, the least expected loss of any polynomial of degree L in Σ⁻¹ S, and
    `baseline/floor_shared`, of those that a model with one Γ_j for all layers can be, [1] each."""
    best = regression.exact_floors(config.d, config.n, [config.layers])[0].loss
    exact = regression.exact_moments(config.d, config.n, config.layers)
    shared = shared_floor(exact, config.layers)
    return {
        "baseline/floor": np.array([best], np.float32),
        "baseline/floor_shared": np.array([shared], np.float32),
    }


def shared_floor(moments: Moments, layers: int) -> float:
    """The least loss of w_{l+1} = w_l − Σ_{j≤l} c_j Σ⁻¹ ∇R(w_j): of all A_l that are multiples of
    Σ⁻¹ and one Γ_j for all layers. The best of several searches: there is no closed form."""
    generator = torch.Generator().manual_seed(SEED)
    starts = torch.randn(STARTS, layers, generator=generator, dtype=torch.float64) * 0.5 + 0.5
    return min(_searched(start, moments) for start in starts)


def _searched(start: Tensor, moments: Moments) -> float:
    steps = start.clone().requires_grad_()
    optimiser = torch.optim.LBFGS([steps], max_iter=200, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimiser.zero_grad()
        value = _loss(steps, moments)
        value.log().backward()
        return value.detach().log()

    optimiser.step(loss)
    return float(_loss(steps.detach(), moments))


def _loss(steps: Tensor, moments: Moments) -> Tensor:
    """The expected loss of p_L, p_{l+1}(t) = p_l(t) − t Σ_{j≤l} c_j p_j(t), in the moments'
    Chebyshev basis."""
    times = _times_t(len(moments.G), moments.high)
    done = [torch.eye(len(moments.G), dtype=torch.float64)[0]]  # p_0 = 1
    register = torch.zeros_like(done[0])
    for step in steps:
        register = register + step * done[-1]
        done.append(done[-1] - times @ register)
    return done[-1] @ moments.G @ done[-1]


def _times_t(size: int, high: float) -> Tensor:
    """The matrix that multiplies a polynomial in Chebyshev polynomials of x = 2 t / high − 1 by t,
    cut at its degree: t = high (1 + x) / 2 and x T_k = (T_{k+1} + T_{|k−1|}) / 2."""
    x = torch.zeros(size, size, dtype=torch.float64)
    for k in range(size):
        for to in (k + 1, abs(k - 1)):
            if to < size:
                x[to, k] += 0.5
    return high / 2 * (torch.eye(size, dtype=torch.float64) + x)
