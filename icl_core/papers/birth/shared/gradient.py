"""The loss of the model in `model.py` and its gradient, written by hand and several times faster
than autograd.

Beside what makes the forward pass fast (`fast_forward.py`):
- x is frozen, so nothing is propagated into it; in W_K1's gradient sum_ts dS_ts x_t x_s^T the
  scores' derivatives are summed by the tokens and positions of query and key before anything is
  multiplied;
- the gradients of W_O2 and W_F are summed as N x d matrices, d loss / d logits times what the
  logits read;
- the softmax's backward pass uses sum_s A_ts dA_ts = dc_t^T c_t, a sum over d instead of over T;
- sequences go in chunks that fit the cache.

In the comments dX is the derivative of the summed loss with respect to X.
"""

import math
from collections.abc import Callable, Collection, Iterable
from functools import partial

import torch
from jaxtyping import Float, Int
from torch import Tensor

from icl_core.machine import cores
from icl_core.papers.birth.shared.accuracy import hits_beside, share
from icl_core.papers.birth.shared.fast_forward import (
    Chunk,
    Tables,
    counted_positions,
    flat,
    layer1,
    layer2,
    make_tables,
    query_blocks,
    row_blocks,
    split,
)
from icl_core.papers.birth.shared.model import TRAINED, Weights
from icl_core.papers.birth.shared.task import Batch


def layer1_backward(
    tables: Tables,
    tokens: Int[Tensor, "b n"],
    v: Float[Tensor, "b n d"],
    mixed: Float[Tensor, "b n d"],
    attention: list[Tensor],
    dh: Float[Tensor, "b n d"],
) -> Float[Tensor, "M M"]:
    """Return dS summed by the token and the position of query and key, of which there are M = N +
    T: the adjoint of `layer1_scores`. `v`, `mixed` and `attention` are those of `layer1`."""
    b, n = tokens.shape
    N = len(tables.x_token)
    M = N + len(tables.x_place)
    D = (mixed * dh).sum(-1, keepdim=True)  # (b, n, 1): sum_s A_ts dA_ts
    own = flat(tokens, N).view_as(tokens)  # (b, n)
    total = v.new_zeros(M, M)
    for rows, A in zip(row_blocks(n), attention, strict=True):
        k = rows.stop
        query = tokens[:, rows].flatten()  # (b rows)
        places = slice(N + rows.start, N + rows.stop)
        dA = torch.bmm(dh[:, rows].contiguous(), v[:, :k].contiguous().mT)  # (b, rows, k)
        dS = dA.sub_(D[:, rows]).mul_(A)  # (b, rows, k)
        total[places, N : N + k] = dS.sum(0)
        total[:N, N : N + k] += v.new_zeros(N, k).index_add_(0, query, dS.view(-1, k))
        # the keys summed by their token
        by_token = v.new_zeros(b * N, k - rows.start)  # (b N, rows)
        by_token.index_add_(0, own[:, :k].flatten(), dS.mT.reshape(b * k, -1))
        by_token = by_token.view(b, N, -1).mT.contiguous()  # (b, rows, N)
        total[places, :N] = by_token.sum(0)
        total[:N, :N].index_add_(0, query, by_token.view(-1, N))
    return total


@torch.no_grad()  # also in a thread of its own
def chunk_gradient(
    tables: Tables, part: Chunk, train: Collection[str]
) -> tuple[dict[str, Tensor], Float[Tensor, "b m"], Float[Tensor, "b m"]]:
    """Return the sums over a chunk that the gradients of `train` are made of, and the losses and
    hits of its queries."""
    h, v, mixed, attention = layer1(tables, part.tokens)
    dh = torch.zeros_like(h)
    sums: dict[str, Tensor] = {}
    losses = torch.zeros(part.queries.shape, dtype=h.dtype, device=h.device)
    hits = torch.zeros(part.queries.shape, dtype=h.dtype, device=h.device)
    for at in query_blocks(part):
        some, _ = at
        block_sums = block_gradient(tables, h[some], dh[some], part.block(*at), train)
        losses[at] = block_sums.pop("losses")
        hits[at] = block_sums.pop("hits")
        add(sums, block_sums)
    if "W_K1" in train:
        sums["S1"] = layer1_backward(tables, part.tokens, v, mixed, attention, dh)
    return sums, losses, hits


