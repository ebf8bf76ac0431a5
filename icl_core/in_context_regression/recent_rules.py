"""The rules of recent recurrent layers, in the notation of `rules`: each changes a matrix W with
every pair of a key x and a value y.

Their papers write a state S of d × o, which is Wᵀ here. A learning rate is a number b, and where
keys are unit vectors the value is divided by |x| too, because y = W x grows with x. A setting of
the channels, `rates` or `decays`, is a number or a tensor [..., d].
"""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from icl_core.in_context_regression.rules import (
    Rule,
    Settings,
    State,
    applied,
    outer,
    regular,
    two_sums,
    unit_key,
    wide,
)


def _channels(setting: float | Tensor) -> float | Tensor:
    """Return a setting of every channel, shaped for the columns of W."""
    return setting[..., None, :, None] if isinstance(setting, Tensor) else setting


def _channel_gated(state: State, key: Tensor, value: Tensor, settings: Settings) -> State:
    W = _channels(settings["decays"]) * state[0]
    error = value - applied(W, key)
    return (W + outer(unit_key(key, settings) * error, key),)


def _generalised(state: State, key: Tensor, value: Tensor, settings: Settings) -> State:
    (W,) = state
    along = _channels(settings["rates"]) * key[..., None, :, :]  # a ⊙ x, (..., 1, d, prompts)
    written = wide(settings["gain"], 2) * value - applied(W, key)
    share = unit_key(key, {"rate": 1.0}) * written
    return (_channels(settings["decays"]) * W + share[..., :, None, :] * along,)


def _momentum(state: State, key: Tensor, value: Tensor, settings: Settings) -> State:
    W, velocity = state
    gradient = outer(value - applied(W, key), key)
    velocity = wide(settings["beta"], 3) * velocity + wide(settings["rate"], 3) * gradient
    return wide(settings["decay"], 3) * W + velocity, velocity


def _in_chunks(state: State, key: Tensor, value: Tensor, settings: Settings) -> State:
    W, began, count = state
    gradient = outer(value - applied(began, key), key)
    W = W + wide(settings["rate"], 3) * gradient
    count = count + 1
    is_full = count == settings["reach"]
    return W, torch.where(is_full, W, began), torch.where(is_full, 0.0, count)


def _over_last_pairs(
    state: State,
    key: Tensor,
    value: Tensor,
    settings: Settings,
    change: Callable[[Tensor, Tensor, Tensor, Settings], Tensor],
) -> State:
    """Return the state after `change`, which takes W with the keys [..., pairs, d, prompts] and
    values of the last pairs, oldest first, and returns the next W."""
    W, keys, values = state
    keys = torch.cat([keys, key[..., None, :, :]], -3)
    values = torch.cat([values, value[..., None, :, :]], -3)
    held = int(settings["reach"]) - 1
    W = change(W, keys, values, settings)
    first = max(keys.shape[-3] - held, 0)
    return W, keys[..., first:, :, :], values[..., first:, :, :]


def _one_after_the_other(W: Tensor, keys: Tensor, values: Tensor, settings: Settings) -> Tensor:
    for key, value in zip(keys.unbind(-3), values.unbind(-3), strict=True):
        W = W + outer(unit_key(key, settings) * (value - applied(W, key)), key)
    return W


def _all_at_once(W: Tensor, keys: Tensor, values: Tensor, settings: Settings) -> Tensor:
    errors = values - torch.einsum("...odp,...cdp->...cop", W, keys)
    gradient = torch.einsum("...cop,...cdp->...odp", errors, keys)
    return wide(settings["decay"], 3) * W + wide(settings["rate"], 3) * gradient


def _conjugate(state: State, query: Tensor, settings: Settings) -> Tensor:
    """Return (H + λ I)⁻¹ q after so many steps of conjugate gradient from zero."""
    A = regular(state, settings)  # (..., prompts, d, d)
    residual = query.movedim(-1, -2).expand(A.shape[:-1])
    direction = residual
    solution = torch.zeros_like(residual)
    size = residual.square().sum(-1, keepdim=True)
    for _ in range(int(settings["steps"])):
        image = (A @ direction[..., None])[..., 0]
        curvature = (direction * image).sum(-1, keepdim=True)
        step = torch.where(curvature > 0, size / curvature, 0.0)
        solution = solution + step * direction
        residual = residual - step * image
        smaller = residual.square().sum(-1, keepdim=True)
        direction = residual + torch.where(size > 0, smaller / size, 0.0) * direction
        size = smaller
    return solution.movedim(-1, -2)  # (..., d, prompts)


