"""What methods leave after each layer where Σ is the same in every prompt, and where every prompt
has eigenvectors of its own."""

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from icl_core.contract.experiment import Progress, names
from icl_core.in_context_regression import polynomial, solvers
from icl_core.in_context_regression.covariance import coloured, grams
from icl_core.in_context_regression.solvers import conjugate_gradient, gradient_descent
from icl_core.papers.learners.rotation.settings import Config

METHODS = ("descent", "floor", "conjugate")
CASES = ("fixed", "rotated")
CONDITIONS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0)
POINTS = 121  # of a polynomial's curve
SEEN = 512  # prompts whose eigenvalues are kept


def compute(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Return, of the cases "fixed" (Σ known: steps along Σ⁻¹) and "rotated" (nothing known: plain
    steps),

    share/<method>/<case>  [L + 1, 2], the share left after 0 to L layers and its standard error, of
                           gradient descent at its best rate, of the floor (the best polynomial,
                           which a linear transformer with memory attains) and of conjugate gradient
    sweep/at               condition numbers of a Σ whose eigenvalues fall by equal factors, and
                           sweep/<method>/<case> [conditions, L + 1], the share left
    polynomial/at/<case>, polynomial/<case>
                           [points] and [L, points], 1 − p(λ), what the best polynomial keeps
    eigenvalues/<case>     [prompts, d], those of S that it has to be right at

    Fitted on one half of the prompts and evaluated on the other.
    """
    progress.enter("the prompts")
    home = config.home
    generator = torch.Generator().manual_seed(config.seed)
    count = 2**config.prompts
    S = grams(config.d, config.n, count, generator, torch.float64)
    white = torch.randn(config.d, count, generator=generator, dtype=torch.float64)
    progress.enter("methods at every number of layers")
    tensors = {"names/methods": names(METHODS)}
    for case in CASES:
        for name, value in _case(config, case, home.eigenvalues(), S, white).items():
            tensors[name] = value
    progress.enter("other covariances")
    return {**tensors, **_sweep(config, S, white)}


def _eigenvalues(case: str, eigenvalues: Tensor) -> Tensor | None:
    """Return the eigenvalues in whose coordinates a case is computed: None for whitened ones."""
    return None if case == "fixed" else eigenvalues


def _case(
    config: Config, case: str, eigenvalues: Tensor, S: Tensor, white: Tensor
) -> dict[str, np.ndarray]:
    """Return what one case has at this Σ."""
    D = _eigenvalues(case, eigenvalues)
    seen = S if D is None else coloured(S, D)
    half = seen.shape[-1] // 2
    depths = range(1, config.layers + 1)
    fitted = polynomial.floors(seen[..., :half], D, list(depths))
    shares = _shares(config, D, seen, white, fitted)
    end = 1.05 * float(torch.linalg.eigvalsh(seen[..., :SEEN].permute(2, 0, 1)).max())
    grid = torch.linspace(0, end, POINTS, dtype=torch.float64)
    curves = [1 - polynomial.evaluate(each, grid[None, None])[0, 0] for each in fitted]
    return {
        **{f"share/{method}/{case}": rows for method, rows in shares.items()},
        f"polynomial/at/{case}": grid.numpy(),
        f"polynomial/{case}": torch.stack(curves).numpy(),
        f"eigenvalues/{case}": torch.linalg.eigvalsh(seen[..., :SEEN].permute(2, 0, 1)).numpy(),
    }


def _shares(
    config: Config,
    D: Tensor | None,
    seen: Tensor,
    white: Tensor,
    fitted: list[polynomial.Polynomial],
) -> dict[str, np.ndarray]:
    """Return the share left by every method after 0 to L layers with its error, [L + 1, 2]."""
    half = seen.shape[-1] // 2
    first = seen[..., :half]
    second = seen[..., half:]
    one = [(1.0, 0.0)]  # before the first layer
    descent = list(one)
    floor = list(one)
    for depth, best in enumerate(fitted, 1):
        rate = polynomial.best_rate(first, D, depth)
        maps = solvers.error_maps(gradient_descent, second, depth, rate)[-1]
        descent.append(_mean(solvers.expected_loss(maps, D), config.d))
        floor.append(_mean(solvers.expected_loss(polynomial.evaluate(best, second), D), config.d))
    target = white[:, half:] if D is None else white[:, half:] / D.sqrt()[:, None]
    iterates = conjugate_gradient(second, target, len(fitted)).iterates
    losses = solvers.sampled_loss(iterates - target, D)  # [L + 1, prompts]
    start = losses[0].mean()
    conjugate = [
        (float(row.mean() / start), float(row.std() / start / len(row) ** 0.5)) for row in losses
    ]
    return {
        "descent": np.array(descent),
        "floor": np.array(floor),
        "conjugate": np.array(conjugate),
    }


def _mean(losses: Tensor, d: int) -> tuple[float, float]:
    """Return the mean of losses over that of predicting zero, d, and its standard error."""
    mean, error = solvers.mean_and_error(losses)
    return float(mean) / d, float(error) / d


def _sweep(config: Config, S: Tensor, white: Tensor) -> dict[str, np.ndarray]:
    """Return what is left after every layer for other covariances."""
    rows: dict[str, list[np.ndarray]] = {}
    for condition in CONDITIONS:
        home = replace(config.home, covariance="narrow", condition=condition)
        for case in CASES:
            D = _eigenvalues(case, home.eigenvalues())
            seen = S if D is None else coloured(S, D)
            half = seen.shape[-1] // 2
            fitted = polynomial.floors(seen[..., :half], D, range(1, config.layers + 1))
            for method, shares in _shares(config, D, seen, white, fitted).items():
                rows.setdefault(f"sweep/{method}/{case}", []).append(shares[:, 0])
    return {
        "sweep/at": np.array(CONDITIONS),
        **{name: np.stack(values) for name, values in rows.items()},
    }
