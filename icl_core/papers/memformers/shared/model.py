"""Every variant by its cheapest exact form: the loss with its gradient, and the error that it leaves."""

from typing import Any

import torch
from torch import Tensor

from icl_core.papers.memformers.shared import first_order, variants
from icl_core.papers.memformers.shared import gd_plus_plus as moving
from icl_core.papers.memformers.shared import per_token as rows
from icl_core.papers.memformers.shared.task import Batch
from icl_core.papers.memformers.shared.variants import VARIANTS, Parameters
from icl_core.training import several_seeds


def needs_examples(variant: str) -> bool:
    """Whether a variant needs the examples one by one; for all others S = U Uᵀ / n says everything."""
    return VARIANTS[variant].per == "token"


def errors(parameters: Parameters, config: Any, root: Tensor, batch: Batch) -> Tensor:
    """w* − w_L in whitened coordinates, [seeds, d, m, prompts]. `root` Σ^½, [seeds, d, d]."""
    variant = VARIANTS[config.variant]
    if variant.moves_covariates:
        start = torch.eye(config.d, dtype=root.dtype, device=root.device).expand_as(root)
        if config.coordinates == "original" or config.preconditioner == "scalar":
            start = variants.unit_root(root)
        Gamma = variants.coefficients(parameters, variant.id)
        return moving.errors(_matrices(parameters, config), parameters["B"], Gamma, start, batch)
    if variant.per == "token":
        Gamma = variants.coefficients(parameters, variant.id)
        return rows.errors(variants.preconditioners(parameters, config, root), Gamma, batch)
    return first_order.errors(variants.table(parameters, config, root), batch.S, batch.target)


def loss_and_gradient(
    parameters: Parameters, config: Any, root: Tensor, batch: Batch, objective: str
) -> tuple[Tensor, Parameters]:
    """The batch's mean loss of every seed, [seeds], and the gradient of `objective`: "mean" or "log" of it."""
    leaves = several_seeds.leaves(parameters)
    if not VARIANTS[config.variant].has_one_w:
        left = errors(leaves, config, root, batch)
        if batch.query is None:
            loss = left.square().sum((1, 2, 3)) / batch.prompts
        else:
            loss = (left * batch.query.unsqueeze(2)).sum(1).square().sum((1, 2)) / batch.prompts
        found = several_seeds.gradients(loss.log() if objective == "log" else loss, leaves)
    else:
        table = variants.table(leaves, config, root)
        with torch.inference_mode():  # hundreds of views, of which autograd need not keep count
            loss, slopes = first_order.loss_and_slopes(table.detach(), batch)
            slopes = slopes / loss[:, None, None] if objective == "log" else slopes
        found = several_seeds.gradients(table, leaves, slopes.clone())
    return loss.clone().detach(), found


def _matrices(parameters: Parameters, config: Any) -> Tensor:
    """A_l as matrices, the heads summed: [seeds, L, d, d]."""
    A = parameters["A"].sum(1)
    if config.preconditioner == "full":
        return A
    return A[..., None, None] * torch.eye(config.d, dtype=A.dtype, device=A.device)
