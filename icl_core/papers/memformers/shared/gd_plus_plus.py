"""GD++ with memory: the covariates move too. An iteration in R^d with a d × d matrix T_l beside it, X_l = T_l X_0."""

import torch
from torch import Tensor

from icl_core.papers.memformers.shared.task import Batch


def times(P: Tensor, Q: Tensor) -> Tensor:
    """The product of matrices [seeds, d, d, prompts] and [seeds, d, m, prompts] for every prompt."""
    return (P.unsqueeze(3) * Q.unsqueeze(1)).sum(2)


def mapped(M: Tensor, Q: Tensor) -> Tensor:
    """One matrix [seeds, d, d] on every prompt's [seeds, d, m, prompts]."""
    return torch.bmm(M, Q.flatten(2)).view(Q.shape)


def errors(A: Tensor, B: Tensor, Gamma: Tensor, start: Tensor, batch: Batch) -> Tensor:
    """w* − w_L as the query sees it, [seeds, d, m, prompts], in whitened coordinates.

    A, B [seeds, L, d, d], Gamma [seeds, L, L] lower-triangular. `start` [seeds, d, d] is T_0: Σ^½ in the original
    coordinates, I in whitened ones. Layer l adds −Γ_j^l B_j S_j A_j X_j to the covariates, S_j = X_j X_jᵀ / n.
    """
    seeds, d, prompts = len(A), batch.S.shape[1], batch.prompts
    S = batch.S.expand(seeds, -1, -1, -1)
    error = batch.target.expand(seeds, -1, -1, -1)
    T = start[..., None].expand(seeds, d, d, prompts)
    labels, covariates = [], []  # what each layer's attention leaves in its register
    for layer in range(A.shape[1]):
        seen = times(T, times(S, error))  # the gradient, as the moved covariates see it
        pulled = mapped(A[:, layer].transpose(1, 2), T)  # Aᵀ T
        labels.append(times(pulled.transpose(1, 2), seen))
        covariates.append(mapped(B[:, layer], times(times(T, times(S, T.transpose(1, 2))), pulled)))
        weights = Gamma[:, layer, : layer + 1, None, None, None].unbind(1)
        error = error - sum(w * register for w, register in zip(weights, labels, strict=True))
        T = T - sum(w * register for w, register in zip(weights, covariates, strict=True))
    return error
