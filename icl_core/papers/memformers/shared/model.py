"""Every variant by its cheapest exact form: the loss with its gradient, and the error that it
leaves.

Where all tokens agree on one w this is the iteration of `first_order`; the two other forms stand
here.
"""

from typing import Any

import torch
from torch import Tensor

from icl_core.papers.memformers.shared import first_order, variants
from icl_core.papers.memformers.shared.task import Batch
from icl_core.papers.memformers.shared.variants import VARIANTS, Parameters
from icl_core.training import several_seeds


def errors(parameters: Parameters, config: Any, root: Tensor, batch: Batch) -> Tensor:
    """w* − w_L in whitened coordinates, [seeds, d, m, prompts]. `root` Σ^½, [seeds, d, d]."""
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
    """The batch's mean loss of every seed, [seeds], and the gradient of `objective`: "mean" or
    "log" of it."""
    leaves = several_seeds.leaves(parameters)
    if not VARIANTS[config.variant].has_one_w:
        loss, _ = first_order.loss_and_slope(
            errors(leaves, config, root, batch), batch.query, batch.prompts
        )
        found = several_seeds.gradients(loss.log() if objective == "log" else loss, leaves)
    else:
        table = variants.table_of_runs(leaves, config, root)
        with torch.inference_mode():  # hundreds of views, of which autograd need not keep count
            loss, slopes = first_order.loss_and_slopes(table.detach(), batch)
            slopes = slopes / loss[:, None, None] if objective == "log" else slopes
        found = several_seeds.gradients(table, leaves, slopes.clone())
    return loss.clone().detach(), found


def _by_token(A: Tensor, Gamma: Tensor, batch: Batch) -> Tensor:
    """A Γ for every token: tokens disagree on w, so each keeps its own label. O(n d) a layer, never
    n × n.

    A [seeds, L, d, d], Gamma [seeds, L, L, n + 1] over (l, j), the last number the query's. With B
    = 0 a register holds labels alone, so Γ scales tokens and not coordinates of w.
    """
    if batch.U is None:
        raise ValueError("batch must hold its examples U for a model with a Γ per token, got none")
    seeds, U = len(A), batch.U
    target = batch.target.expand(seeds, *batch.target.shape[1:])
    labels = (U.unsqueeze(3) * target.unsqueeze(2)).sum(
        1
    )  # [seeds, n, m, prompts] y, later what is left of it
    error, registers, pulls = target, [], []
    for layer in range(A.shape[1]):
        gradient = (U.unsqueeze(3) * labels.unsqueeze(1)).sum(2) / U.shape[
            2
        ]  # [seeds, d, m, prompts]
        pulls.append(torch.bmm(A[:, layer], gradient.flatten(2)).view(gradient.shape))
        registers.append((U.unsqueeze(3) * pulls[-1].unsqueeze(2)).sum(1))  # [seeds, n, m, prompts]
        for j, (register, pull) in enumerate(zip(registers, pulls, strict=True)):
            weights = Gamma[:, layer, j]
            labels = labels - weights[:, :-1, None, None] * register
            error = error - weights[:, -1, None, None, None] * pull
    return error


def _moving(A: Tensor, B: Tensor, Gamma: Tensor, start: Tensor, batch: Batch) -> Tensor:
    """GD++ with memory: beside the iteration in R^d a d × d matrix T_l, X_l = T_l X_0, for the
    covariates move too.

    A, B [seeds, L, d, d], Gamma [seeds, L, L] lower-triangular. `start` [seeds, d, d] is T_0: Σ^½
    in the original coordinates, I in whitened ones. Layer l adds −Γ_j^l B_j S_j A_j X_j to the
    covariates, S_j = X_j X_jᵀ / n.
    """
    seeds, d, prompts = len(A), batch.S.shape[1], batch.prompts
    S = batch.S.expand(seeds, -1, -1, -1)
    error = batch.target.expand(seeds, -1, -1, -1)
    T = start[..., None].expand(seeds, d, d, prompts)
    labels, covariates = [], []  # what each layer's attention leaves in its register
    for layer in range(A.shape[1]):
        pull = _times(S, error)
        pull = pull if batch.noise is None else pull + batch.noise
        seen = _times(T, pull)  # the gradient, as the moved covariates see it
        pulled = _mapped(A[:, layer].transpose(1, 2), T)  # Aᵀ T
        labels.append(_times(pulled.transpose(1, 2), seen))
        covariates.append(
            _mapped(B[:, layer], _times(_times(T, _times(S, T.transpose(1, 2))), pulled))
        )
        weights = Gamma[:, layer, : layer + 1, None, None, None].unbind(1)
        error = error - sum(w * register for w, register in zip(weights, labels, strict=True))
        T = T - sum(w * register for w, register in zip(weights, covariates, strict=True))
    return error


def _moving_tokens(A: Tensor, B: Tensor, Gamma: Tensor, start: Tensor, batch: Batch) -> Tensor:
    """GD++ with a Γ for every entry of Z: each token has covariates and a label of its own, O(n d²)
    a layer.

    Gamma [seeds, L, L, d + 1, n + 1] over (l, j), the last column the query's, the last row the
    labels'. The prediction is linear in the query's covariates, which therefore stand for d queries
    at once, the unit vectors.
    """
    if batch.U is None:
        raise ValueError("batch must hold its examples U for a model with a Γ per entry, got none")
    seeds, U, n = len(A), batch.U, batch.U.shape[2]
    error = batch.target.expand(seeds, *batch.target.shape[1:])
    labels = (U.unsqueeze(3) * error.unsqueeze(2)).sum(
        1
    )  # [seeds, n, m, prompts] y, later what is left of it
    X = _mapped(start, U.expand(seeds, -1, -1, -1))  # [seeds, d, n, prompts]
    query = start[..., None].expand(*start.shape, batch.prompts)  # [seeds, d, d, prompts]
    registers: list[tuple[Tensor, Tensor, Tensor, Tensor]] = []
    for layer in range(A.shape[1]):
        seen = (X.unsqueeze(3) * labels.unsqueeze(1)).sum(
            2
        ) / n  # the gradient, [seeds, d, m, prompts]
        S, by_A = _times(X, X.transpose(1, 2)) / n, A[:, layer].mT
        pulled, pulled_query = _mapped(by_A, X), _mapped(by_A, query)
        moved, moved_query = (
            _mapped(B[:, layer], _times(S, each)) for each in (pulled, pulled_query)
        )
        registers.append(
            (
                _times(pulled.transpose(1, 2), seen),
                _times(pulled_query.transpose(1, 2), seen),
                moved,
                moved_query,
            )
        )
        for j, (label, missed, moved, moved_query) in enumerate(registers):
            weights = Gamma[:, layer, j, :, :, None]  # [seeds, d + 1, n + 1, 1]
            labels = labels - weights[:, -1, :-1, None] * label
            error = error - weights[:, -1, -1:, None] * missed
            X = X - weights[:, :-1, :-1] * moved
            query = query - weights[:, :-1, -1:] * moved_query
    return error


def _times(P: Tensor, Q: Tensor) -> Tensor:
    """The product of matrices [seeds, k, d, prompts] and [seeds, d, m, prompts] for
    every prompt."""
    return (P.unsqueeze(3) * Q.unsqueeze(1)).sum(2)


def _mapped(M: Tensor, Q: Tensor) -> Tensor:
    """One matrix [seeds, d, d] on every prompt's [seeds, d, m, prompts]."""
    return torch.bmm(M, Q.flatten(2)).view(Q.shape)
