"""Recurrences over a whole sequence: the linear one of all state-space models, z_t = a_t z_{t-1} +
b_t, and the gated delta rule (Yang, Kautz and Hatamizadeh, Gated Delta Networks, 2024, Eq. 10), a
state that forgets by a factor and, of what it holds under a key, replaces a share by the new value.

    S_t = α_t S_{t-1} (I - β_t k_t k_t^T) + β_t v_t k_t^T,  o_t = S_t q_t

It is a step of gradient descent, of rate β_t, on 1/2 |S k_t - v_t|^2: one step a token, where the
GD-SSM takes one for all of them.
"""

import math

import torch
from jaxtyping import Float, Shaped
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


Key = Float[Tensor, "*rest T m"]
Value = Float[Tensor, "*rest T n"]
Gate = Float[Tensor, "*rest T"]


def delta_rule(
    q: Float[Tensor, "*rest R m"], k: Key, v: Value, log_alpha: Gate, beta: Gate
) -> Float[Tensor, "*rest R n"]:
    """Return all o_t at once, (*rest, R, n), or for the last R queries. With G_t = α_1 … α_t the
    state is S_t = sum_{s<=t} (G_t / G_s) w_s k_s^T, where what is written is w_t = β_t (v_t - α_t
    S_{t-1} k_t): a triangular system for all w (the paper's WY form), solved as it stands."""
    R = q.shape[-2]
    T = k.shape[-2]
    log_G = log_alpha.cumsum(-1)
    future = torch.ones(T, T, dtype=torch.bool, device=q.device).triu(1)
    ratios = log_G[..., :, None] - log_G[..., None, :]  # (*rest, T, T), log of G_t / G_s
    decays = ratios.masked_fill(future, -torch.inf).exp()
    # what the state already holds under k_t, (*rest, T, T)
    known = (beta[..., None] * decays * (k @ k.mT)).tril(-1)
    w = torch.linalg.solve_triangular(known, beta[..., None] * v, upper=False, unitriangular=True)
    return (decays[..., T - R :, :] * (q @ k.mT)) @ w  # (*rest, R, n)


def delta_step(
    S: Float[Tensor, "*rest n m"], q: Float[Tensor, "*rest m"], k: Float[Tensor, "*rest m"],
    v: Float[Tensor, "*rest n"], log_alpha: Float[Tensor, "*rest"], beta: Float[Tensor, "*rest"],
) -> tuple[Float[Tensor, "*rest n m"], Float[Tensor, "*rest n"]]:  # fmt: skip
    """Return the state after one token, and what is read of it."""
    S = log_alpha.exp()[..., None, None] * S
    error = v - (S @ k[..., None])[..., 0]  # (*rest, n)
    S = S + (beta[..., None] * error)[..., :, None] * k[..., None, :]
    return S, (S @ q[..., None])[..., 0]


def unit(x: Float[Tensor, "*rest m"]) -> Float[Tensor, "*rest m"]:
    """Return x scaled to length 1: with unit keys I - β k k^T shrinks nothing but what lies along
    k, and that by 1 - β."""
    return x * (x.square().sum(-1, keepdim=True) + 1e-6).rsqrt()