def block_gradient(
    tables: Tables,
    h: Float[Tensor, "b n d"],
    dh: Float[Tensor, "b n d"],
    block: Chunk,
    train: Collection[str],
) -> dict[str, Tensor]:
    """Return the same sums over a block of queries, with its `losses` and `hits` (b, m) among them.
    Adds to `dh`, in place, what reaches h."""
    b, n, d = h.shape
    target = block.targets.reshape(-1, 1)  # (b m, 1)
    hq, q, hk, A, c, logits = layer2(tables, h, block.queries)
    log_p = logits.log_softmax(-1)  # (b m, N)
    target_log_p = log_p.gather(1, target)  # (b m, 1)
    own = logits.gather(1, target)  # not of log_p, whose rounding makes ties of small logits
    others = logits.scatter_(1, target, -torch.inf)  # (b m, N)
    sums = {"losses": -target_log_p.view(b, -1), "hits": hits_beside(own, others).view(b, -1)}
    if not train:
        return sums
    # d loss / d logits = p - 1[target]
    dl = log_p.exp_().scatter_(1, target, target_log_p.exp() - 1)  # (b m, N)
    dl *= block.valid.reshape(-1, 1)
    sums["c"] = dl.T @ c.view(-1, d)  # (N, d)
    if "W_F" in train:
        sums["h"] = dl.T @ hq  # (N, d)
    if not {"W_K1", "W_K2"} & set(train):
        return sums
    dc = (dl @ tables.UO).view(b, -1, d)  # (b, m, d)
    dS = torch.bmm(dc, hk.mT).sub_((dc * c).sum(-1, keepdim=True)).mul_(A)  # (b, m, k)
    dq = torch.bmm(dS, hk).view(-1, d)  # (b m, d)
    sums["W_K2"] = hq.T @ dq  # (d, d)
    if "W_K1" in train:  # h is query, key and value, and what the logits read
        dh[:, : hk.shape[1]].baddbmm_(A.mT, dc).baddbmm_(dS.mT, q)
        dhq = torch.addmm(dq @ tables.K2.T, dl, tables.U)  # (b m, d)
        dh.view(b * n, d).index_add_(0, flat(block.queries, n), dhq)
    return sums


def add(total: dict[str, Tensor], sums: dict[str, Tensor]) -> None:
    """Add sums to a total, by name."""
    for name, value in sums.items():
        total[name] = total[name] + value if name in total else value


@torch.no_grad()
def loss_and_gradient(
    weights: Weights,
    batch: Batch,
    positions: str = "in_context",
    train: Collection[str] = TRAINED,
    layers: int = 2,
    chunk: int | None = None,
) -> tuple[dict[str, Tensor], dict[str, float]]:
    """Return the gradient of the mean cross-entropy over the counted positions, by matrix, and
    measures of the batch.

    positions  "in_context", or "all" T positions (Section 5: alone, or jointly with the global
               bigrams)
    train      names of the matrices wanted; those that the model lacks or that have no gradient are
               left out
    layers     1 leaves out layer 1, as in `model.forward`
    chunk      sequences in a chunk; None: what fits the cache

    The measures are in nats and shares: in_context_loss, global_loss (NaN unless positions is
    "all"), in_context_accuracy and loss (the mean that is differentiated). Raises `ValueError` for
    unknown positions.
    """
    counted = counted_positions(batch, positions)
    names = frozenset(train) & set(weights.trained()) - ({"W_K1"} if layers == 1 else set())
    tables = make_tables(weights, layers)
    work = partial(chunk_gradient, tables, train=names)
    total, loss, right = _gathered(work, split(batch, counted, chunk), counted, tables.U.dtype)
    gradients = _gradients(weights, tables, total, names, int(counted.sum()))
    return gradients, _measures(loss, right, batch, counted)


