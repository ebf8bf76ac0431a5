"""GD++, where covariates move: what a layer costs, and what B does.

A layer costs products with S, and doubles the degree of its polynomial and more. A layer of
gradient descent is slow where the eigenvalues of S_l = X_l X_lᵀ / n are far apart.
X_{l+1} = X_l − B S_l A X_l brings them together, as a Newton–Schulz iteration for the inverse of S
does.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from icl_core.contract.experiment import Run
from icl_core.in_context_regression import coloured, covariates
from icl_core.papers.memformers.shared import baselines, load_run, test_set
from icl_core.papers.memformers.shared.load_run import log_from_least
from icl_core.papers.memformers.shared.task import eigenvalues_of
from icl_core.papers.memformers.shared.token_form import forward, takes_whitened
from icl_core.papers.memformers.shared.variants import VARIANTS, Parameters

MOST = 40  # steps that conjugate gradient takes
CONJUGATE_PROMPTS = 2**13  # on which it takes those that the run has not kept


def covariates_move(config: Any) -> bool:
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
        S = torch.cat(
            [block for _, block in test_set.held_out(config.d, config.n, CONJUGATE_PROMPTS)], -1
        )
        D = eigenvalues_of(config) if name == "cg" else None
        sampled, _ = baselines.conjugate(S if D is None else coloured(S, D), D, steps)
        later = sampled[len(losses) :].double().mean(-1)
        losses = np.append(losses, later.cpu().numpy())
    return log_from_least(np.append(losses, 0.0) if is_exact else losses)


SPECTRA_PROMPTS = 128  # held-out prompts of the mean
SEED = 2**31 + 47


def has_spectra(config: Any) -> bool:
    """Return whether the covariates move and more examples than dimensions make S_0 regular."""
    return VARIANTS[config.variant].moves_covariates and config.n >= 2 * config.d


def held_out(config: Any) -> Tensor:
    """Return covariates of held-out prompts, whitened, [prompts, d, n + 1]; the last is the
    query's."""
    generator = torch.Generator().manual_seed(SEED)
    drawn = covariates(config.d, config.n + 1, SPECTRA_PROMPTS, generator, torch.float32)
    return drawn.permute(2, 0, 1).double()


def spectra(parameters: Parameters, config: Any, root: Tensor, white: Tensor) -> np.ndarray:
    """Return the eigenvalues of S_l before each layer, of the first seed's model, [layers, prompts,
    d]: largest first, over their mean, in the coordinates that A counts in.

    white  [prompts, d, n + 1] covariates in whitened coordinates
    root   Σ^½ [1, d, d]
    """
    exact = {name: value.double() for name, value in parameters.items()}
    X = white if takes_whitened(config) else root[0].double() @ white
    labels = X.new_zeros(len(X), config.n)  # covariates move without regard to them
    passage = forward(exact, config, root.double(), X, labels)
    moved = passage.update[:-1, :, :-1].cumsum(0)  # [layers - 1, prompts, d, n + 1]
    met = torch.cat([X[None], X + moved])[..., :-1]  # [layers, prompts, d, n]
    eigenvalues = torch.linalg.eigvalsh(met @ met.mT / config.n).flip(-1)
    return (eigenvalues / eigenvalues.mean(-1, keepdim=True)).numpy()


def conditions(eigenvalues: np.ndarray) -> np.ndarray:
    """Return the condition number in the typical prompt, its geometric mean over prompts, before
    each layer, [layers]."""
    ratios = eigenvalues[..., 0] / np.maximum(eigenvalues[..., -1], 1e-12)
    return np.exp(np.log(ratios).mean(-1))


def conditions_of_seeds(run: Run) -> np.ndarray:
    """Return `conditions` of the deepest model of every seed after training, [seeds, layers]."""
    config = run.config
    white = held_out(config)
    rows: list[np.ndarray] = []
    for seed in range(1, config.seeds + 1):
        parameters = load_run.parameters_at(run, seed, config.layers)
        eigenvalues = spectra(parameters, config, load_run.root_of(run, seed), white)
        rows.append(conditions(eigenvalues))
    return np.stack(rows)
