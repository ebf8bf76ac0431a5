"""The iteration in R^d that every memory without moving covariates comes down to, and its gradient
in closed form.

With B = 0 a layer changes w alone (Lemma 2.1), so any register of past attention is a table of
matrices W_j^l on past gradients (eq. 1.1): w_{l+1} = w_l − Σ_{j≤l} W_j^l ∇R(w_j), ∇R(w) = S (w −
w*). Prompts are the last axis, for the CPU's sake; no product of n × n is ever made. Most of the
time goes into calls, not arithmetic: hence few and large ones.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from icl_core.papers.memformers.shared.task import Batch, integrated

CHUNK = 2**19  # numbers of S that stay in a core's cache

# [seeds, L d, L d], block-triangular: row of blocks l, column of blocks j is W_j^l; zero above the
# diagonal.
Table = Tensor


def columns_of(S: Tensor) -> Sequence[Tensor]:
    """Return the columns of S [seeds, d, d, prompts], [seeds, d, 1, prompts] each: split once for
    many products."""
    return S.unsqueeze(3).unbind(2)


def plus_product(
    start: Tensor | None, columns: Sequence[Tensor], v: Tensor, sign: int = 1
) -> Tensor:
    """Return start + sign · S v for every prompt, [seeds, d, m, prompts] as v and start; S, given
    by its columns, is symmetric."""
    parts = v.unsqueeze(1).unbind(2)  # [seeds, 1, m, prompts] each
    if start is None:
        total = columns[0] * parts[0] if sign == 1 else columns[0] * -parts[0]
    else:
        total = torch.addcmul(start, columns[0], parts[0], value=sign)
    for column, part in zip(columns[1:], parts[1:], strict=True):
        total.addcmul_(column, part, value=sign)
    return total


def errors(
    table: Table,
    S: Tensor,
    target: Tensor,
    gradients: Tensor | None = None,
    noise: Tensor | None = None,
) -> Tensor:
    """Return w* − w_L of every prompt, [seeds, d, m, prompts]; all gradients, with their sign
    changed, go to `gradients` [seeds, L d, m prompts]. `noise` is that of a `Batch`: it is in every
    gradient."""
    seeds = max(S.shape[0], table.shape[0])
    _, d, m, prompts = target.shape
    columns = columns_of(S)
    error = target.expand(seeds, d, m, prompts)
    if gradients is None:
        gradients = target.new_empty(seeds, table.shape[1], m * prompts)
    for at in range(0, table.shape[1], d):
        end = at + d
        gradients[:, at:end] = plus_product(noise, columns, error).reshape(seeds, d, m * prompts)
        flat = error.reshape(seeds, d, m * prompts)
        error = torch.baddbmm(flat, table[:, at:end, :end], gradients[:, :end], alpha=-1).view(
            seeds, d, m, prompts
        )
    return error


def expected_losses(table: Table, S: Tensor) -> Tensor:
    """Return what each prompt of S [seeds or 1, d, d, prompts] loses in the mean over w* and query,
    [seeds, prompts]."""
    return errors(table, S, integrated(S[0]).target).square().sum((1, 2))


def loss_and_slopes(table: Table, batch: Batch) -> tuple[Tensor, Tensor]:
    """Return the batch's mean loss of every seed, [seeds], and its derivative by the table, in
    chunks that fit the cache. Rows that see the same prompts have them once, [1, …]."""
    seeds = len(table)
    d = batch.S.shape[1]
    size = min(batch.prompts, max(64, CHUNK // (seeds * d * d)))
    # Both serve every chunk: fresh memory would cost more than the arithmetic.
    gradients = batch.S.new_empty(seeds, table.shape[1], batch.target.shape[2] * size)
    slopes = torch.empty_like(gradients)
    loss = batch.S.new_zeros(seeds)
    derivative = torch.zeros_like(table)
    for start in range(0, batch.prompts, size):
        part = batch.part(slice(start, start + size))
        width = part.prompts * batch.target.shape[2]
        own_gradients = gradients[..., :width]
        own_slopes = slopes[..., :width]
        loss = loss + _chunk(table, part, batch.prompts, own_gradients, own_slopes)
        derivative.baddbmm_(own_slopes, own_gradients.mT, alpha=-1)
    return loss, derivative


def _chunk(table: Table, batch: Batch, prompts: int, gradients: Tensor, slopes: Tensor) -> Tensor:
    """Return the summed loss of a chunk over the number of all `prompts`, [seeds]. Fill, both
    [seeds, L d, m prompts], `gradients` (see `errors`) and `slopes`, the loss' derivative by every
    layer's error."""
    error = errors(table, batch.S, batch.target, gradients, batch.noise)
    loss, slope = loss_and_slope(error, batch.query, prompts)
    d = batch.S.shape[1]
    columns = columns_of(batch.S)
    for at in range(table.shape[1] - d, -1, -d):
        slopes[:, at : at + d] = slope.reshape(len(slopes), d, -1)
        if at:
            by_gradient = torch.bmm(table[:, at:, at : at + d].mT, slopes[:, at:]).view(slope.shape)
            slope = plus_product(slope, columns, by_gradient, -1)
    return loss


def loss_and_slope(error: Tensor, query: Tensor | None, prompts: int) -> tuple[Tensor, Tensor]:
    """Return the summed squared error over the number of `prompts`, [seeds], and its derivative by
    the error [seeds, d, m, prompts]. Where it is None the query integrates out, in whitened
    coordinates to the squared length of the error."""
    if query is None:
        return error.square().sum((1, 2, 3)) / prompts, error * (2 / prompts)
    residual = (error * query.unsqueeze(2)).sum(1, keepdim=True)  # [seeds, 1, m, prompts]
    slope = query.unsqueeze(2) * residual * (2 / prompts)
    return residual.square().sum((1, 2, 3)) / prompts, slope
