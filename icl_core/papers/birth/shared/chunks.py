"""Split a batch into chunks of sequences that fit the processor's cache, with the positions whose
loss counts."""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor

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
