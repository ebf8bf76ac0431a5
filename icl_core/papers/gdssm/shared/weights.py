"""How the weights of all models begin: random, float32, a seed a generator, and seeds as their
first axis; and powers of their decays."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor


def draw(
    generators: Sequence[torch.Generator], make: Callable[[torch.Generator], Tensor]
) -> Tensor:
    """Return one draw for every seed, (seeds, ...): no seed's weights depend on how many others
    train beside it."""
    return torch.stack([make(generator) for generator in generators])


def normal(generators: Sequence[torch.Generator], *shape: int, std: float = 0.1) -> Tensor:
    """Draw from N(0, std^2). From 0.5 on a training sticks at the zero predictor."""
    return draw(generators, lambda g: std * torch.randn(*shape, generator=g, device=g.device))


def decays(generators: Sequence[torch.Generator], *shape: int) -> Tensor:
    """Draw a ~ U(0.95, 1), left free to pass 1: a parametrisation that keeps a < 1 stalls at 0.94
    to 0.98."""
    return draw(
        generators, lambda g: torch.empty(*shape, device=g.device).uniform_(0.95, 1, generator=g)
    )


def powers(a: Tensor, count: int) -> Tensor:
    """Return a^(count - t) for t = 1..count, before the last entry's own axes: (seeds, ...) to
    (seeds, count, ...).

    Whole exponents, so that a negative a is raised as well as a positive one.
    """
    exponents = torch.arange(count - 1, -1, -1, device=a.device).view(-1, *[1] * (a.dim() - 1))
    return a[:, None] ** exponents


Parameters = dict[str, Tensor]  # name -> (seeds, *shape), or of one seed (*shape)
Generators = Sequence[torch.Generator]


def matrix(generators: Generators, inputs: int, outputs: int) -> Tensor:
    """Draw from N(0, 1 / inputs), (seeds, inputs, outputs): what it makes of an input of order 1 is
    of order 1."""
    return normal(generators, inputs, outputs, std=inputs**-0.5)


def uniform(generators: Generators, *shape: int) -> Tensor:
    """Draw from U(0, 1), (seeds, *shape)."""
    return draw(generators, lambda generator: torch.rand(*shape, generator=generator))
