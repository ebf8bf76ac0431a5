"""Several seeds of one model as one batched pass: every parameter has a leading axis of seeds."""

from collections.abc import Callable, Mapping

import torch
from jaxtyping import Float
from torch import Tensor

Parameters = dict[str, Tensor]  # name -> (seeds, *shape)


def stacked(draw: Callable[[], Parameters], seeds: int) -> Parameters:
    """`seeds` draws of one model's parameters, stacked. The first ones do not depend on how many follow."""
    draws = [draw() for _ in range(seeds)]
    return {name: torch.stack([one[name] for one in draws]) for name in draws[0]}


def all_seeds(
    forward: Callable[[Parameters, Tensor], Tensor],
    parameters: Mapping[str, Tensor],
    tokens: Float[Tensor, "*seeds tasks T f"],
) -> Float[Tensor, "seeds tasks T f"]:
    """`forward` for every seed at once: on the same tokens, or on each seed's own if they too have the axis."""
    return torch.vmap(forward, in_dims=(0, 0 if tokens.ndim == 4 else None))(dict(parameters), tokens)


def count(parameters: Mapping[str, Tensor]) -> int:
    """How many numbers one seed of the model has; a complex parameter is stored as two."""
    return sum(tensor[0].numel() for tensor in parameters.values())
