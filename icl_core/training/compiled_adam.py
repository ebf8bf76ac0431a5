"""The step of `torch.optim.Adam` and `AdamW` in a compiled segment.

numba keeps what it has compiled beside the bytecode of the segment's file, until that file changes:
after a change here the files of segments are to be saved anew, too.
"""

import numpy as np
from numba import njit

EPSILON = 1e-8


@njit(cache=True)
def step(parameter, gradient, mean, square, rate, beta_1, beta_2, count, decay):
    """Change a parameter by its gradient, with Adam's `mean` and mean `square` of past ones, all
    four of one shape. It is the step number `count`, from 1, at the learning rate `rate`; `decay`
    is AdamW's."""
    numbers = parameter.ravel()  # a view, as of the others
    slopes = gradient.ravel()
    means = mean.ravel()
    squares = square.ravel()
    unbiased = 1.0 - beta_1**count
    unbiased_root = (1.0 - beta_2**count) ** 0.5
    for i in range(len(numbers)):
        means[i] += (1.0 - beta_1) * (slopes[i] - means[i])
        squares[i] = beta_2 * squares[i] + (1.0 - beta_2) * slopes[i] ** 2
        divisor = squares[i] ** 0.5 / unbiased_root + EPSILON
        numbers[i] = numbers[i] * (1.0 - rate * decay) - rate / unbiased * means[i] / divisor


def prepare() -> None:
    """Compile the step, or load it."""
    one, gradient, mean, square = np.ones((4, 1), np.float32)
    step(one, gradient, mean, square, 0.1, 0.9, 0.999, 1, 0.0)
