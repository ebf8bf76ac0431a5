"""What a second step asks of the 1-D layer's tokens c_t = [x_t y_t, x_{t+1}] (eq. 14), and what
they hold of it.

Two steps predict A g·x_q − B gᵀ S x_q with g = ∑ y x and S = ∑ x xᵀ. No reader of these tokens does
exactly that: x_1 stands in them as x_1 y_1 only, so that (c x_1, y_1 / c) gives the same tokens and
another S. Two ways to come near, of many (a reader that can divide x_t y_t by x_t knows all pairs
but the first):

  left out   S without the first pair, as the sum of x_{t+1} x_{t+1}ᵀ over t < N: two heads per
             layer, as in Appendix A.2
  stacked    a second layer of eq. 13 on the first one, which predicts at every token from the pairs
             so far: it adds up (y_t − prediction) x_t, so that every example meets the earlier ones
             alone

The windows of Section 3.2 hold what is needed, with y as [0, …, y]: "the token construction is
identical to that used for N-dimensional linear regression" (Section 4.3). So the 1-D model of
several layers reads these (`multi_layer`).
"""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from icl_core.papers.gdssm.shared.task import Tasks, constructed_tokens

Tokens = Float[Tensor, "N width tasks"]  # width 2f
Outputs = tuple[Float[Tensor, "tasks"], Float[Tensor, "tasks"]]


def stacked(c: Tokens) -> Outputs:
    """Return, over the tokens: g·x_q, what one layer puts out, and what a second one adds up of its
    predictions, at the query: ∑_t (g_{t-1}·x_t) (x_t·x_q) with g_t of the first t pairs."""
    f = c.shape[1] // 2
    g = torch.zeros_like(c[0, :f])
    curvature = torch.zeros_like(c[0, :f])
    for token in c[:-1]:
        g = g + token[:f]
        x = token[f:]  # x_{t+1}, (f, tasks)
        curvature = curvature + (g * x).sum(0) * x  # the prediction of y_{t+1}, times x_{t+1}
    query = c[-1, f:]
    return ((g + c[-1, :f]) * query).sum(0), (curvature * query).sum(0)


def left_out(c: Tokens) -> Outputs:
    """Return g·x_q and gᵀ S x_q, S without x_1 x_1ᵀ."""
    f = c.shape[1] // 2
    g = c[:, :f].sum(0)  # (f, tasks)
    x = c[:-1, f:]  # (N - 1, f, tasks)
    query = c[-1, f:]  # (f, tasks)
    return (g * query).sum(0), ((g * x).sum(1) * (x * query).sum(1)).sum(0)


def floors(tasks: Tasks) -> dict[str, float]:
    """Return the least loss on these tasks of A times the first output minus B times the second, of
    both."""
    c = constructed_tokens(tasks)
    label = tasks.y[-1, 0].double().cpu().numpy()
    return {
        name: _least(form(c), label)
        for name, form in (("stacked", stacked), ("left_out", left_out))
    }


def _least(outputs: Outputs, label: np.ndarray) -> float:
    """Return the least loss, by 2 x 2 least squares; each output is in units of its own size, as
    they differ by powers of N."""
    columns = torch.stack(outputs, 1).double().cpu().numpy()  # [tasks, 2]
    columns = columns / np.maximum(np.sqrt((columns**2).mean(0)), 1e-30)
    best = np.linalg.lstsq(columns, label, rcond=None)[0]
    return float(((columns @ best - label) ** 2).mean()) / 2
