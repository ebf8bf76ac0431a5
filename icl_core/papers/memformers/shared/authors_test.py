"""What the authors could read off their own test prompts: trained models on one batch, the
classical methods on five, and on the batch that models are trained on.

The classical methods leave out each prompt's last example, as in the authors' code.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from icl_core import in_context_regression as regression
from icl_core.papers.memformers.shared import authors_prompts, model
from icl_core.papers.memformers.shared.authors_prompts import LEFT_OUT, Normals
from icl_core.papers.memformers.shared.task import eigenvalues_of, turned_batch
from icl_core.papers.memformers.shared.variants import VARIANTS, Parameters

# learning rates on the gradient summed over the examples, and β
NESTEROV = 0.03
MOMENTUM = 0.005
BETA = 0.9


def losses(parameters: Parameters, config: Any, root: Tensor) -> Tensor:
    """Return a model's mean loss on the authors' test batch, [seeds]."""
    variant = VARIANTS[config.variant]
    shape = (config.d, config.n, config.batch)
    if variant.tested_on_next_draw:
        normals = authors_prompts.next_batch(*shape, config.layers)
    else:
        normals = authors_prompts.test_batch(*shape)
    batch = turned_batch(config, normals, variant.needs_examples)
    loss, _ = model.loss_and_gradient(parameters, config, root, batch, "mean")
    return loss


def classical(config: Any) -> dict[str, np.ndarray]:
    """Return `authors/cg`, `authors/nesterov` and `authors/momentum` [5, K], mean losses on each of
    the five test batches after one to `layers` steps, and `authors/cg_train` [K], conjugate
    gradient's on the training batch.

    None of them depends on how a prompt is turned: all are in the eigenbasis of Σ.
    """
    shape = (config.d, config.n, config.batch)
    batches = [
        authors_prompts.classical_batch(config.d, config.n, seed, config.batch)
        for seed in authors_prompts.CONJUGATE
    ]
    examples = config.n - LEFT_OUT
    by_batch = [on_batch(normals, config, examples) for normals in batches]
    lines = {
        f"authors/{method}": np.stack([losses[method] for losses in by_batch])
        for method in by_batch[0]
    }
    own = on_batch(authors_prompts.training_batch(*shape), config, examples)
    return {**lines, "authors/cg_train": own["cg"]}


def on_batch(normals: Normals, config: Any, examples: int) -> dict[str, np.ndarray]:
    """Return what each classical method that sees that many examples loses on a batch, [K]."""
    root = eigenvalues_of(config).sqrt()[:, None]  # [d, 1]
    X = root[:, :, None] * normals.first(examples).U.double()  # [d, examples, prompts]
    S = regression.gram(X)
    target = normals.target.double() / root
    query = normals.query.double() * root
    paths = {
        "cg": regression.conjugate_gradient(S, target, config.layers).iterates,
        "nesterov": regression.nesterov(S, target, config.layers, examples * NESTEROV, BETA),
        "momentum": regression.momentum(S, target, config.layers, examples * MOMENTUM, BETA),
    }
    return {name: _mean_losses(iterates - target, query) for name, iterates in paths.items()}


def _mean_losses(errors: Tensor, query: Tensor) -> np.ndarray:
    """Return the mean squared error on the queries [d, prompts] after each step, [K], of errors
    [K + 1, d, prompts]."""
    residuals = torch.einsum("kdp,dp->kp", errors[1:], query)
    return residuals.square().mean(1).numpy().astype(np.float32)
