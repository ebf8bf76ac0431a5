"""Plain gradient descent on the implicit linear model, by automatic differentiation: the oracle of
the constructions.

The loss is that of eqs. 8 and 22, with the penalty of Appendix A.4 as it is usually written:
    loss(M) = 1 / (2 N) sum_n |M x_n - y_n|^2 + penalty / 2 |M|^2
"""

import torch
from jaxtyping import Float
from torch import Tensor

from icl_core.papers.gdssm.shared.task import Tasks, apply


def gradient(
    M: Float[Tensor, "n_o f tasks"], tasks: Tasks, pairs: int | None = None, penalty: float = 0.0
) -> Float[Tensor, "n_o f tasks"]:
    """Return the loss's gradient at M over the first `pairs` pairs (default all), still divided by
    N."""
    with torch.enable_grad():
        M = M.detach().requires_grad_()
        misses = apply(M, tasks.x[:-1][:pairs]) - tasks.y[:-1][:pairs]
        # the sum over all tasks: no task's M is in another's loss
        losses = misses.square().sum() / (2 * tasks.N) + penalty / 2 * M.square().sum()
        return torch.autograd.grad(losses, M)[0]


def descend(
    tasks: Tasks, rate: float, steps: int, penalty: float = 0.0
) -> Float[Tensor, "iterates n_o f tasks"]:
    """Return the steps + 1 iterates M_0 = 0, M_l = M_{l-1} - rate times the gradient."""
    M = [tasks.x.new_zeros(tasks.y.shape[1], *tasks.x.shape[1:])]
    for _ in range(steps):
        M.append(M[-1] - rate * gradient(M[-1], tasks, penalty=penalty))
    return torch.stack(M)


def predict(M: Float[Tensor, "n_o f tasks"], tasks: Tasks) -> Float[Tensor, "n_o tasks"]:
    """Return M x at the query."""
    return apply(M, tasks.x[-1:])[0]


def accumulated(tasks: Tasks) -> Float[Tensor, "N n_o f tasks"]:
    """Return -N times the gradient at M = 0 over the first 1..N pairs: what the state of the
    construction must equal."""
    zero = tasks.x.new_zeros(tasks.y.shape[1], *tasks.x.shape[1:])
    return torch.stack([-tasks.N * gradient(zero, tasks, pairs) for pairs in range(1, tasks.N + 1)])
