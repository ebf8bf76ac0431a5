"""What a learned method is measured against: classical solvers and the exact floors, on the same
fresh prompts."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from icl_core import learners
from icl_core.contract.experiment import names
from icl_core.papers.memformers.shared import known_methods, task, test_set
from icl_core.papers.memformers.shared.task import eigenvalues_of

NESTEROV, MOMENTUM, BETA = (
    0.6,
    0.1,
    0.9,
)  # the authors' 0.03 and 0.005 an example, on 20, as steps on R(w)
TUNED_ON = 2**12  # prompts on which rates are tuned
CHUNK = 2**22  # numbers of error maps held at once

BASELINES = ("cg", "pcg", "gd", "momentum", "momentum_tuned", "nesterov", "nesterov_tuned")

Lines = dict[str, np.ndarray]


def baseline_losses(config: Any) -> Lines:
    """For each of `names/baselines` and the floors, `baseline/<id>`, `_error` and `_median` [K] for
    one to `layers` steps: mean losses on fresh prompts, the standard errors of their logarithms and
    the medians; `reference/*`: tuned learning rates and conjugate gradient's mean coefficients.

    In the eigenbasis of Σ, for all solvers turn with it. The authors' rates count in units of one
    over the largest eigenvalue, which is 1 in their task.
    """
    D, depths = eigenvalues_of(config), range(1, config.layers + 1)
    S = prompts(config)
    X = learners.coloured(S, D)
    best = {
        "gd": learners.best_rate,
        "momentum": learners.best_momentum,
        "nesterov": learners.best_nesterov,
    }
    tuned = {
        name: np.array([tune(X[..., :TUNED_ON], D, L) for L in depths])
        for name, tune in best.items()
    }
    lines = {f"reference/{name}": value for name, value in tuned.items()} | _classical(X, D, tuned)
    for cg, floor, pool, eigenvalues in (("cg", "floor_scalar", X, D), ("pcg", "floor", S, None)):
        losses, solution = conjugate(pool, eigenvalues, config.layers)
        line = _line(cg, list(losses))
        line.pop(
            f"baseline/{cg}_median"
        )  # over prompts with their w*: not what the other medians are over
        lines |= {
            **line,
            f"reference/{cg}": mean_coefficients(solution),
            **_floor(floor, pool, eigenvalues, config.layers),
        }
    arrays = {name: np.asarray(value, np.float32) for name, value in lines.items()}
    return {"names/baselines": names(BASELINES), **arrays}


def prompts(config: Any) -> Tensor:
    """S of the whole test set, [d, d, prompts]."""
    return _prompts(config.d, config.n)


def _prompts(d: int, n: int) -> Tensor:
    return torch.cat([S for _, S in test_set.held_out(d, n, test_set.PROMPTS)], -1)


def _classical(X: Tensor, D: Tensor, tuned: Lines) -> Lines:
    """The methods with constant settings, the authors' and the best for each depth."""
    unit, layers = float(D.max()), len(tuned["gd"])
    methods: dict[str, tuple[Callable[..., Tensor], Any]] = {
        "gd": (learners.gradient_descent, tuned["gd"][:, None]),
        "momentum": (learners.momentum, [(MOMENTUM / unit, BETA)] * layers),
        "nesterov": (learners.nesterov, [(NESTEROV / unit, BETA)] * layers),
        "momentum_tuned": (learners.momentum, tuned["momentum"]),
        "nesterov_tuned": (learners.nesterov, tuned["nesterov"]),
    }
    lines: Lines = {}
    for name, (method, settings) in methods.items():
        losses = [
            _linear(X, D, L, method, tuple(map(float, values)))
            for L, values in enumerate(settings, 1)
        ]
        lines |= _line(name, losses)
    return lines


def conjugate(S: Tensor, D: Tensor | None, steps: int) -> tuple[Tensor, learners.Conjugate]:
    """What conjugate gradient loses after each step for sampled w*, [steps, prompts], and what it
    did. In the eigenbasis of Σ, or (D None) in whitened coordinates, where it knows Σ⁻¹."""
    generator = torch.Generator().manual_seed(2**31 + 19)
    white = task.gaussian((S.shape[0], S.shape[-1]), generator)
    target = white if D is None else white / D.sqrt().to(white)[:, None]
    done = learners.conjugate_gradient(S, target, steps)
    return learners.sampled_loss(done.iterates - target, D)[1:], done


