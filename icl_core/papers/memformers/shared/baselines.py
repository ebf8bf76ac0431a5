"""What a learned method is measured against: classical solvers and the exact floors, on the same fresh prompts."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from icl_core.experiment import names
from icl_core.papers.memformers.shared import task, test_set
from icl_core.papers.memformers.shared.task import Batch, covariances, eigenvalues_of
from icl_core.regression import (
    Conjugate,
    Polynomial,
    best_momentum,
    best_nesterov,
    best_rate,
    coloured,
    conjugate_gradient,
    error_maps,
    evaluate,
    expected_loss,
    floors,
    gradient_descent,
    momentum,
    nesterov,
    sampled_loss,
    weight,
)

NESTEROV, MOMENTUM, BETA = 0.6, 0.1, 0.9  # the authors' 0.03 and 0.005 an example, on 20, as steps on R(w)
TUNED_ON = 2**12  # prompts on which rates are tuned
CHUNK = 2**22  # numbers of error maps held at once

BASELINES = ("cg", "pcg", "gd", "momentum", "momentum_tuned", "nesterov", "nesterov_tuned")

Lines = dict[str, np.ndarray]


def baselines(config: Any) -> Lines:
    """For each of `names/baselines` and the floors, `baseline/<id>`, `_error` and `_median` [K] for one to `layers`
    steps: mean losses on fresh prompts, the standard errors of their logarithms and the medians; `reference/*`: tuned
    learning rates and conjugate gradient's mean coefficients.

    In the eigenbasis of Σ, for all solvers turn with it. The authors' rates count in units of one over the largest
    eigenvalue, which is 1 in their task.
    """
    D, depths = eigenvalues_of(config), range(1, config.layers + 1)
    S = _test_set(config)
    X = coloured(S, D)
    found = {f"reference/{name}": value for name, value in _tuned(X[..., :TUNED_ON], D, depths).items()}
    found |= _classical(X, D, found) | _conjugates(X, S, D, config.layers)
    for name, pool, eigenvalues in (("floor", S, None), ("floor_scalar", X, D)):
        found |= _floor(name, pool, eigenvalues, config.layers)
    arrays = {name: np.asarray(value, np.float32) for name, value in found.items()}
    return {"names/baselines": names(BASELINES), **arrays}


def _test_set(config: Any) -> Tensor:
    """S of all its prompts, [d, d, prompts]."""
    return torch.cat([S for _, S in test_set.held_out(config.d, config.n, test_set.PROMPTS)], -1)


def _classical(X: Tensor, D: Tensor, tuned: Lines) -> Lines:
    """The methods with constant settings, the authors' and the best for each depth."""
    unit = float(D.max())
    methods: dict[str, tuple[Callable[..., Tensor], Any]] = {
        "gd": (gradient_descent, tuned["reference/gd"][:, None]),
        "momentum": (momentum, [(MOMENTUM / unit, BETA)] * len(tuned["reference/gd"])),
        "nesterov": (nesterov, [(NESTEROV / unit, BETA)] * len(tuned["reference/gd"])),
        "momentum_tuned": (momentum, tuned["reference/momentum"]),
        "nesterov_tuned": (nesterov, tuned["reference/nesterov"]),
    }
    found: Lines = {}
    for name, (method, settings) in methods.items():
        losses = [_linear(X, D, L, method, tuple(map(float, each))) for L, each in enumerate(settings, 1)]
        found |= _line(name, losses)
    return found


def _conjugates(X: Tensor, S: Tensor, D: Tensor, layers: int) -> Lines:
    """Conjugate gradient without Σ⁻¹ and with it, and what it makes of past gradients in the mean."""
    found: Lines = {}
    for name, pool, eigenvalues in (("cg", X, D), ("pcg", S, None)):
        missed, done = _conjugate(pool, eigenvalues, layers)
        line = _line(name, list(sampled_loss(missed, eigenvalues)[1:]))
        line.pop(f"baseline/{name}_median")  # over prompts with their w*: not what the other medians are over
        found |= {**line, f"reference/{name}": mean_coefficients(done)}
    return found


def construction(config: Any) -> Lines:
    """`baseline/floor` [K] and `reference/floor_steps` [K, K], NaN where there is none: a plain linear transformer of
    L layers A_l = step_l Σ⁻¹, the inverse roots of the best polynomial of degree L, attains the floor."""
    line = _floor("floor", _test_set(config), None, config.layers)
    return {name: np.asarray(value, np.float32) for name, value in line.items()}


