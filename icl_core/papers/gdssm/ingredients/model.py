"""The layer of Section 3.2 with a window of any size, and with a read-out that may be fixed.

    Z_t = a Z_{t-1} + C_t Q C_t^T         C_t: the latest k tokens of x_1, y_1, x_2, y_2, …, x_{N+1}
    o   = beta Z C q, or beta Z r         C the last window; r a vector that is trained

A window of 3 moves on by pairs and begins at an x, as in `layer_nd`. Smaller ones move on by
tokens, so that each token stands in some window: by pairs a window of 2 would never hold an x with
its own y. Tasks are the last axis, seeds the first of every weight.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from icl_core.papers.gdssm.ingredients.settings import Config, Variant
from icl_core.papers.gdssm.shared.task import Tasks, interleaved, windows
from icl_core.papers.gdssm.shared.weights import decays, normal, powers
from icl_core.training.weights import Weights

Windows = Float[Tensor, "windows k f tasks"]


@dataclass(frozen=True, eq=False)
class Layer(Weights):
    """All weights of the layer."""

    a: Tensor  # (seeds,)
    Q: Tensor  # (seeds, k, k)
    beta: Tensor  # (seeds,)
    q: Tensor | None = None  # (seeds, k)
    r: Tensor | None = None  # (seeds, f), in place of C q


def initial(config: Config, variant: Variant, seeds: Sequence[int]) -> Layer:
    """Return the weights before training, on the CPU, as those of `layer_nd` begin."""
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]
    k = variant.window
    a = decays(generators, 1)[:, 0]
    if variant.decay is not None:
        a = torch.full_like(a, variant.decay)
    Q = normal(generators, k, k)
    beta = Q.new_full((len(seeds),), 1 / config.N)
    if variant.reads:
        return Layer(a, Q, beta, q=normal(generators, k))
    return Layer(a, Q, beta, r=normal(generators, config.f))


def constructed(config: Config, variant: Variant) -> Layer | None:
    """Return the weights that take a step of rate N from as many of the products as the variant
    has, one seed; None where it has none that knows of the query's label."""
    if variant.window == 1 or not variant.reads:
        return None
    k = variant.window
    Q, q = torch.zeros(1, k, k), torch.zeros(1, k)
    Q[0, 1, 0] = 1.0  # the window's second token times its first: y xᵀ
    q[0, -1] = 1.0
    a = torch.full((1,), 1.0 if variant.decay is None else variant.decay)
    return Layer(a, Q, torch.ones(1), q=q)


def windows_of(tasks: Tasks, variant: Variant) -> Windows:
    """Return what a variant reads of each task, a view."""
    tokens = interleaved(tasks)  # (2 N + 1, f, tasks)
    if variant.window == 3:
        return windows(tokens)
    return tokens.unfold(0, variant.window, 1).movedim(-1, 1)


def forward(weights: Layer, C: Windows) -> Float[Tensor, "seeds f tasks"]:
    """Return the prediction of the query's label, without forming a state."""
    k, f, tasks = C.shape[1:]
    if weights.q is not None:
        u = torch.einsum("sk,kft->sft", weights.q, C[-1])
    else:
        assert weights.r is not None
        u = weights.r[:, :, None].expand(-1, f, tasks)
    scores = (C.transpose(0, 1) * u[:, None, None]).sum(3)  # C_t^T u: (seeds, k, windows, tasks)
    mixed = (weights.Q @ scores.flatten(2)).view(scores.shape)  # Q C_t^T u
    kept = mixed * powers(weights.a, len(C))[:, None, :, None]
    values = C[:, 0] * kept[:, 0, :, None]  # (seeds, windows, f, tasks)
    for j in range(1, k):
        values = values + C[:, j] * kept[:, j, :, None]
    return weights.beta[:, None, None] * values.sum(1)