def construction(config: Any) -> Lines:
    """`baseline/floor` [K] and `reference/floor_steps` [K, K], NaN where there is none: a plain
    linear transformer of L layers A_l = step_l Σ⁻¹, the inverse roots of the best polynomial of
    degree L, attains the floor."""
    return dict(_construction(config.d, config.n, config.layers))


@lru_cache(maxsize=4)  # whatever the covariance and the training
def _construction(d: int, n: int, layers: int) -> Lines:
    line = _floor("floor", _prompts(d, n), None, layers)
    return {name: np.asarray(value, np.float32) for name, value in line.items()}


def _floor(name: str, S: Tensor, D: Tensor | None, layers: int) -> Lines:
    polynomials = learners.floors(S, D, list(range(1, layers + 1)))
    steps = [
        [*1 / _real(polynomial.roots), *[np.nan] * (layers - len(polynomial.roots))]
        for polynomial in polynomials
    ]
    noise, median = np.array([_noise_and_median(polynomial, S, D) for polynomial in polynomials]).T
    return {
        "reference/noise" + name.removeprefix("floor"): noise,
        f"baseline/{name}_median": median,
        f"baseline/{name}": np.array([polynomial.loss for polynomial in polynomials]),
        f"baseline/{name}_error": np.array(
            [polynomial.error / polynomial.loss for polynomial in polynomials]
        ),
        f"reference/{name}_steps": np.array(steps),
    }


def mean_coefficients(done: learners.Conjugate) -> np.ndarray:
    """What conjugate gradient makes of each past gradient, as a mean over prompts: [L, L]."""
    return np.array(
        [
            row.double().mean(-1).cpu().numpy()
            for row in known_methods.deflected(done.alpha, done.gamma)
        ]
    )


def _linear(
    S: Tensor, D: Tensor, steps: int, method: Callable[..., Tensor], settings: tuple[float, ...]
) -> Tensor:
    chunk = max(64, CHUNK // (len(S) ** 2 * (steps + 1)))
    parts = (learners.error_maps(method, part, steps, *settings)[-1] for part in S.split(chunk, -1))
    return torch.cat([learners.expected_loss(C, D) for C in parts], -1)


def _line(name: str, losses: list[Tensor]) -> Lines:
    pairs = [test_set.mean_and_log_error(step_losses) for step_losses in losses]
    return {
        f"baseline/{name}": np.array([float(mean) for mean, _ in pairs]),
        f"baseline/{name}_error": np.array([float(error) for _, error in pairs]),
        f"baseline/{name}_median": np.array(
            [float(step_losses.median()) for step_losses in losses]
        ),
    }


def _noise_and_median(
    best: learners.Polynomial, S: Tensor, D: Tensor | None
) -> tuple[float, float]:
    """Of what the best polynomial in the mean loses: the standard error of the logarithm of a mean
    over 1000 prompts, each with its own w* and query, and the median over prompts."""
    generator, sampled, expected = torch.Generator().manual_seed(2**31 + 31), [], []
    for part in S.split(test_set.BLOCK, -1):
        C = learners.evaluate(best, part)
        expected.append(learners.expected_loss(C, D))
        C = C * (1 if D is None else learners.weight(D).sqrt().to(part)[:, :, None])
        target, query = (task.gaussian(part.shape[1:], generator) for _ in range(2))
        sampled.append(((C * target).sum(1) * query).sum(0).square())
    noise = (
        float(test_set.mean_and_log_error(torch.cat(sampled))[1]) * (test_set.PROMPTS / 1000) ** 0.5
    )
    return noise, float(torch.cat(expected).median())


def _real(roots: Tensor) -> np.ndarray:
    """The roots, smallest step first; NaN where they are not real."""
    if roots.is_complex():
        return np.full(len(roots), np.nan)
    return roots.numpy()[::-1]