def _gathered(
    work: Callable[[Chunk], tuple],
    parts: Iterable[Chunk],
    counted: Tensor,
    dtype: torch.dtype,
) -> tuple[dict[str, Tensor], Float[Tensor, "batch T"], Float[Tensor, "batch T"]]:
    """Return the sums of all chunks, and each loss and hit at its place, 0 where nothing is
    counted. `work` returns those of one chunk, as `chunk_gradient` does."""
    total: dict[str, Tensor] = {}
    loss = torch.zeros_like(counted, dtype=dtype)  # (batch, T)
    right = torch.zeros_like(loss)  # (batch, T)
    for part, (sums, losses, hits) in cores.in_order(lambda part: (part, work(part)), parts):
        loss[part.rows[:, None], part.queries] = losses
        right[part.rows[:, None], part.queries] = hits
        add(total, sums)
    return total, loss, right


def _gradients(
    weights: Weights, tables: Tables, total: dict[str, Tensor], names: Collection[str], count: int
) -> dict[str, Tensor]:
    """Return the gradients of the mean loss over `count` positions by the matrices `names`, from
    the sums over these positions."""
    if not total:  # nothing counted
        return {name: torch.zeros_like(weights[name]) for name in names}
    gradients: dict[str, Tensor] = {}  # (d, d) each
    root = math.sqrt(weights.d)
    if "W_K1" in names:
        x = torch.cat([tables.x_token, tables.x_place])  # (N + T, d)
        gradients["W_K1"] = x.T @ total["S1"] @ x / root
    if "W_K2" in names:
        gradients["W_K2"] = total["W_K2"] / root
    if "W_O2" in names:
        gradients["W_O2"] = tables.U.T @ total["c"] @ weights.V2.T
    if "W_F" in names:
        gradients["W_F"] = weights.W_U.T @ (total["h"] + total["c"] @ (weights.W_O2 @ weights.V2).T)
    return {name: value.div_(count) for name, value in gradients.items()}


def _measures(loss: Tensor, right: Tensor, batch: Batch, counted: Tensor) -> dict[str, float]:
    """Return means of the losses and hits [batch, T], NaN over no positions."""

    def mean(values: Tensor, where: Tensor) -> float:
        return float(values[where].double().mean())

    return {
        "loss": mean(loss, counted),
        "in_context_loss": mean(loss, batch.in_context),
        "global_loss": mean(loss, batch.global_ & counted),
        "in_context_accuracy": mean(right, batch.in_context),
    }


@torch.no_grad()
def evaluate(
    weights: Weights, batch: Batch, layers: int = 2, positions: str = "all"
) -> dict[str, float]:
    """Return what the model achieves on held-out sequences, with a forward pass only.

    accuracy         over in-context positions
    accuracy_new     over those where the target differs from the input (an output may equal its
                     trigger, and then it is right to repeat the input)
    in_context_loss  over in-context positions, in nats
    global_loss      over positions whose input is no trigger, in nats; NaN if `positions` is
                     "in_context", which is two to three times as fast

    Each has a standard error under its name with `_error`, where sequences are the independent
    units. Raises `ValueError` for unknown positions.
    """
    counted = counted_positions(batch, positions)
    tables = make_tables(weights, layers)
    work = partial(chunk_gradient, tables, train=())
    _, loss, right = _gathered(work, split(batch, counted, None), counted, tables.U.dtype)
    new = batch.in_context & (batch.targets != batch.inputs)
    shares = {
        "accuracy": share(right, batch.in_context),
        "accuracy_new": share(right, new),
        "in_context_loss": share(loss, batch.in_context),
        "global_loss": share(loss, batch.global_ & counted),
    }
    means = {name: mean for name, (mean, _) in shares.items()}
    errors = {f"{name}_error": error for name, (_, error) in shares.items()}
    return means | errors
