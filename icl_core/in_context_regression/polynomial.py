"""The least loss of all methods that are linear in y and whose layers share one preconditioner; and
the best constant settings of the classical methods, with the least expected loss after L steps.

Such a method with L layers has C = p(S) with a polynomial p of degree L and p(0) = 1, so no such
method is better than the best polynomial. In a Chebyshev basis, p(S) = sum_k c_k T_k(S), its
expected loss is the quadratic form

    c^T G c,  G_jk = mean over prompts of sum_ij D_i / D_j T_j(S)_ij T_k(S)_ij.

Noise in the labels of variance v adds, with b_k = T_k at S = 0,

    v / n mean over prompts of tr Sigma (b_j I - T_j(S)) S^-1 (b_k I - T_k(S)).

The constraint p(0) = 1 is b^T c = 1, and the least loss is at

    c = G^-1 b / (b^T G^-1 b).

After L steps each method is a polynomial of degree L in S, so its expected loss is c^T G c with
this G. The pool of prompts is read once; thousands of settings are then evaluated in milliseconds,
and a search on a grid finds the best of them.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from icl_core.in_context_regression.solvers import (
    Eigenvalues,
    Grams,
    expected_loss,
    gradient_descent,
    identity,
    inverse_factor,
    mean_and_error,
    momentum,
    nesterov,
    noise_loss,
    product,
    weight,
)

CHUNK = 2**18  # numbers of the basis that are computed at a time, so that they fit the CPU's cache
SEEN = 1024  # prompts whose largest eigenvalue sets the interval of the basis


@dataclass(frozen=True, eq=False)
class Polynomial:
    """A polynomial p with p(0) = 1, in Chebyshev polynomials of 2 S / high - I; float64 on the CPU.

    If all its roots r_l are real, a plain linear transformer whose layers have the preconditioners
    A_l = A / r_l, in any order, attains the loss: p(S) = prod_l (I - S / r_l). If S is whitened,
    A = Sigma^-1, and the roots are always real. Otherwise A = I, and they may be complex if n is
    small compared with d.

    loss          the mean expected loss, on a pool of prompts or over all
    error         its standard error, at these coefficients; it leaves out that they were fitted
    coefficients  c [degree + 1]
    roots         [degree], ascending; float64 if all are real, else complex128
    high          the upper end of the interval [0, high] of the basis
    """

    loss: float
    error: float
    coefficients: Float[Tensor, "degree_1"]
    roots: Tensor
    high: float


@dataclass(frozen=True, eq=False)
class Moments:
    """The quadratic form G of a pool of prompts, in the basis on [0, high]; it determines the
    expected loss of every polynomial."""

    G: Float[Tensor, "degree_1 degree_1"]
    high: float


def moments(S: Grams, eigenvalues: Eigenvalues | None, degree: int, share: float = 0.0) -> Moments:
    """Return G for polynomials up to `degree`, in float64 on the CPU. Its leading block is the G of
    a lower degree. `share` is the variance of noise in the labels over n."""
    if degree < 0:
        raise ValueError(f"degree must be at least 0, got {degree}")
    # Some prompts may have larger eigenvalues: the basis need not be bounded by 1 on every prompt.
    high = float(torch.linalg.eigvalsh(S[..., :SEEN].permute(2, 0, 1).double()).max())
    G = torch.zeros(degree + 1, degree + 1, dtype=torch.float64, device=S.device)
    for basis in _bases(S, degree, high):
        if eigenvalues is not None:
            basis = basis * weight(eigenvalues).to(basis).sqrt()[:, :, None]
        flat = basis.flatten(1)  # [degree + 1, d d chunk]
        G += flat @ flat.T
    if share:
        G += share * _noise_form(S, eigenvalues, degree, high)
    return Moments(G.cpu() / S.shape[-1], high)


def _noise_form(
    S: Grams, eigenvalues: Eigenvalues | None, degree: int, high: float
) -> Float[Tensor, "degree_1 degree_1"]:
    """Return the part of the noise in the labels in G, summed over prompts."""
    G = torch.zeros(degree + 1, degree + 1, dtype=torch.float64, device=S.device)
    b = at_zero(degree).to(S.device)[:, None, None, None]
    start = 0
    for basis in _bases(S, degree, high):
        part = S[..., start : start + basis.shape[-1]]
        start += basis.shape[-1]
        reached = b * identity(part).double() - basis  # [degree + 1, d, d, chunk]
        factors = torch.einsum("mikp,kjp->mijp", reached, inverse_factor(part))
        if eigenvalues is not None:
            factors = factors * eigenvalues.to(factors).sqrt()[:, None, None]
        flat = factors.flatten(1)
        G += flat @ flat.T
    return G


def at_zero(degree: int) -> Float[Tensor, "degree_1"]:
    """Return b_k, the value of T_k(2 z / high - 1) at z = 0: (-1)^k."""
    b = torch.ones(degree + 1, dtype=torch.float64)
    b[1::2] = -1.0
    return b


def floors(
    S: Grams, eigenvalues: Eigenvalues | None, degrees: Sequence[int], share: float = 0.0
) -> list[Polynomial]:
    """Return for each degree the polynomial with p(0) = 1 that has the least expected loss on the
    pool. Its loss there is below that of every polynomial over all prompts: evaluate it on another
    pool, or see `wishart.exact_floors`.

    With `coloured` S and its eigenvalues this is the least loss of layers A_l proportional to I;
    with whitened S and None, of layers proportional to Sigma^-1. `share` is the variance of noise
    in the labels over n.
    """
    form = moments(S, eigenvalues, max(degrees), share)
    coefficients = torch.zeros(len(degrees), max(degrees) + 1, dtype=torch.float64)
    for row, degree in zip(coefficients, degrees, strict=True):
        row[: degree + 1] = _best(form.G[: degree + 1, : degree + 1])
    losses = _losses(S, eigenvalues, coefficients, form.high, share)  # [degrees, prompts]
    means, errors = mean_and_error(losses)  # [degrees] each
    polynomials: list[Polynomial] = []
    for i, degree in enumerate(degrees):
        c = coefficients[i, : degree + 1]
        roots = roots_of(c, form.high)
        polynomials.append(Polynomial(means[i].item(), errors[i].item(), c, roots, form.high))
    return polynomials


def evaluate(polynomial: Polynomial, S: Grams) -> Grams:
    """Return C = p(S), computed by the three-term recurrence in the precision of S."""
    basis = _basis(S, len(polynomial.coefficients) - 1, polynomial.high)
    return torch.tensordot(polynomial.coefficients.to(S), basis, 1)


def chebyshev(x: Tensor, degree: int) -> Float[Tensor, "degree_1 ..."]:
    """Return the Chebyshev polynomials T_0..T_degree at the numbers x, [degree + 1, ...]."""
    return _recur(torch.ones_like(x), x, degree, lambda T: x * T)


def _basis(S: Tensor, degree: int, high: float) -> Float[Tensor, "degree_1 d d prompts"]:
    one = identity(S)
    Z = S * (2 / high) - one  # [0, high] is mapped to [-1, 1]
    return _recur(one, Z, degree, lambda T: product(Z, T))


def _recur(first: Tensor, second: Tensor, degree: int, times: Callable[[Tensor], Tensor]) -> Tensor:
    """Return T_0..T_degree by T_{k+1} = 2 Z T_k - T_{k-1}; `times` multiplies by Z."""
    basis = [first, second]
    for _ in range(degree - 1):
        basis.append(2 * times(basis[-1]) - basis[-2])
    return torch.stack(basis[: degree + 1])


def _bases(S: Tensor, degree: int, high: float) -> Iterator[Float[Tensor, "degree_1 d d chunk"]]:
    """Yield the basis in float64, some prompts at a time."""
    chunk = max(CHUNK // (len(S) ** 2 * (degree + 1)), 64)  # prompts
    return (_basis(part.double(), degree, high) for part in S.split(chunk, -1))


def _best(G: Tensor) -> Tensor:
    """Return c = G^-1 b / (b^T G^-1 b), solved with G scaled to a unit diagonal."""
    b = at_zero(len(G) - 1)
    scale = G.diagonal().rsqrt()
    scaled = G * scale[:, None] * scale
    # G is singular, and the least loss zero, if the pool has fewer distinct eigenvalues than the
    # degree. Adding rounding errors to the diagonal keeps it solvable.
    scaled.diagonal().add_(len(G) * torch.finfo(G.dtype).eps)
    c = scale * torch.linalg.solve(scaled, b * scale)
    return c / (b @ c)


def _losses(
    S: Tensor, eigenvalues: Tensor | None, coefficients: Tensor, high: float, share: float
) -> Float[Tensor, "polynomials prompts"]:
    """Return the expected loss of every polynomial, a row of `coefficients`, on every prompt."""
    losses: list[Tensor] = []
    start = 0
    for basis in _bases(S, coefficients.shape[1] - 1, high):
        part = S[..., start : start + basis.shape[-1]]
        start += basis.shape[-1]
        C = torch.tensordot(coefficients.to(basis), basis, 1)  # [polynomials, d, d, chunk]
        loss = expected_loss(C, eigenvalues)
        losses.append(loss + noise_loss(C, part, eigenvalues, share) if share else loss)
    return torch.cat(losses, -1).cpu()


def roots_of(c: Float[Tensor, "degree_1"], high: float) -> Tensor:
    """Return the roots of a series in T_k(2 z / high - 1), ascending; complex128 if one is not
    real."""
    roots = np.polynomial.chebyshev.chebroots(c.numpy())  # of 2 S / high - 1
    return torch.from_numpy(np.sort((roots + 1) * (high / 2)))


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
        losses.append(_loss_of_rates(method, leading, degree, settings))
    return torch.stack(losses)


def _best_rate(form: Moments, steps: int) -> float:
    loss = partial(_loss_of_rates, gradient_descent, form, steps)
    return math.exp(minimise(loss, [_log_rates(form)], [401])[0])


def _best_pair(method: Callable[..., Tensor], form: Moments, steps: int) -> tuple[float, float]:
    loss = partial(_loss_of_rates, method, form, steps)
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


def _loss_of_rates(
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
