"""Several seeds of one model, trained at once: seeds are the first axis of every parameter, and the
loss of a seed depends on its own parameters only."""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor


def leaves(parameters: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the parameters as fresh autograd leaves that share their memory.

    Compute the losses from these, then pass both to `gradients`.
    """
    return {name: tensor.detach().requires_grad_() for name, tensor in parameters.items()}


def gradients(
    losses: Tensor, leaves: Mapping[str, Tensor], slopes: Tensor | None = None
) -> dict[str, Tensor]:
    """Return the gradient of every seed's loss with respect to its own leaves, by name.

    losses  [seeds]; or an intermediate result [seeds, …] that the losses depend on
    slopes  the derivative of the losses with respect to that intermediate result, of its shape;
            ones if left out

    Leaves that the losses do not depend on get zeros.
    """
    slopes = torch.ones_like(losses) if slopes is None else slopes
    tensors = torch.autograd.grad(
        losses, list(leaves.values()), slopes, allow_unused=True, materialize_grads=True
    )
    return dict(zip(leaves, tensors, strict=True))


def clipped(gradients: Mapping[str, Tensor], limit: float) -> dict[str, Tensor]:
    """Return the gradients, scaled seed by seed so that none is longer than `limit`.

    A seed's length is the Euclidean norm over all its parameters. Gradients are [seeds, …].
    """
    squares = [
        gradient.reshape(len(gradient), -1).square().sum(1) for gradient in gradients.values()
    ]
    factor = limit / torch.stack(squares).sum(0).sqrt().clamp(min=limit)  # (seeds,)
    return {
        # (seeds,) to (seeds, 1, …), which broadcasts over the parameter's own axes
        name: gradient * factor.reshape(-1, *[1] * (gradient.dim() - 1))
        for name, gradient in gradients.items()
    }


def padded(curves: np.ndarray, length: int) -> np.ndarray:
    """Return curves [..., points] as [..., length], with NaN for points not reached yet."""
    missing = [(0, 0)] * (curves.ndim - 1) + [(0, length - curves.shape[-1])]
    return np.pad(curves, missing, constant_values=np.nan)
