"""Compares a trained memory with its construction, fairly: a construction's scale is free, and the softmax does not
see everything. So first remove what it cannot see, then fit one factor, then subtract."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor


class Aligned(NamedTuple):
    """Readings V W U^T of both memories without what the softmax cannot see."""

    trained: Float[Tensor, "rows columns"]
    constructed: Float[Tensor, "rows columns"]  # times the factor
    difference: Float[Tensor, "rows columns"]
    factor: float
    explained: float  # R^2: share of the trained readings' square that the construction accounts for


def visible(
    name: str, S: Float[Tensor, "rows columns"], seen: Bool[Tensor, "rows columns"] | None = None
) -> Float[Tensor, "rows columns"]:
    """S less what a softmax cannot see. For W_K1 and W_K2 that is each query's mean over its keys (rows); for W_O2 and
    W_F each input's mean over outputs (columns). Entries not `seen`, such as future keys, become zero."""
    if name not in ("W_K1", "W_K2", "W_O2", "W_F"):
        raise ValueError(f"name must be W_K1, W_K2, W_O2 or W_F, got {name!r}")
    axis = 1 if name.startswith("W_K") else 0
    seen = torch.ones_like(S, dtype=torch.bool) if seen is None else seen
    mean = (S * seen).sum(axis, keepdim=True) / seen.sum(axis, keepdim=True).clamp(min=1)
    return (S - mean) * seen


def align(
    name: str,
    trained: Float[Tensor, "rows columns"],
    constructed: Float[Tensor, "rows columns"],
    seen: Bool[Tensor, "rows columns"] | None = None,
) -> Aligned:
    """Fit the construction's readings to the trained ones by one factor, in least squares. The result does not depend
    on the scale of `constructed`, nor on anything that the softmax cannot see. Zero readings give the factor 0."""
    if trained.shape != constructed.shape:
        raise ValueError(f"readings must have one shape, got {tuple(trained.shape)} and {tuple(constructed.shape)}")
    goal, model = visible(name, trained, seen).double(), visible(name, constructed, seen).double()
    square, whole = float(model.square().sum()), float(goal.square().sum())
    factor = float((goal * model).sum()) / square if square > 0 else 0.0
    difference = goal - factor * model
    explained = 1 - float(difference.square().sum()) / whole if whole > 0 else 0.0
    dtype = trained.dtype
    return Aligned(goal.to(dtype), (factor * model).to(dtype), difference.to(dtype), factor, explained)


def causal(T: int) -> Bool[Tensor, "t t"]:
    """Which readings of W_K1 a causal model ever uses: query t + 1 (row t) with keys up to itself."""
    return torch.ones(T - 1, T - 1, dtype=torch.bool).tril(1)
