"""Every variant by its cheapest exact form: the error that it leaves, and the loss with its
gradient.

Where all tokens agree on one w this is the iteration of `first_order`; the other forms stand here.
"""

from typing import Any

import torch
from torch import Tensor

from icl_core.papers.memformers.shared import first_order, variants
from icl_core.papers.memformers.shared.task import Batch
from icl_core.papers.memformers.shared.variants import VARIANTS, Parameters
from icl_core.training import several_seeds


def errors(parameters: Parameters, config: Any, root: Tensor, batch: Batch) -> Tensor:
    """Return w* − w_L in whitened coordinates, [seeds, d, m, prompts]. `root` is Σ^½, [seeds, d,
    d]. Raises `ValueError` where a model needs the examples U and the batch has none."""
    variant = VARIANTS[config.variant]
    if variant.has_one_w:
        table = variants.table(parameters, config, root)
        return first_order.errors(table, batch.S, batch.target, noise=batch.noise)
    Gamma = variants.coefficients(parameters, variant.id)
    if not variant.moves_covariates:
        return _by_token(variants.preconditioners(parameters, config, root), Gamma, batch)
    start = variants.start_root(variants.learned_in(config), root)
    form = _moving_tokens if variant.needs_examples else _moving
    return form(variants.matrices(parameters, config), parameters["B"], Gamma, start, batch)


def loss_and_gradient(
    parameters: Parameters, config: Any, root: Tensor, batch: Batch, objective: str
) -> tuple[Tensor, Parameters]:
    """Return the batch's mean loss of every seed, [seeds], and the gradient of the `objective`: the
    "mean" loss, or the "log" of it."""
    leaves = several_seeds.leaves(parameters)
    if not VARIANTS[config.variant].has_one_w:
        loss, _ = first_order.loss_and_slope(
            errors(leaves, config, root, batch), batch.query, batch.prompts
        )
        gradient = several_seeds.gradients(loss.log() if objective == "log" else loss, leaves)
    else:
        table = variants.table_of_runs(leaves, config, root)
        with torch.inference_mode():  # hundreds of views, of which autograd need not keep count
            loss, slopes = first_order.loss_and_slopes(table.detach(), batch)
            slopes = slopes / loss[:, None, None] if objective == "log" else slopes
        gradient = several_seeds.gradients(table, leaves, slopes.clone())
    return loss.clone().detach(), gradient


def _by_token(A: Tensor, Gamma: Tensor, batch: Batch) -> Tensor:
    """Return `errors` with a Γ for every token: tokens disagree on w, so each keeps its own label.
    O(n d) a layer, never n × n.

    A [seeds, L, d, d], Gamma [seeds, L, L, n + 1] over (l, j), the last number the query's. With B
    = 0 a register holds labels alone, so Γ scales tokens and not coordinates of w.
    """
    if batch.U is None:
        raise ValueError("batch must hold its examples U for a model with a Γ per token, got none")
    U = batch.U
    error = batch.target.expand(len(A), *batch.target.shape[1:])  # [seeds, d, m, prompts]
    # y, later what is left of it: [seeds, n, m, prompts]
    labels = (U.unsqueeze(3) * error.unsqueeze(2)).sum(1)
    registers: list[Tensor] = []
    pulls: list[Tensor] = []
    for layer in range(A.shape[1]):
        # [seeds, d, m, prompts]
        gradient = (U.unsqueeze(3) * labels.unsqueeze(1)).sum(2) / U.shape[2]
        pulls.append(torch.bmm(A[:, layer], gradient.flatten(2)).view(gradient.shape))
        registers.append((U.unsqueeze(3) * pulls[-1].unsqueeze(2)).sum(1))  # [seeds, n, m, prompts]
        for j, (register, pull) in enumerate(zip(registers, pulls, strict=True)):
            weights = Gamma[:, layer, j]
            labels = labels - weights[:, :-1, None, None] * register
            error = error - weights[:, -1, None, None, None] * pull
    return error


