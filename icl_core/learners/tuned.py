"""The classical methods at their best: constant settings with the least expected loss after a
number of steps.

After L steps each is a polynomial of degree L in S, so its loss is c^T G c with the G of
`polynomial`: a pool is read once, and thousands of settings are then tried in milliseconds, which
makes a plain search both safe and exact.
"""

import math
from collections.abc import Callable
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor

from icl_core.learners.linear import Eigenvalues
from icl_core.learners.polynomial import Moments, chebyshev, moments
from icl_core.learners.solvers import Grams, gradient_descent, momentum, nesterov

LARGEST_BETA = 0.999
RATES = (1e-3, 20.0)  # searched, in units of 1 / largest eigenvalue
ROUNDS, FINER = 20, 13  # zooms, each onto four spacings of the best, and points per axis in each

Box = list[tuple[float, float]]


def best_rate(S: Grams, eigenvalues: Eigenvalues | None, steps: int) -> float:
    """The rate of gradient descent with the least expected loss on the pool; coordinates as in
    `floors`."""
    return _best_rate(_checked(S, eigenvalues, steps), steps)


def best_momentum(S: Grams, eigenvalues: Eigenvalues | None, steps: int) -> tuple[float, float]:
    """(rate, beta) of `momentum`, beta from 0 to 0.999. Beta is 0 where it makes no difference, as
    after one step."""
    return _best_pair(momentum, S, eigenvalues, steps)


def best_nesterov(S: Grams, eigenvalues: Eigenvalues | None, steps: int) -> tuple[float, float]:
    """(rate, beta) of `nesterov`, as in `best_momentum`."""
    return _best_pair(nesterov, S, eigenvalues, steps)


def _best_rate(found: Moments, steps: int) -> float:
    return math.exp(
        _minimise(partial(_loss, gradient_descent, found, steps), [_log_rates(found)], [401])[0]
    )


def _best_pair(
    method: Callable[..., Tensor], S: Tensor, eigenvalues: Tensor | None, steps: int
) -> tuple[float, float]:
    found = _checked(S, eigenvalues, steps)
    loss = partial(_loss, method, found, steps)
    log_rate, beta = _minimise(loss, [_log_rates(found), (0.0, LARGEST_BETA)], [97, 49])
    plain = math.log(_best_rate(found, steps))
    pair, without = loss(
        torch.tensor([[log_rate, beta], [plain, 0.0]], dtype=torch.float64)
    ).tolist()
    return (math.exp(log_rate), beta) if pair < without * (1 - 1e-12) else (math.exp(plain), 0.0)


def _checked(S: Tensor, eigenvalues: Tensor | None, steps: int) -> Moments:
    if steps < 1:
        raise ValueError(f"steps must be at least 1, got {steps}")
    return moments(S, eigenvalues, steps)


def _log_rates(found: Moments) -> tuple[float, float]:
    return math.log(RATES[0] / found.high), math.log(RATES[1] / found.high)


def _loss(
    method: Callable[..., Tensor], found: Moments, steps: int, at: Tensor
) -> Float[Tensor, "tried"]:
    """The expected loss of every setting `at` [tried, 1 or 2], the rate's log and beta: the method
    itself, run on the Chebyshev nodes as prompts of one dimension, gives the polynomial's values
    there, and these its coefficients."""
    count = steps + 1
    nodes = torch.cos(math.pi * (torch.arange(count, dtype=torch.float64) + 0.5) / count)
    S = (found.high * (nodes + 1) / 2).view(1, 1, count)
    target, (log_rate, *beta) = torch.ones(1, len(at), count, dtype=torch.float64), at.split(1, 1)
    values = (target - method(S, target, steps, log_rate.exp(), *beta)[-1])[0]  # [tried, nodes]
    c = values @ chebyshev(nodes, steps).T * (2 / count)
    c[:, 0] /= 2
    return ((c @ found.G) * c).sum(1).nan_to_num(nan=torch.inf)


def _minimise(loss: Callable[[Tensor], Tensor], box: Box, points: list[int]) -> list[float]:
    best, within = [0.0], box
    for _ in range(ROUNDS):
        axes = [
            torch.linspace(*ends, count, dtype=torch.float64)
            for ends, count in zip(within, points, strict=True)
        ]
        tried = torch.stack([axis.flatten() for axis in torch.meshgrid(*axes, indexing="ij")], 1)
        best = tried[loss(tried).argmin()].tolist()
        reach = [
            2 * (high - low) / (count - 1)
            for (low, high), count in zip(within, points, strict=True)
        ]
        within = [
            (max(low, b - r), min(high, b + r))
            for (low, high), b, r in zip(box, best, reach, strict=True)
        ]
        points = [FINER] * len(box)
    return best
