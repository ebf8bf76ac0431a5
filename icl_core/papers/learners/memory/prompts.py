"""Prompts of linear regression whose noise differs from one to the next, and what is left of them.

x and w* are N(0, I). By symmetry the matrices of a layer are then multiples of the identity, so
that a model has a few numbers a layer.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from icl_core.papers.learners.memory.models import gram
from icl_core.papers.learners.memory.settings import Config


@dataclass(frozen=True, eq=False)
class Prompts:
    """What models and references read of prompts.

    G    1/n ∑ e eᵀ over the tokens e = (x, y), D = d + 1
    w    w*
    tau  the standard deviation of each prompt's noise, which models do not see
    """

    G: Float[Tensor, "D D prompts"]
    w: Float[Tensor, "d prompts"]
    tau: Float[Tensor, "prompts"]


def draw(
    config: Config, count: int, generator: torch.Generator, percent: float | None = None
) -> Prompts:
    """Draw prompts, in float64. Their noise has the given size or, in each prompt, one that is
    uniform from zero to the largest."""

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    x = normal(config.n, config.d, count)
    w = normal(config.d, count)
    tau = config.largest * torch.rand(count, generator=generator, dtype=torch.float64)
    if percent is not None:
        tau = torch.full_like(tau, config.tau(percent))
    y = (x * w).sum(1) + tau * normal(config.n, count)
    return Prompts(gram(x, y), w, tau)


def shares(
    weights: Float[Tensor, "d *rest prompts"], w: Float[Tensor, "d *others prompts"]
) -> Float[Tensor, "*rest"]:
    """Return what is left of the error of predicting zero: the mean of |ŵ − w*|², over E |w*|² = d,
    and over prompts."""
    return (weights - w).square().sum(0).mean(-1) / len(w)
