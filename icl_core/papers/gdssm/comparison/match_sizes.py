"""Baselines of one size. What "matched" means here, and where it cannot be had.

The paper gives its own layer a hidden width of 20 and a state of 10 (A.5, 1-D, f = 10) and no sizes for the others; it
says only that they read the same tokens (Section 4). Their parameters cannot be matched to the GD-SSM's: at f = 10 that
has 14 with one decay (Q 9, q 3, decay, β), 23 with one a row, 113 with f x f. A width of 1 takes 20 to let a token in
and out and some more between; 113 allows a width of 1 to 4, too narrow for a token of 10.

So they are matched with each other, far above it, where a baseline that fails does not fail for want of parameters:
every model within 5 % of one given number, by its state, at the paper's width if that is possible and at the nearest
other width if not. `Size.within` says whether it was. At width 20 and f = 10 the smallest Mamba has 3,360 parameters,
the others under 1,000.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from icl_core.papers.gdssm.comparison.baselines import (
    griffin,
    linear_transformer,
    mamba,
    s5,
    seeds,
    softmax_transformer,
)
from icl_core.papers.gdssm.comparison.baselines.seeds import Parameters

WIDTH = 20  # the paper's hidden dimension, twice its f
TOLERANCE = 0.05


@dataclass(frozen=True)
class Baseline:
    """A model as a value. `parameters(features, width, state, generator, seeds)`; the other two take one seed's
    parameters and tokens (tasks, T, f)."""

    name: str
    parameters: Callable[..., Parameters]
    forward: Callable[[Parameters, Float[Tensor, "tasks T f"]], Float[Tensor, "tasks T f"]]
    recur: Callable[[Parameters, Float[Tensor, "tasks T f"]], Float[Tensor, "tasks T f"]]
    made_with: dict[str, Any] = field(default_factory=dict)

    def draw(self, features: int, generator: torch.Generator, seeds: int, size: "Size", **made_with: Any) -> Parameters:
        """Random parameters of that width and state."""
        return self.parameters(features, size.width, size.state, generator, seeds, **self.made_with, **made_with)

    def all_seeds(
        self, parameters: Parameters, tokens: Float[Tensor, "*seeds tasks T f"]
    ) -> Float[Tensor, "seeds tasks T f"]:
        """`forward` for every seed in one pass."""
        return seeds.all_seeds(self.forward, parameters, tokens)


def _transformer(model: Any, name: str, layers: int) -> Baseline:
    return Baseline(name, model.parameters, model.forward, model.recur, {"layers": layers})


BASELINES = {
    baseline.name: baseline
    for baseline in (
        Baseline("S5", s5.parameters, s5.forward, s5.recur),
        Baseline("Mamba", mamba.parameters, mamba.forward, mamba.recur),
        Baseline("Griffin", griffin.parameters, griffin.forward, griffin.recur),
        _transformer(linear_transformer, "Linear transformer, 1 layer", 1),
        _transformer(linear_transformer, "Linear transformer, 2 layers", 2),
        _transformer(softmax_transformer, "Softmax transformer, 1 layer", 1),
        _transformer(softmax_transformer, "Softmax transformer, 2 layers", 2),
    )
}


@dataclass(frozen=True)
class Size:
    """A model's size and how near to the number asked for it comes."""

    width: int
    state: int
    parameters: int
    asked: int

    @property
    def within(self) -> bool:
        return abs(self.parameters - self.asked) <= TOLERANCE * self.asked


def count(baseline: Baseline, features: int, width: int, state: int, **made_with: Any) -> int:
    """The parameters of one seed, counted on a drawn model."""
    return seeds.count(baseline.draw(features, torch.Generator(), 1, Size(width, state, 0, 0), **made_with))


def matched(baseline: Baseline, features: int, asked: int, width: int = WIDTH, **made_with: Any) -> Size:
    """The state, at `width`, whose parameters come nearest to `asked`; and where they are not within 5 %,
    the nearest such width. Without any, the nearest size of all is returned, and its `within` is False."""
    tried = []
    for nearby in sorted(range(1, 2 * width + 1), key=lambda other: abs(other - width)):
        tried.append(nearest(partial(count, baseline, features, nearby, **made_with), asked, nearby))
        if tried[-1].within:
            return tried[-1]
    return min(tried, key=lambda size: abs(size.parameters - asked))


def nearest(parameters: Callable[[int], int], asked: int, width: int) -> Size:
    """The state whose number of parameters, which rises with it, is nearest to `asked`, by bisection."""
    low, high = 1, 2
    while parameters(high) < asked:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if parameters(middle) < asked else (low, middle)
    state = min(low, high, key=lambda state: abs(parameters(state) - asked))
    return Size(width, state, parameters(state), asked)
