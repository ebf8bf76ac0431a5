"""What a learned method is measured against, on the same fresh prompts: classical solvers, the
exact floors, and every first-order method as one table.

A table is w_{l+1} = w_l − Σ_{j≤l} Λ_j^l ∇R(w_j), Λ a number, [L, L] over (l, j). A plain linear
transformer has its steps on the diagonal. The rows of a table added up are Λ_i^k of eq. 1.1, which
counts from w_0: w_{k+1} = w_0 − Σ_i Λ_i^k ∇R(w_i).
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import torch
from torch import Tensor

from icl_core import in_context_regression as regression
from icl_core.contract.experiment import names
from icl_core.in_context_regression import product
from icl_core.papers.memformers.shared import task, test_set
from icl_core.papers.memformers.shared.task import eigenvalues_of


def gradient_descent_table(layers: int, rate: float) -> np.ndarray:
    """Return the table of gradient descent, [L, L]: `rate` on the newest gradient, nothing on the
    others."""
    return rate * np.eye(layers)


def momentum_table(layers: int, rate: float, beta: float) -> np.ndarray:
    """Return the table of heavy ball, [L, L]: v_{l+1} = β v_l − rate ∇R(w_l), so Λ_j^l = rate
    β^{l−j}."""
    age = np.arange(layers)[:, None] - np.arange(layers)
    return np.where(age >= 0, rate * float(beta) ** np.maximum(age, 0), 0.0)


def nesterov_table(layers: int, rate: float, beta: float) -> np.ndarray:
    """Return the table of Nesterov's method, [L, L]: `momentum` on gradients at w_l + β (w_l −
    w_{l−1}). R is quadratic, so such a gradient is (1 + β) ∇R(w_l) − β ∇R(w_{l−1}), and this too is
    a table on gradients at the iterates."""
    ahead = (1 + beta) * np.eye(layers) - beta * np.eye(layers, k=-1)
    ahead[0] = np.eye(layers)[0]  # no step has been taken: nothing to look ahead along
    return momentum_table(layers, rate, beta) @ ahead


def deflected_table(alpha: Tensor, gamma: Tensor) -> Tensor:
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


# the authors' learning rates, 0.03 and 0.005 an example, on 20 examples: as steps on R(w)
NESTEROV = 0.6
MOMENTUM = 0.1
BETA = 0.9
TUNED_ON = 2**12  # prompts on which rates are tuned
CHUNK = 2**22  # numbers of error maps held at once
FIT = 23  # the seed of the prompts that the floor of A = a I is fitted on

BASELINES = ("cg", "pcg", "gd", "momentum", "momentum_tuned", "nesterov", "nesterov_tuned")

Lines = dict[str, np.ndarray]


def baseline_losses(config: Any) -> Lines:
    """Return what a learned method is measured against, for one to `layers` = K steps:

    baseline/<id>, _error, _median   [K] of each of `names/baselines` and of the floors: the mean
                                     loss on the test set, the standard error of its logarithm, the
                                     median. "floor" (A_l ∝ Σ⁻¹) is exact, its error 0.
    reference/<floor>_sampled, _sampled_error   [K] the mean that a floor's method has on the test
                                     set, and the standard error of its logarithm
    reference/<floor>_steps          [K, K] its steps
    reference/noise, noise_scalar    [K] see `_noise_and_median`
    reference/gd, momentum, nesterov, cg, pcg   tuned learning rates; mean coefficients

    In the eigenbasis of Σ, for all solvers turn with it. The authors' rates count in units of one
    over the largest eigenvalue, which is 1 in their task.
    """
    D = eigenvalues_of(config)
    depths = range(1, config.layers + 1)
    share = config.noise_share
    S = prompts(config.d, config.n)
    X = regression.coloured(S, D)
    best = {
        "gd": regression.best_rate,
        "momentum": regression.best_momentum,
        "nesterov": regression.best_nesterov,
    }
    tuned = {
        name: np.array([tune(X[..., :TUNED_ON], D, L, share) for L in depths])
        for name, tune in best.items()
    }
    lines = {f"reference/{name}": value for name, value in tuned.items()}
    lines |= _classical(X, D, tuned, share)
    for name, pool, eigenvalues in (("cg", X, D), ("pcg", S, None)):
        losses, solution = conjugate(pool, eigenvalues, config.layers, share)
        line = _line(name, list(losses))
        # Over prompts with their w*: not what the other medians are over.
        line.pop(f"baseline/{name}_median")
        lines |= {**line, f"reference/{name}": mean_coefficients(solution)}
    lines |= _floor("floor", exact_floors(config), S, None, share)
    # A multiple of I has no exact moments here. Fitted on other prompts, it is not too low.
    others = regression.coloured(prompts(config.d, config.n, FIT), D)
    fitted = regression.floors(others, D, depths, share)
    lines |= _floor("floor_scalar", fitted, X, D, share)
    if share:
        lines["baseline/ridge"] = np.full(config.layers, ridge(S, share))
    arrays = {name: np.asarray(value, np.float32) for name, value in lines.items()}
    return {"names/baselines": names(BASELINES), **arrays}


def prompts(d: int, n: int, seed: int = test_set.SEED) -> Tensor:
    """Return S of the whole test set, or of as many prompts of another seed, [d, d, prompts]."""
    return torch.cat([S for _, S in test_set.held_out(d, n, test_set.PROMPTS, seed)], -1)


def exact_floors(config: Any) -> list[regression.Polynomial]:
    """Return the best fixed steps A_l ∝ Σ⁻¹ of one to `layers` layers, for the noise of the
    labels."""
    depths = range(1, config.layers + 1)
    return regression.exact_floors(config.d, config.n, depths, Fraction(config.noise) ** 2)


def ridge(S: Tensor, share: float) -> float:
    """Return what ridge regression with λ = τ² / n loses in whitened coordinates, in the mean over
    prompts: no method loses less, for w* and noise are Gaussian. `share` is λ."""
    eigenvalues = torch.linalg.eigvalsh(S.permute(2, 0, 1).double())  # [prompts, d]
    return float((share / (eigenvalues + share)).sum(1).mean())


def _classical(X: Tensor, D: Tensor, tuned: Lines, share: float) -> Lines:
    """Return the lines of the methods with constant settings, the authors' and the best for each
    depth."""
    unit = float(D.max())
    layers = len(tuned["gd"])
    methods: dict[str, tuple[Callable[..., Tensor], Any]] = {
        "gd": (regression.gradient_descent, tuned["gd"][:, None]),
        "momentum": (regression.momentum, [(MOMENTUM / unit, BETA)] * layers),
        "nesterov": (regression.nesterov, [(NESTEROV / unit, BETA)] * layers),
        "momentum_tuned": (regression.momentum, tuned["momentum"]),
        "nesterov_tuned": (regression.nesterov, tuned["nesterov"]),
    }
    lines: Lines = {}
    for name, (method, settings) in methods.items():
        losses = [
            _linear(X, D, L, method, tuple(map(float, values)), share)
            for L, values in enumerate(settings, 1)
        ]
        lines |= _line(name, losses)
    return lines


def conjugate(
    S: Tensor, D: Tensor | None, steps: int, share: float = 0.0
) -> tuple[Tensor, regression.Conjugate]:
    """Return what conjugate gradient loses after each step for sampled w*, [steps, prompts], and
    what it did. In the eigenbasis of Σ, or (D None) in whitened coordinates, where it knows Σ⁻¹.
    With noise in the labels, of variance n `share`, it runs towards the least-squares solution."""
    generator = torch.Generator().manual_seed(2**31 + 19)
    white = task.gaussian((S.shape[0], S.shape[-1]), generator)
    target = white if D is None else white / D.sqrt().to(white)[:, None]
    fitted = target
    if share:
        noise = share**0.5 * task.gaussian((S.shape[0], S.shape[-1]), generator)
        factor = regression.inverse_factor(S).to(S)  # F Fᵀ = S⁻¹
        fitted = target + torch.einsum("ijp,jp->ip", factor, noise)
    solution = regression.conjugate_gradient(S, fitted, steps)
    return regression.sampled_loss(solution.iterates - target, D)[1:], solution


def construction(config: Any) -> Lines:
    """Return `baseline/floor` [K] and `reference/floor_steps` [K, K], NaN beyond a row's depth.

    A plain linear transformer of L layers A_l = step_l Σ⁻¹, the inverse roots of the best
    polynomial of degree L, attains the floor. Both are exact, whatever the covariance."""
    polynomials = exact_floors(config)
    return {
        "baseline/floor": np.array([each.loss for each in polynomials], np.float32),
        "reference/floor_steps": _steps(polynomials).astype(np.float32),
    }


def _floor(
    name: str,
    polynomials: Sequence[regression.Polynomial],
    S: Tensor,
    D: Tensor | None,
    share: float,
) -> Lines:
    """Return the lines of a floor with its best `polynomials`, of one to K layers: as the exact
    ones have it, and what they lose on the prompts S."""
    noise, median = np.array([_noise_and_median(best, S, D, share) for best in polynomials]).T
    losses = [test_set.losses_of(regression.evaluate(best, S), S, D, share) for best in polynomials]
    pairs = [test_set.mean_and_log_error(of_prompts) for of_prompts in losses]
    sampled, errors = np.array([[float(value) for value in pair] for pair in pairs]).T
    is_exact = D is None
    return {
        "reference/noise" + name.removeprefix("floor"): noise,
        f"baseline/{name}_median": median,
        f"baseline/{name}": np.array([best.loss for best in polynomials]) if is_exact else sampled,
        f"baseline/{name}_error": np.zeros(len(errors)) if is_exact else errors,
        f"reference/{name}_steps": _steps(polynomials),
        f"reference/{name}_sampled": sampled,
        f"reference/{name}_sampled_error": errors,
    }


def _steps(polynomials: Sequence[regression.Polynomial]) -> np.ndarray:
    """Return the inverse roots of each, the smallest step first: [K, K], NaN where there are none
    or they are not real."""
    rows = [_real(each.roots) for each in polynomials]
    steps = np.full((len(rows), len(rows)), np.nan)
    for own, roots in zip(steps, rows, strict=True):
        own[: len(roots)] = 1 / roots
    return steps


def mean_coefficients(solution: regression.Conjugate) -> np.ndarray:
    """Return conjugate gradient's table on past gradients, as a mean over prompts: [L, L]."""
    table = deflected_table(solution.alpha, solution.gamma)  # [L, L, prompts]
    return np.array([row.double().mean(-1).cpu().numpy() for row in table])


