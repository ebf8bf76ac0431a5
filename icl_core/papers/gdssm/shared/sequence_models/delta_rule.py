"""The gated delta rule (Yang, Kautz and Hatamizadeh, Gated Delta Networks, 2024, Eq. 10): a state
that forgets by a factor and, of what it holds under a key, replaces a share by the new value.

    S_t = α_t S_{t-1} (I - β_t k_t k_t^T) + β_t v_t k_t^T,  o_t = S_t q_t

It is a step of gradient descent, of rate β_t, on 1/2 |S k_t - v_t|^2: one step a token, where the
GD-SSM takes one for all of them.
"""

import torch
from jaxtyping import Float
from torch import Tensor

Key = Float[Tensor, "*rest T m"]
Value = Float[Tensor, "*rest T n"]
Gate = Float[Tensor, "*rest T"]


def parallel(
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


def step(
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
