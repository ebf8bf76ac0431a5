"""What a layer of GD++ costs: products with S, and the degree of its polynomial."""

from typing import Any

import numpy as np
import torch

from icl_core.contract.experiment import Run
from icl_core.in_context_regression import coloured
from icl_core.papers.memformers.shared import baselines, test_set
from icl_core.papers.memformers.shared.load_run import log_from_least
from icl_core.papers.memformers.shared.task import eigenvalues_of
from icl_core.papers.memformers.shared.variants import VARIANTS

MOST = 40  # steps that conjugate gradient takes
PROMPTS = 2**13  # on which it takes those that the run has not kept


def applies(config: Any) -> bool:
    """Return whether a layer costs more than one product with S."""
    return VARIANTS[config.variant].moves_covariates


def degree(layers: int, moving: bool = True) -> int:
    """Return the degree in S of w_L of GD++, (3^L − 1) / 2, or of a model with B = 0, L, where
    covariates are not `moving`.

    X_l = T_l X_0 with T_{l+1} = T_l − … B T_l S T_lᵀ Aᵀ T_l, and the error e_{l+1} = e_l − … T_lᵀ A
    T_l S e_l.
    """
    of_map = 0
    of_error = 0
    for _ in range(layers):
        of_error += 2 * of_map + 1
        of_map += 2 * of_map + 1 if moving else 0
    return of_error


def products(layers: int, d: int, tokens: int = 0) -> int:
    """Return how many products of a prompt's own d × d matrix with a vector GD++ makes, in the
    cheapest way that we know: a product of two such matrices is d of them, and one with a learned
    matrix, as CGD's with Σ⁻¹, is free.

    T_0 = I, so layer 0 has S e and S Aᵀ. A later one has S e, T (S e), T_lᵀ (A …), and S T_lᵀ, T (S
    T_lᵀ), … (Aᵀ T_l). The last layer's covariates are not needed. Where `tokens` go ways of their
    own there is no T: a layer has X y, Xᵀ g (n / d products each), and X Xᵀ, S Aᵀ, (B S Aᵀ) X, n
    and d and n.
    """
    if tokens:
        return round((2 * layers - 1) * tokens / d) + (layers - 1) * (2 * tokens + d)
    labels = 1 + 3 * (layers - 1)
    covariates = d * (layers > 1) + 3 * d * max(layers - 2, 0)
    return labels + covariates


def conjugate(run: Run, name: str) -> np.ndarray:
    """Return the log-loss of "cg" or "pcg" after 1, 2, … products, until it has no direction left:
    of the steps that the run has, and of the others on fewer prompts. What is zero to rounding is
    1e-12."""
    config = run.config
    is_exact = config.d <= min(config.n, MOST)
    steps = min(config.d, config.n, MOST) - is_exact  # an exact last step leaves nothing
    losses = run[f"baseline/{name}"][:steps]
    if len(losses) < steps:
        S = torch.cat([block for _, block in test_set.held_out(config.d, config.n, PROMPTS)], -1)
        D = eigenvalues_of(config) if name == "cg" else None
        sampled, _ = baselines.conjugate(S if D is None else coloured(S, D), D, steps)
        later = sampled[len(losses) :].double().mean(-1)
        losses = np.append(losses, later.cpu().numpy())
    return log_from_least(np.append(losses, 0.0) if is_exact else losses)
