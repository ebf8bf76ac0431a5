"""The iteration in R^d that every memory without moving covariates comes down to, and its gradient
by hand.

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
    """The columns of S [seeds, d, d, prompts], [seeds, d, 1, prompts] each: split once for many
    products."""
    return S.unsqueeze(3).unbind(2)


def plus_product(
    start: Tensor | None, columns: Sequence[Tensor], v: Tensor, sign: int = 1
) -> Tensor:
    """start + sign · S v for every prompt, v [seeds, d, m, prompts]; of a symmetric S."""
    parts = v.unsqueeze(1).unbind(2)  # [seeds, 1, m, prompts] each
    if start is None:
        found = columns[0] * parts[0] if sign == 1 else columns[0] * -parts[0]
    else:
        found = torch.addcmul(start, columns[0], parts[0], value=sign)
    for column, part in zip(columns[1:], parts[1:], strict=True):
        found.addcmul_(column, part, value=sign)
    return found  # [seeds, d, m, prompts]


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
    columns, error = columns_of(S), target.expand(seeds, d, m, prompts)
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
    """What each prompt of S [seeds or 1, d, d, prompts] loses in the mean over w* and query,
    [seeds, prompts]."""
    return errors(table, S, integrated(S[0]).target).square().sum((1, 2))


def loss_and_slopes(table: Table, batch: Batch) -> tuple[Tensor, Tensor]:
    """The batch's mean loss of every seed, [seeds], and its derivative by the table; in chunks that
    fit the cache."""
    seeds, d = len(table), batch.S.shape[1]  # rows that see the same prompts have them once
    size = min(batch.prompts, max(64, CHUNK // (seeds * d * d)))
    gradients = batch.S.new_empty(seeds, table.shape[1], batch.target.shape[2] * size)
    slopes = torch.empty_like(
        gradients
    )  # both serve every chunk: fresh memory would cost more than the arithmetic
    loss, found = batch.S.new_zeros(seeds), torch.zeros_like(table)
    for start in range(0, batch.prompts, size):
        part = batch.part(slice(start, start + size))
        width = part.prompts * batch.target.shape[2]
        more = _chunk(table, part, batch.prompts, gradients[..., :width], slopes[..., :width])
        loss, found = (
            loss + more,
            found.baddbmm_(slopes[..., :width], gradients[..., :width].mT, alpha=-1),
        )
    return loss, found


def _chunk(table: Table, batch: Batch, prompts: int, gradients: Tensor, slopes: Tensor) -> Tensor:
    """The summed loss over `prompts`, [seeds]; `gradients` and the loss' `slopes` by every layer's
    error are filled, [seeds, L d, m prompts]."""
    error = errors(table, batch.S, batch.target, gradients, batch.noise)
    loss, slope = loss_and_slope(error, batch.query, prompts)
    d, columns = batch.S.shape[1], columns_of(batch.S)
    for at in range(table.shape[1] - d, -1, -d):
        slopes[:, at : at + d] = slope.reshape(len(slopes), d, -1)
        if at:
            by_gradient = torch.bmm(table[:, at:, at : at + d].mT, slopes[:, at:]).view(slope.shape)
            slope = plus_product(slope, columns, by_gradient, -1)
    return loss


def loss_and_slope(error: Tensor, query: Tensor | None, prompts: int) -> tuple[Tensor, Tensor]:
    """The summed squared error over `prompts`, [seeds], and its derivative. In whitened coordinates
    the query integrates out to the squared length of the error."""
    if query is None:
        return error.square().sum((1, 2, 3)) / prompts, error * (2 / prompts)
    missed = (error * query.unsqueeze(2)).sum(1, keepdim=True)  # [seeds, 1, m, prompts]
    return missed.square().sum((1, 2, 3)) / prompts, query.unsqueeze(2) * missed * (2 / prompts)
