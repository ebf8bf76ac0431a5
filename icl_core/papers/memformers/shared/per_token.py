"""A Γ for every token: tokens disagree on w, so each keeps its own label. O(n d) a layer, never n × n."""

import torch
from torch import Tensor

from icl_core.papers.memformers.shared.task import Batch


def errors(A: Tensor, Gamma: Tensor, batch: Batch) -> Tensor:
    """w* − w_L as the query sees it, [seeds, d, m, prompts], in whitened coordinates.

    A [seeds, L, d, d], Gamma [seeds, L, L, n + 1] over (l, j), the last number the query's. With B = 0 a register
    holds labels alone, so Γ scales tokens and not coordinates of w.
    """
    if batch.U is None:
        raise ValueError("batch must hold its examples U for a model with a Γ per token, got none")
    seeds, U = len(A), batch.U
    target = batch.target.expand(seeds, *batch.target.shape[1:])
    labels = (U.unsqueeze(3) * target.unsqueeze(2)).sum(1)  # [seeds, n, m, prompts] y, later what is left of it
    error, registers, pulls = target, [], []
    for layer in range(A.shape[1]):
        gradient = (U.unsqueeze(3) * labels.unsqueeze(1)).sum(2) / U.shape[2]  # [seeds, d, m, prompts]
        pulls.append(torch.bmm(A[:, layer], gradient.flatten(2)).view(gradient.shape))
        registers.append((U.unsqueeze(3) * pulls[-1].unsqueeze(2)).sum(1))  # [seeds, n, m, prompts]
        for j, (register, pull) in enumerate(zip(registers, pulls, strict=True)):
            weights = Gamma[:, layer, j]
            labels = labels - weights[:, :-1, None, None] * register
            error = error - weights[:, -1, None, None, None] * pull
    return error
