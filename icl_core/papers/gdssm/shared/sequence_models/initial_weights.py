"""How the parameters of the baselines begin: random, float32, a seed a generator, and seeds as
their first axis."""

from collections.abc import Sequence

import torch
from torch import Tensor

from icl_core.papers.gdssm.shared.weights import draw, normal

Parameters = dict[str, Tensor]  # name -> (seeds, *shape), or of one seed (*shape)
Generators = Sequence[torch.Generator]


def matrix(generators: Generators, inputs: int, outputs: int) -> Tensor:
    """Draw from N(0, 1 / inputs), (seeds, inputs, outputs): what it makes of an input of order 1 is
    of order 1."""
    return normal(generators, inputs, outputs, std=inputs**-0.5)


def uniform(generators: Generators, *shape: int) -> Tensor:
    """Draw from U(0, 1), (seeds, *shape)."""
    return draw(generators, lambda generator: torch.rand(*shape, generator=generator))
