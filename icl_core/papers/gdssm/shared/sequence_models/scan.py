"""The linear recurrence z_t = a_t z_{t-1} + b_t of all state-space models, over a whole
sequence."""

import math

import torch
from jaxtyping import Shaped
from torch import Tensor

# up to here one chunk is faster on a CPU: 3 ms instead of 8 for 21 tokens of mamba, back and forth
SHORT = 32


def associative_scan(
    a: Shaped[Tensor, "tasks T *state"], b: Shaped[Tensor, "tasks T *state"]
) -> Shaped[Tensor, "tasks T *state"]:
    """Return all z_t of z_t = a_t * z_{t-1} + b_t from z_0 = 0, real or complex.

    Two steps of the recurrence compose into one: (a, b) then (a', b') is (a' a, a' b + b'). So
    chunks of the sequence run side by side from zero, one pass over the chunks finds the state at
    the start of each, and the products of a carry it into the chunk: with chunks of sqrt T, 2 sqrt
    T steps in a row instead of T. Nothing is divided by, so decays near 0 are as safe as decays
    near 1.
    """
    T = b.shape[1]
    if T <= SHORT:
        return stepwise(a, b)
    a, b = (chunked(x, math.ceil(math.sqrt(T))) for x in (a, b))  # (tasks, L, chunks, *state)
    z = stepwise(a, b)
    products = a.cumprod(1)
    # the state at the end of each chunk, then at its start: (tasks, chunks, *state)
    ends = stepwise(products[:, -1], z[:, -1])
    start = torch.cat([torch.zeros_like(ends[:, :1]), ends[:, :-1]], 1)
    z = z + products * start[:, None]  # (tasks, L, chunks, *state)
    return z.transpose(1, 2).flatten(1, 2)[:, :T]  # (tasks, T, *state)


def chunked(x: Shaped[Tensor, "tasks T *state"], L: int) -> Shaped[Tensor, "tasks L chunks *state"]:
    """Return the sequence cut into chunks of L tokens, the last one filled up with zeros."""
    filling = x.new_zeros(x.shape[0], -x.shape[1] % L, *x.shape[2:])
    return torch.cat([x, filling], 1).unflatten(1, (-1, L)).transpose(1, 2)


def stepwise(
    a: Shaped[Tensor, "tasks L *rest"], b: Shaped[Tensor, "tasks L *rest"]
) -> Shaped[Tensor, "tasks L *rest"]:
    """Return the states of the recurrence from zero, step by step along the second axis."""
    z = torch.zeros_like(b[:, 0])
    states = []
    for a_t, b_t in zip(a.unbind(1), b.unbind(1), strict=True):
        z = a_t * z + b_t
        states.append(z)
    return torch.stack(states, 1)