KDA = Rule(
    "kda",
    "gated delta rule, a decay a channel",
    "Kimi Linear's KDA (arXiv 2510.26692)",
    "W ← W diag(a) + b (y − W diag(a) x) xᵀ / |x|²",
    ("rate", "decays"),
    "b and a by gradient",
    _channel_gated,
    objective="½ |y − W x|² / |x|², after shrinking the columns of W",
)
GENERALISED = Rule(
    "rwkv7",
    "generalised delta rule",
    "RWKV-7 (arXiv 2503.14456)",
    "W ← W diag(w) + (s y − W x) (a ⊙ x)ᵀ / |x|²",
    ("rates", "decays", "gain"),
    "a, w and s by gradient",
    _generalised,
    objective="½ |s y − W x|² / |x|², each channel at a rate of its own",
)
PRODUCT = Rule(
    "product",
    "delta rule, c steps a pair",
    "DeltaProduct (arXiv 2502.10297)",
    "W ← W + b (y − W x) xᵀ / |x|² for each of the last c pairs in turn",
    ("rate",),
    "b by search",
    partial(_over_last_pairs, change=_one_after_the_other),
    ("W", "keys", "values"),
    objective="½ |y − W x|² / |x|², of each of the last c pairs in turn",
)
MOMENTUM = Rule(
    "titans",
    "delta rule with momentum and decay",
    "Titans (arXiv 2501.00663)",
    "M ← β M + b (y − W x) xᵀ, W ← a W + M",
    ("rate", "beta", "decay"),
    "b, β and a by gradient",
    _momentum,
    ("W", "momentum"),
    objective="½ |y − W x|², of the new pair, along past gradients too",
)
CHUNKS = Rule(
    "ttt",
    "delta rule in chunks of c",
    "TTT (arXiv 2407.04620)",
    "W ← W + b (y − B x) xᵀ, with B the W at which the chunk began",
    ("rate",),
    "b by search",
    _in_chunks,
    ("W", "began", "count"),
    objective="½ ∑ |y − W x|², over a chunk of c pairs, one step",
)
WINDOW = Rule(
    "omega",
    "steps on the last c pairs",
    "Omega rule of ATLAS (arXiv 2505.23735)",
    "W ← a W + b ∑ (y − W x) xᵀ over the last c pairs",
    ("rate", "decay"),
    "b and a by gradient",
    partial(_over_last_pairs, change=_all_at_once),
    ("W", "keys", "values"),
    objective="½ ∑ |y − W x|², over the last c pairs, one step a pair",
)
CONJUGATE = Rule(
    "mesa",
    "Mesa, k steps of conjugate gradient",
    "MesaNet (arXiv 2506.05233)",
    "G ← γ G + y xᵀ, H ← γ H + x xᵀ; W q = G z, z from k steps on (H + λ I) z = q",
    ("decay", "ridge"),
    "λ and γ by search",
    two_sums,
    ("G", "H"),
    _conjugate,
    objective="½ zᵀ (H + λ I) z − qᵀ z, for every query, k steps",
)

RECENT = {
    rule.id: rule for rule in (KDA, GENERALISED, PRODUCT, MOMENTUM, CHUNKS, WINDOW, CONJUGATE)
}

# Multiplications of a pair and a query with W, of o × d, as a number and as a multiple of c; what
# costs o + d is left out.
_WITH_W = {
    "sum": (2, 0),
    "decayed": (3, 0),
    **dict.fromkeys(("delta", "unit", "longhorn", "ttt"), (3, 0)),
    **dict.fromkeys(("gated", "kda", "rwkv7"), (4, 0)),
    "titans": (5, 0),
    "product": (1, 2),
    "omega": (2, 2),
    **dict.fromkeys(("mesa", "squares"), (2, 0)),
}


def multiplications(rule_id: str, o: int, d: int, reach: int, steps: int) -> int:
    """Return how many multiplications a pair and a query cost a rule: `reach` is c, `steps` is k of
    Mesa. Least squares solves by Cholesky's factors."""
    alone, times_c = _WITH_W[rule_id]
    with_h = {"mesa": (1 + steps) * d * d, "squares": 2 * d * d + d**3 // 6}
    return (alone + times_c * reach) * o * d + with_h.get(rule_id, 0)
