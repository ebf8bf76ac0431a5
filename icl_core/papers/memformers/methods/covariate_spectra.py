"""What B does where covariates move (GD++): how far apart the eigenvalues of S_l = X_l X_lᵀ / n are
in the covariates that each layer meets.

A layer of gradient descent is slow where they are far apart. X_{l+1} = X_l − B S_l A X_l brings
them together, as a Newton–Schulz iteration for the inverse of S does.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from icl_core.contract.experiment import Run
from icl_core.in_context_regression import covariates
from icl_core.papers.memformers.shared import load_run
from icl_core.papers.memformers.shared.token_form import forward, takes_whitened
from icl_core.papers.memformers.shared.variants import VARIANTS, Parameters

PROMPTS = 128  # held-out prompts of the mean
SEED = 2**31 + 47


def applies(config: Any) -> bool:
    """Return whether the covariates move and more examples than dimensions make S_0 regular."""
    return VARIANTS[config.variant].moves_covariates and config.n >= 2 * config.d


def held_out(config: Any) -> Tensor:
    """Return covariates of held-out prompts, whitened, [prompts, d, n + 1]; the last is the
    query's."""
    generator = torch.Generator().manual_seed(SEED)
    drawn = covariates(config.d, config.n + 1, PROMPTS, generator, torch.float32)
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
