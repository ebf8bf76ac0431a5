"""The layer of Section 3.2 with a window of any size, and with a read-out that may be fixed.

    Z_t = a Z_{t-1} + C_t Q C_t^T         C_t: the latest k tokens of x_1, y_1, x_2, y_2, …, x_{N+1}
    o   = beta Z C q, or beta Z r         C the last window; r a vector that is trained

A window of 3 moves on by pairs and begins at an x, as in `layer_nd`. Smaller ones move on by
tokens, so that each token stands in some window: by pairs a window of 2 would never hold an x with
its own y. Tasks are the last axis, seeds the first of every weight.

What each layer can lose at best is known in closed form, as a share of predicting zero. A product
of entries has to do with the query's label y = W x only if it is odd in W and in the query's x, and
even in every other x, as these are drawn symmetrically about zero. The prediction multiplies two
tokens of one window with what reads the state.

A window of 1      holds y without its x: each product has an odd number of some x. So the best
                   prediction is zero.
A fixed read-out   leaves two factors, and it takes three: y, its x, and the query's x. Zero again.
A = 0              leaves the last pair: one step on a single example.
A window of 2      moves on by tokens. Every second window adds x yᵀ of an x and a y that do not
                   belong together; with the one at the query these have mean square
                   (N − 1) f + κ + f − 1 beside N (N − 2 + κ + f) of y xᵀ, and no correlation with
                   it. Of no other products: the loss of the construction.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from icl_core.papers.gdssm.ingredients.settings import Config, Variant
from icl_core.papers.gdssm.shared.closed_forms import KAPPA
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
    Q = torch.zeros(1, k, k)
    q = torch.zeros(1, k)
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
    decayed = mixed * powers(weights.a, len(C))[:, None, :, None]
    values = C[:, 0] * decayed[:, 0, :, None]  # (seeds, windows, f, tasks)
    for j in range(1, k):
        values = values + C[:, j] * decayed[:, j, :, None]
    return weights.beta[:, None, None] * values.sum(1)


def loss_share(config: Config, variant: Variant) -> float:
    """Return the best loss of a variant's construction over that of predicting zero."""
    f, N = config.f, config.N
    if variant.window == 1 or not variant.reads:
        return 1.0
    pairs = N if variant.decay != 0.0 else 1
    square = pairs * (pairs - 2 + KAPPA + f)
    if variant.window == 2:
        square += (N - 1) * f + KAPPA + f - 1
    return 1 - pairs**2 / square
