"""Several seeds trained at once: seeds are the first axis of every parameter, and no loss holds
another seed's."""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor


def leaves(parameters: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The parameters as fresh leaves, to compute every seed's loss from and ask for its
    `gradients`."""
    return {name: tensor.detach().requires_grad_() for name, tensor in parameters.items()}


def gradients(
    losses: Tensor, leaves: Mapping[str, Tensor], slopes: Tensor | None = None
) -> dict[str, Tensor]:
    """The gradient of every seed's loss by its own leaves; zero by those that the losses do not
    hold.

    `losses` [seeds], or what the losses are made of [seeds, …] with their `slopes` by it, of the
    same shape.
    """
    slopes = torch.ones_like(losses) if slopes is None else slopes
    found = torch.autograd.grad(
        losses, list(leaves.values()), slopes, allow_unused=True, materialize_grads=True
    )
    return dict(zip(leaves, found, strict=True))


def clipped(gradients: Mapping[str, Tensor], limit: float) -> dict[str, Tensor]:
    """Each seed's gradient, over all its parameters no longer than `limit`."""
    squares = [each.reshape(len(each), -1).square().sum(1) for each in gradients.values()]
    factor = limit / torch.stack(squares).sum(0).sqrt().clamp(min=limit)  # [seeds]
    return {
        name: each * factor.reshape(-1, *[1] * (each.dim() - 1)) for name, each in gradients.items()
    }


def padded(curves: np.ndarray, length: int) -> np.ndarray:
    """Curves [..., points] up to `length` points: what has not been reached is NaN."""
    missing = [(0, 0)] * (curves.ndim - 1) + [(0, length - curves.shape[-1])]
    return np.pad(curves, missing, constant_values=np.nan)
