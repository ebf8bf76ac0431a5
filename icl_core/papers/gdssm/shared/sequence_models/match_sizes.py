"""Baselines of one size. What "matched" means here, and where it cannot be had.

The paper gives its own layer a hidden width of 20 and a state of 10 (A.5, 1-D, f = 10) and no sizes
for the others; it says only that they read the same tokens (Section 4). Their parameters cannot be
matched to the GD-SSM's: at f = 10 that has 14 with one decay (Q 9, q 3, decay, β), 23 with one a
row, 113 with f x f. A width of 1 takes 20 to let a token in and out and some more between; 113
allows a width of 1 to 4, too narrow for a token of 10.

So they are matched with each other, far above it, where a baseline that fails does not fail for
want of parameters: every model within 5% of one given number, by its state, at the width asked for
if that is possible and at the nearest other width if not. That is the paper's width where it leaves
room for x, y and the positions, 2f + N + 1; 20 = 2f does not. At width 20 and f = 10 the smallest
Mamba has 3,360 parameters, the others under 1,000.
"""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch

from icl_core.papers.gdssm.shared.sequence_models import Model
from icl_core.papers.gdssm.shared.sequence_models.initial_weights import Parameters

TOLERANCE = 0.05


@dataclass(frozen=True)
class Size:
    """A model's size."""

    width: int
    state: int
    parameters: int


def count(parameters: Parameters) -> int:
    """Return how many numbers one seed has; a complex one is stored as two."""
    return sum(tensor[0].numel() for tensor in parameters.values())


def matched(model: Model, features: int, asked: int, positions: int, wished: int) -> Size:
    """Return the state, at the width `wished`, whose parameters come nearest to `asked`; where they
    are not within 5%, the nearest width at which they are. Without any, the nearest size of all."""

    def counted(width: int, state: int) -> int:
        return count(model.draw(features, width, state, [torch.Generator()], positions))

    sizes = []
    for width in sorted(range(1, 2 * wished + 1), key=lambda other: abs(other - wished)):
        size = nearest(partial(counted, width), asked, width)
        if abs(size.parameters - asked) <= TOLERANCE * asked:
            return size
        sizes.append(size)
    return min(sizes, key=lambda size: abs(size.parameters - asked))


def nearest(parameters: Callable[[int], int], asked: int, width: int) -> Size:
    """Return the state whose number of parameters, which rises with it, is nearest to `asked`, by
    bisection."""
    high = 2
    while parameters(high) < asked:
        high *= 2
    # the first that has as many
    enough = high // 2 + bisect_left(range(high // 2, high), asked, key=parameters)
    state = min(max(1, enough - 1), enough, key=lambda state: abs(parameters(state) - asked))
    return Size(width, state, parameters(state))