def _linear(
    S: Tensor,
    D: Tensor,
    steps: int,
    method: Callable[..., Tensor],
    settings: tuple[float, ...],
    share: float,
) -> Tensor:
    """Return the expected losses [prompts] after that many steps of a method with constant
    settings."""
    chunk = max(64, CHUNK // (len(S) ** 2 * (steps + 1)))
    losses: list[Tensor] = []
    for part in S.split(chunk, -1):
        C = regression.error_maps(method, part, steps, *settings)[-1]
        losses.append(test_set.losses_of(C, part, D, share))
    return torch.cat(losses, -1)


def _line(name: str, losses: list[Tensor]) -> Lines:
    """Return mean, error and median [K] of the losses [prompts] after each number of steps."""
    pairs = [test_set.mean_and_log_error(step_losses) for step_losses in losses]
    return {
        f"baseline/{name}": np.array([float(mean) for mean, _ in pairs]),
        f"baseline/{name}_error": np.array([float(error) for _, error in pairs]),
        f"baseline/{name}_median": np.array(
            [float(step_losses.median()) for step_losses in losses]
        ),
    }


def _noise_and_median(
    best: regression.Polynomial, S: Tensor, D: Tensor | None, share: float
) -> tuple[float, float]:
    """Return two numbers of what the best polynomial in the mean loses: the standard error of the
    logarithm of a mean over 1000 prompts, each with its own w* and query, and the median over
    prompts."""
    generator = torch.Generator().manual_seed(2**31 + 31)
    sampled: list[Tensor] = []
    expected: list[Tensor] = []
    for part in S.split(test_set.BLOCK, -1):
        C = regression.evaluate(best, part)
        expected.append(test_set.losses_of(C, part, D, share))
        C = C * (1 if D is None else regression.weight(D).sqrt().to(part)[:, :, None])
        target, query = (task.gaussian(part.shape[1:], generator) for _ in range(2))
        sampled.append(((C * target).sum(1) * query).sum(0).square())
    _, error = test_set.mean_and_log_error(torch.cat(sampled))
    noise = float(error) * (test_set.PROMPTS / 1000) ** 0.5
    return noise, float(torch.cat(expected).median())


def _real(roots: Tensor) -> np.ndarray:
    """Return the roots, smallest step first; NaN where they are not real."""
    if roots.is_complex():
        return np.full(len(roots), np.nan)
    return roots.numpy()[::-1]