def _floor(name: str, S: Tensor, D: Tensor | None, layers: int) -> Lines:
    best = floors(S, D, list(range(1, layers + 1)))
    steps = [[*1 / _real(each.roots), *[np.nan] * (layers - len(each.roots))] for each in best]
    noise = "reference/noise" + name.removeprefix("floor")
    return {
        noise: np.array([_noise(each, S, D) for each in best]),
        f"baseline/{name}_median": np.array([_median(each, S, D) for each in best]),
        f"baseline/{name}": np.array([each.loss for each in best]),
        f"baseline/{name}_error": np.array([each.error / each.loss for each in best]),
        f"reference/{name}_steps": np.array(steps),
    }


def on_batch(config: Any, batch: Batch) -> Lines:
    """`baseline/cg_train` [seeds, K]: conjugate gradient on the very prompts and queries that a model is trained on."""
    rows = []
    for seed, covariance in enumerate(covariances(config)):
        root, inverse = covariance.root.to(batch.S), covariance.inverse_root.to(batch.S)
        X = torch.einsum("ij,jkp,kl->ilp", root, batch.S[seed], root)  # these prompts, not others of their kind
        target = inverse @ batch.target[seed, :, 0]
        missed = root @ (
            conjugate_gradient(X, target, config.layers).iterates - target
        )  # [K + 1, d, prompts], whitened
        query = batch.query[seed] if batch.query is not None else None
        loss = missed.square().sum(1) if query is None else (missed * query).sum(1).square()
        rows.append(loss[1:].mean(-1).cpu().numpy())
    return {"baseline/cg_train": np.stack(rows).astype(np.float32)}


def mean_coefficients(done: Conjugate) -> np.ndarray:
    """What conjugate gradient makes of each past gradient, α_l γ_{j+1} … γ_l, as a mean over prompts: [L, L]."""
    L = len(done.alpha)
    table = np.zeros((L, L))
    register = torch.zeros(0, done.alpha.shape[1], device=done.alpha.device)  # a row for each past gradient
    for layer in range(L):
        register = torch.cat([register * done.gamma[layer], torch.ones_like(done.gamma[layer])[None]])
        table[layer, : layer + 1] = (done.alpha[layer] * register).double().mean(-1).cpu().numpy()
    return table


def _tuned(S: Tensor, D: Tensor, depths: range) -> Lines:
    return {
        "gd": np.array([best_rate(S, D, L) for L in depths]),
        "momentum": np.array([best_momentum(S, D, L) for L in depths]),
        "nesterov": np.array([best_nesterov(S, D, L) for L in depths]),
    }


def _linear(S: Tensor, D: Tensor, steps: int, method: Callable[..., Tensor], settings: tuple[float, ...]) -> Tensor:
    chunk = max(64, CHUNK // (len(S) ** 2 * (steps + 1)))
    parts = (error_maps(method, part, steps, *settings)[-1] for part in S.split(chunk, -1))
    return torch.cat([expected_loss(C, D) for C in parts], -1)


def _conjugate(S: Tensor, D: Tensor | None, steps: int) -> tuple[Tensor, Conjugate]:
    """Conjugate gradient's errors [steps + 1, d, prompts] for sampled w*, and what it did."""
    generator = torch.Generator().manual_seed(2**31 + 19)
    white = task.gaussian((S.shape[0], S.shape[-1]), generator)
    target = white if D is None else white / D.sqrt().to(white)[:, None]
    done = conjugate_gradient(S, target, steps)
    return done.iterates - target, done


def _line(name: str, losses: list[Tensor]) -> Lines:
    pairs = [test_set.mean_and_log_error(each) for each in losses]
    return {
        f"baseline/{name}": np.array([float(mean) for mean, _ in pairs]),
        f"baseline/{name}_error": np.array([float(error) for _, error in pairs]),
        f"baseline/{name}_median": np.array([float(each.median()) for each in losses]),
    }


def _noise(best: Polynomial, S: Tensor, D: Tensor | None) -> float:
    """The standard error of the logarithm of a mean over 1000 prompts, each with its own w* and query."""
    generator = torch.Generator().manual_seed(2**31 + 31)
    found = []
    for part in S.split(test_set.BLOCK, -1):
        C = evaluate(best, part) * (1 if D is None else weight(D).sqrt().to(part)[:, :, None])
        target, query = (task.gaussian(part.shape[1:], generator) for _ in range(2))
        found.append(((C * target).sum(1) * query).sum(0).square())
    return float(test_set.mean_and_log_error(torch.cat(found))[1]) * (test_set.PROMPTS / 1000) ** 0.5


def _median(best: Polynomial, S: Tensor, D: Tensor | None) -> float:
    """The median over prompts of what the best polynomial in the mean loses."""
    parts = (expected_loss(evaluate(best, part), D) for part in S.split(test_set.BLOCK, -1))
    return float(torch.cat(list(parts)).median())


def _real(roots: Tensor) -> np.ndarray:
    """The roots, smallest step first; NaN where they are not real."""
    if roots.is_complex():
        return np.full(len(roots), np.nan)
    return roots.numpy()[::-1]