def _moving(A: Tensor, B: Tensor, Gamma: Tensor, start: Tensor, batch: Batch) -> Tensor:
    """Return `errors` of GD++ with memory: beside the iteration in R^d there is a d × d matrix T_l,
    X_l = T_l X_0, for the covariates move too.

    A, B [seeds, L, d, d], Gamma [seeds, L, L] lower-triangular. `start` [seeds, d, d] is T_0: Σ^½
    in the original coordinates, I in whitened ones. Layer l adds −Γ_j^l B_j S_j A_j X_j to the
    covariates, S_j = X_j X_jᵀ / n.
    """
    seeds = len(A)
    d = batch.S.shape[1]
    S = batch.S.expand(seeds, -1, -1, -1)
    error = batch.target.expand(seeds, -1, -1, -1)
    T = start[..., None].expand(seeds, d, d, batch.prompts)
    # what each layer's attention leaves in its register
    labels: list[Tensor] = []
    covariates: list[Tensor] = []
    for layer in range(A.shape[1]):
        pull = _times(S, error)
        pull = pull if batch.noise is None else pull + batch.noise
        gradient = _times(T, pull)  # as the moved covariates see it
        pulled = _mapped(A[:, layer].transpose(1, 2), T)  # Aᵀ T
        labels.append(_times(pulled.transpose(1, 2), gradient))
        moved = _times(T, _times(S, T.transpose(1, 2)))  # S_l
        covariates.append(_mapped(B[:, layer], _times(moved, pulled)))
        weights = Gamma[:, layer, : layer + 1, None, None, None].unbind(1)
        error = error - sum(w * register for w, register in zip(weights, labels, strict=True))
        T = T - sum(w * register for w, register in zip(weights, covariates, strict=True))
    return error


def _moving_tokens(A: Tensor, B: Tensor, Gamma: Tensor, start: Tensor, batch: Batch) -> Tensor:
    """Return `errors` of GD++ with a Γ for every entry of Z: each token has covariates and a label
    of its own, O(n d²) a layer.

    Gamma [seeds, L, L, d + 1, n + 1] over (l, j), the last column the query's, the last row the
    labels'. The prediction is linear in the query's covariates, which therefore stand for d queries
    at once, the unit vectors.
    """
    if batch.U is None:
        raise ValueError("batch must hold its examples U for a model with a Γ per entry, got none")
    seeds = len(A)
    U = batch.U
    n = U.shape[2]
    error = batch.target.expand(seeds, *batch.target.shape[1:])
    # y, later what is left of it: [seeds, n, m, prompts]
    labels = (U.unsqueeze(3) * error.unsqueeze(2)).sum(1)
    X = _mapped(start, U.expand(seeds, -1, -1, -1))  # [seeds, d, n, prompts]
    query = start[..., None].expand(*start.shape, batch.prompts)  # [seeds, d, d, prompts]
    # of each layer's attention: the examples' labels, the query's, and the covariates of both
    registers: list[tuple[Tensor, Tensor, Tensor, Tensor]] = []
    for layer in range(A.shape[1]):
        gradient = (X.unsqueeze(3) * labels.unsqueeze(1)).sum(2) / n  # [seeds, d, m, prompts]
        S = _times(X, X.transpose(1, 2)) / n
        pulled = _mapped(A[:, layer].mT, X)
        pulled_query = _mapped(A[:, layer].mT, query)
        own = _times(pulled.transpose(1, 2), gradient)
        own_query = _times(pulled_query.transpose(1, 2), gradient)
        moved = _mapped(B[:, layer], _times(S, pulled))
        moved_query = _mapped(B[:, layer], _times(S, pulled_query))
        registers.append((own, own_query, moved, moved_query))
        for j, (past, past_query, shift, shift_query) in enumerate(registers):
            weights = Gamma[:, layer, j, :, :, None]  # [seeds, d + 1, n + 1, 1]
            labels = labels - weights[:, -1, :-1, None] * past
            error = error - weights[:, -1, -1:, None] * past_query
            X = X - weights[:, :-1, :-1] * shift
            query = query - weights[:, :-1, -1:] * shift_query
    return error


def _times(P: Tensor, Q: Tensor) -> Tensor:
    """Return the product of matrices [seeds, k, d, prompts] and [seeds, d, m, prompts] for every
    prompt, [seeds, k, m, prompts]."""
    return (P.unsqueeze(3) * Q.unsqueeze(1)).sum(2)


def _mapped(M: Tensor, Q: Tensor) -> Tensor:
    """Return one matrix [seeds, d, d] times every prompt's [seeds, d, m, prompts]."""
    return torch.bmm(M, Q.flatten(2)).view(Q.shape)
