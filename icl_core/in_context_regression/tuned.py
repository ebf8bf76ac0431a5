"""The best constant settings of the classical methods: those with the least expected loss after L
steps.

After L steps each method is a polynomial of degree L in S, so its expected loss is c^T G c with the
G of `polynomial`. The pool of prompts is read once; thousands of settings are then evaluated in
milliseconds, and a search on a grid finds the best of them.
"""

import math
from collections.abc import Callable
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor

from icl_core.in_context_regression.linear import Eigenvalues
from icl_core.in_context_regression.polynomial import Moments, chebyshev, moments
from icl_core.in_context_regression.solvers import Grams, gradient_descent, momentum, nesterov

LARGEST_BETA = 0.999
RATES = (1e-3, 20.0)  # the range that is searched, in units of 1 / largest eigenvalue
ROUNDS = 20  # grids; each covers four spacings of the one before, around its best point
FINER = 13  # points per axis in all grids but the first
REACH = 2  # spacings

Box = list[tuple[float, float]]


def best_rate(S: Grams, eigenvalues: Eigenvalues | None, steps: int, share: float = 0.0) -> float:
    """Return the learning rate of gradient descent with the least expected loss on the pool, with
    coordinates and `share` as in `floors`."""
    return _best_rate(_checked(S, eigenvalues, steps, share), steps)


def best_momentum(
    S: Grams, eigenvalues: Eigenvalues | None, steps: int, share: float = 0.0
) -> tuple[float, float]:
    """Return the best (rate, beta) of `momentum`, with beta from 0 to 0.999; beta is 0 if it makes
    no difference, as after one step."""
    return _best_pair(momentum, _checked(S, eigenvalues, steps, share), steps)


def best_nesterov(
    S: Grams, eigenvalues: Eigenvalues | None, steps: int, share: float = 0.0
) -> tuple[float, float]:
    """Return the best (rate, beta) of `nesterov`, as `best_momentum` does."""
    return _best_pair(nesterov, _checked(S, eigenvalues, steps, share), steps)


def losses_of_pairs(
    method: Callable[..., Tensor],
    S: Grams,
    eigenvalues: Eigenvalues | None,
    steps: int,
    pairs: Float[Tensor, "pairs 2"],
    share: float = 0.0,
) -> Float[Tensor, "steps pairs"]:
    """Return the mean expected loss on the pool of `momentum` or `nesterov` with each of `pairs`
    (rate, beta), after 1 to `steps` steps; coordinates and `share` as in `floors`."""
    form = _checked(S, eigenvalues, steps, share)
    settings = torch.stack([pairs[:, 0].log(), pairs[:, 1]], 1).double()
    losses: list[Tensor] = []
    for degree in range(1, steps + 1):
        leading = Moments(form.G[: degree + 1, : degree + 1], form.high)
        losses.append(_loss(method, leading, degree, settings))
    return torch.stack(losses)


def _best_rate(form: Moments, steps: int) -> float:
    loss = partial(_loss, gradient_descent, form, steps)
    return math.exp(minimise(loss, [_log_rates(form)], [401])[0])


def _best_pair(method: Callable[..., Tensor], form: Moments, steps: int) -> tuple[float, float]:
    loss = partial(_loss, method, form, steps)
    log_rate, beta = minimise(loss, [_log_rates(form), (0.0, LARGEST_BETA)], [97, 49])
    plain = math.log(_best_rate(form, steps))  # with beta 0
    settings = torch.tensor([[log_rate, beta], [plain, 0.0]], dtype=torch.float64)
    pair_loss, plain_loss = loss(settings).tolist()
    if pair_loss < plain_loss * (1 - 1e-12):
        return math.exp(log_rate), beta
    return math.exp(plain), 0.0


def _checked(S: Tensor, eigenvalues: Tensor | None, steps: int, share: float) -> Moments:
    if steps < 1:
        raise ValueError(f"steps must be at least 1, got {steps}")
    return moments(S, eigenvalues, steps, share)


def _log_rates(form: Moments) -> tuple[float, float]:
    return math.log(RATES[0] / form.high), math.log(RATES[1] / form.high)


def _loss(
    method: Callable[..., Tensor], form: Moments, steps: int, settings: Tensor
) -> Float[Tensor, "settings"]:
    """Return the expected loss of `settings` [settings, 1 or 2]: the log of the rate, and beta.

    The method is run on the Chebyshev nodes, as prompts of one dimension. That gives the values of
    its polynomial there, and from them follow the coefficients.
    """
    count = steps + 1  # as many nodes as coefficients
    nodes = torch.cos(math.pi * (torch.arange(count, dtype=torch.float64) + 0.5) / count)
    S = (form.high * (nodes + 1) / 2).view(1, 1, count)  # [d = 1, 1, nodes]
    target = torch.ones(1, len(settings), count, dtype=torch.float64)  # [d = 1, settings, nodes]
    log_rate, *beta = settings.split(1, 1)  # [settings, 1] each
    values = (target - method(S, target, steps, log_rate.exp(), *beta)[-1])[0]  # [settings, nodes]
    c = values @ chebyshev(nodes, steps).T * (2 / count)  # [settings, steps + 1]
    c[:, 0] /= 2
    return ((c @ form.G) * c).sum(1).nan_to_num(nan=torch.inf)


def minimise(
    loss: Callable[[Tensor], Tensor],
    box: Box,
    points: list[int],
    rounds: int = ROUNDS,
    finer: int = FINER,
    reach: float = REACH,
) -> list[float]:
    """Return the point of `box` with the least loss, by a search on `rounds` grids that become
    finer.

    `points` is the number of points per axis in the first grid, which must be fine enough to show
    where the least loss is; the others have `finer`, over `reach` spacings of the one before on
    either side of its best point. `loss` takes settings [settings, axes] and
    returns a loss for each.
    """
    best = [0.0]
    grid_box = box
    for _ in range(rounds):
        axes = [
            torch.linspace(*ends, count, dtype=torch.float64)
            for ends, count in zip(grid_box, points, strict=True)
        ]
        grid = torch.meshgrid(*axes, indexing="ij")
        settings = torch.stack([axis.flatten() for axis in grid], 1)  # [settings, axes]
        best = settings[loss(settings).argmin()].tolist()
        widths = [
            reach * (high - low) / (count - 1)
            for (low, high), count in zip(grid_box, points, strict=True)
        ]
        grid_box = [
            (max(low, centre - width), min(high, centre + width))
            for (low, high), centre, width in zip(box, best, widths, strict=True)
        ]
        points = [finer] * len(box)
    return best
