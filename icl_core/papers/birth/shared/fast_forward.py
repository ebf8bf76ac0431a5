"""The fast forward pass, and what it shares with its gradient. Its numbers are those of
`model.forward`.

- A batch is split into chunks of sequences that fit the processor's cache.
- Layer 1's scores are looked up in tables of all products of token and position embeddings.
- Layer 2 and the logits are computed only at the positions that count, the `queries`.
- Queries go in blocks of rows, and a block reads only the keys before its last row.
- Output matrices are multiplied out beforehand: logits = h U^T + c UO^T with c the attended
  mixture.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from icl_core.papers.birth.shared.model import Weights
from icl_core.papers.birth.shared.task import Batch

TOKENS = 4096  # per chunk on a CPU: 64, 32, 16 sequences at T = 64, 128, 256
STEP = 16  # numbers of queries and keys are multiples of this
ROWS = 64  # queries per block: fewer waste fewer keys but make smaller products


class Chunk(NamedTuple):
    """A few sequences and their positions that count, in order of time and padded to the same
    number."""

    rows: Int[Tensor, "b"]  # which sequences of the batch these are
    tokens: Int[Tensor, "b n"]  # cut after the last position that counts
    queries: Int[Tensor, "b m"]  # all different within a row, padding included
    targets: Int[Tensor, "b m"]
    valid: Bool[Tensor, "b m"]  # False: padding

    def block(self, some: slice, columns: slice) -> "Chunk":
        """Return some of the sequences, and of their queries some columns."""
        at = (some, columns)
        return Chunk(
            self.rows[some], self.tokens[some], self.queries[at], self.targets[at], self.valid[at]
        )


def counted_positions(batch: Batch, positions: str) -> Bool[Tensor, "batch T"]:
    """Return the positions whose loss counts: the "in_context" ones, or "all" T of them. Raises
    `ValueError` for other words."""
    if positions not in ("in_context", "all"):
        raise ValueError(f"positions must be in_context or all, got {positions!r}")
    return batch.in_context if positions == "in_context" else torch.ones_like(batch.in_context)


def split(batch: Batch, counted: Bool[Tensor, "batch T"], size: int | None) -> Iterator[Chunk]:
    """Yield the batch in chunks of `size` sequences, with the positions that are `counted`.

    size  None: what fits a CPU's cache, on a GPU sixteen times as many

    Sequences come in order of their numbers of counted positions, which saves padding. Those
    without one are left out.
    """
    T = counted.shape[1]
    if not size:
        size = max(1, TOKENS * (16 if batch.tokens.is_cuda else 1) // T)
    # sorts counted positions before the others, each in order of time
    by_time = torch.arange(T, device=counted.device) + T * ~counted  # (batch, T)
    numbers, order = counted.sum(1).sort(stable=True)  # (batch) each
    for rows, counts in zip(order.split(size), numbers.split(size), strict=True):
        m = round_up(int(counts[-1]), T)
        if m > 0:
            queries = by_time[rows].sort(1).values[:, :m] % T  # (b, m)
            tokens = batch.inputs[rows, : round_up(int(queries.max()) + 1, T)]  # (b, n)
            yield Chunk(
                rows,
                tokens,
                queries,
                batch.targets[rows].gather(1, queries),
                counted[rows].gather(1, queries),
            )


def row_blocks(n: int) -> Iterator[slice]:
    """Yield n rows in blocks of `ROWS`."""
    for start in range(0, n, ROWS):
        yield slice(start, min(start + ROWS, n))


def query_blocks(part: Chunk) -> Iterator[tuple[slice, slice]]:
    """Yield a chunk's queries in blocks, as arguments of `Chunk.block`: which sequences still have
    some, always the last ones, and which columns."""
    numbers = part.valid.sum(1)  # (b), in ascending order
    for columns in row_blocks(part.queries.shape[1]):
        some = slice(int((numbers <= columns.start).sum()), len(numbers))
        yield some, columns


def round_up(size: int, most: int) -> int:
    """Return the next multiple of `STEP`, but at most `most`. So products come in few shapes: each
    new shape is compiled."""
    return min(most, -(-size // STEP) * STEP)


def flat(positions: Int[Tensor, "b m"], n: int) -> Int[Tensor, "b*m"]:
    """Return positions of b sequences of length n as rows of the (b n, d) view of their (b, n, d)
    tensor."""
    start = n * torch.arange(len(positions), device=positions.device)  # (b)
    return (positions + start[:, None]).flatten()  # (b m)


@dataclass(frozen=True)
class Tables:
    """Products of the weights that a whole batch shares. Scores are divided by sqrt d."""

    x_token: Float[Tensor, "N d"]  # w_E(z)
    x_place: Float[Tensor, "T d"]  # p_t
    v_token: Float[Tensor, "N d"]  # layer 1's values R1 w_E(z)
    v_place: Float[Tensor, "T d"]  # and R1 p_t
    S_token_token: Float[Tensor, "N N"]  # layer 1's scores, a token as query and as key
    S_token_place: Float[Tensor, "N T"]  # a token as query, a position as key
    S_place_token: Float[Tensor, "T N"]
    S_place_place: Float[Tensor, "T T"]  # -inf where the key is later than the query
    K2: Float[Tensor, "d d"]  # W_K2 / sqrt d
    U: Float[Tensor, "N d"]  # W_U (1 + W_F): logits of the residual stream
    UO: Float[Tensor, "N d"]  # W_U (1 + W_F) W_O2 V2: logits of the attended mixture
    future: Float[Tensor, "T T"]  # 0, and -inf where the key is later than the query
    layers: int


@cache
def _keep_freed_memory() -> None:
    """Allocate and free one block of 31 MiB, so that glibc keeps freed memory for the next step.

    It otherwise hands freed memory back to the system and gets it again page by page, a tenth of
    the time of a step, until it has seen a block as large as this one freed.
    """
    torch.empty(31 * 2**18)


def make_tables(weights: Weights, layers: int) -> Tables:
    """Return everything that does not depend on the sequences. `layers` is 1 or 2, as in
    `model.forward`."""
    _keep_freed_memory()
    N = len(weights.W_E)
    T = len(weights.P)
    x = torch.cat([weights.W_E, weights.P])  # (N + T, d)
    v = x @ weights.R1.T  # (N + T, d)
    S = x @ (weights.W_K1 / math.sqrt(weights.d)) @ x.T  # (N + T, N + T)
    future = torch.full((T, T), -torch.inf, dtype=x.dtype, device=x.device).triu(1)
    U = weights.W_U if weights.W_F is None else weights.W_U + weights.W_U @ weights.W_F
    return Tables(
        x_token=x[:N],
        x_place=x[N:],
        v_token=v[:N],
        v_place=v[N:],
        S_token_token=S[:N, :N],
        S_token_place=S[:N, N:],
        S_place_token=S[N:, :N],
        S_place_place=S[N:, N:] + future,
        K2=weights.W_K2 / math.sqrt(weights.d),
        U=U,
        UO=U @ weights.W_O2 @ weights.V2,
        future=future,
        layers=layers,
    )


def embed(
    token: Float[Tensor, "N d"], place: Float[Tensor, "T d"], tokens: Int[Tensor, "b n"]
) -> Float[Tensor, "b n d"]:
    """Return token[z_t] + place[t]. `index_select` is eight times as fast as indexing."""
    b, n = tokens.shape
    rows = token.index_select(0, tokens.flatten())  # (b n, d)
    return rows.view(b, n, -1).add_(place[:n])  # (b, n, d)


def layer1_scores(
    tables: Tables, tokens: Int[Tensor, "b n"], own: Int[Tensor, "b n"], rows: slice
) -> Float[Tensor, "b rows k"]:
    """Return the scores of a block of queries with all keys before its last row, as sums of four
    table entries.

    rows  the block's queries; its keys are the first k = rows.stop
    own   of each sequence's tokens, where they are in a table of N rows for each sequence

    Tables are looked up by row, which is many times as fast as by column. So the scores of the
    keys' tokens come in transposed, from tables of each sequence's own.
    """
    b = len(tokens)
    N = len(tables.x_token)
    k = rows.stop
    query = tokens[:, rows].flatten()  # (b rows)
    token_keys = tables.S_token_token.index_select(0, query).view(b, -1, N)  # (b, rows, N)
    token_keys = token_keys.add_(tables.S_place_token[rows]).mT.reshape(b * N, -1)  # (b N, rows)
    token_keys = token_keys.index_select(0, own[:, :k].flatten()).view(b, k, -1)  # (b, k, rows)
    place_keys = tables.S_token_place[:, :k].contiguous().index_select(0, query)  # (b rows, k)
    place_keys = place_keys.view(b, -1, k).add_(tables.S_place_place[rows, :k])  # (b, rows, k)
    return place_keys.add_(token_keys.mT)


def layer1(
    tables: Tables, tokens: Int[Tensor, "b n"]
) -> tuple[Float[Tensor, "b n d"], Float[Tensor, "b n d"], Float[Tensor, "b n d"], list[Tensor]]:
    """Return the stream h after layer 1, layer 1's values v and their mixtures, and its attention,
    one (b, rows, keys) for each block of rows.

    Of a model without layer 1 all three streams are the embedding, and there is no attention.
    """
    h = embed(tables.x_token, tables.x_place, tokens)  # (b, n, d)
    if tables.layers == 1:
        return h, h, h, []
    v = embed(tables.v_token, tables.v_place, tokens)  # (b, n, d)
    mixed = torch.empty_like(v)
    own = flat(tokens, len(tables.x_token)).view_as(tokens)  # (b, n)
    attention: list[Tensor] = []
    for rows in row_blocks(tokens.shape[1]):
        A = layer1_scores(tables, tokens, own, rows).softmax(-1)  # (b, rows, k)
        attention.append(A)
        mixed[:, rows] = torch.bmm(A, v[:, : rows.stop])
    return h.add_(mixed), v, mixed, attention


def layer2(
    tables: Tables, h: Float[Tensor, "b n d"], queries: Int[Tensor, "b m"]
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Return, at a block of queries, their states hq (b m, d), their queries q (b, m, d), the keys
    hk (b, k, d), the attention A (b, m, k), the mixture c (b, m, d) and the logits (b m, N)."""
    b, n, d = h.shape
    k = round_up(int(queries.max()) + 1, n)
    hq = h.view(b * n, d).index_select(0, flat(queries, n))  # (b m, d)
    q = (hq @ tables.K2).view(b, -1, d)  # (b, m, d)
    hk = h[:, :k].contiguous()  # (b, k, d)
    mask = tables.future[:, :k].index_select(0, queries.flatten()).view(b, -1, k)  # (b, m, k)
    A = mask.baddbmm_(q, hk.mT).softmax(-1)  # (b, m, k)
    c = torch.bmm(A, hk)  # (b, m, d)
    logits = torch.addmm(hq @ tables.U.T, c.view(-1, d), tables.UO.T)  # (b m, N)
    return hq, q, hk, A, c, logits
