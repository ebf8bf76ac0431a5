"""The 1-D layer on constructed tokens (Section 3.1, eqs. 12 to 16): scalar labels, a state of f
numbers.

    z_t = A z_{t-1} + Psi c_t             c_t = [x_t y_t, x_{t+1}],  A diagonal
    o_t = beta z_t^T Theta c_t            the prediction of y_{t+1}

`recurrent` runs over the tokens and shows every state; `attention` gives the last output without
them and is what trains. Tasks are the last axis, seeds the first of every weight.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from icl_core.papers.gdssm.shared.settings import Config
from icl_core.papers.gdssm.shared.weights import decays, normal, powers
from icl_core.training.weights import Weights


@dataclass(frozen=True, eq=False)
class Layer1D(Weights):
    """All weights of the layer. Psi reads the token into the state, Theta reads it against the
    state."""

    a: Tensor  # (seeds, f), the diagonal of A, or (seeds, 1)
    Psi: Tensor  # (seeds, f, 2f)
    Theta: Tensor  # (seeds, f, 2f)
    beta: Tensor  # (seeds,)
    runs: int = 1  # whose seeds stand one after the other: no product here depends on it


def initialise(config: Config, generators: Sequence[torch.Generator]) -> Layer1D:
    """Draw random weights, one model for every generator; beta starts at 1 / N. Float32, where the
    generators live."""
    f = config.f
    a = decays(generators, f if config.recurrence == "row" else 1)
    Psi = normal(generators, f, 2 * f)
    Theta = normal(generators, f, 2 * f)
    return Layer1D(a, Psi, Theta, Psi.new_full((len(generators),), 1 / config.N))


def recurrent(
    weights: Layer1D, c: Float[Tensor, "N width tasks"]
) -> tuple[Float[Tensor, "N seeds tasks"], Float[Tensor, "N seeds f tasks"]]:
    """Return outputs and states after every token; width = 2f."""
    seeds, f = weights.Psi.shape[:2]
    z = c.new_zeros(seeds, f, c.shape[-1])
    outputs = []
    states = []
    for token in c:  # (2f, tasks)
        z = weights.a[..., None] * z + weights.Psi @ token  # (seeds, f, tasks)
        output = weights.beta[:, None] * (z * (weights.Theta @ token)).sum(1)  # (seeds, tasks)
        outputs.append(output)
        states.append(z)
    return torch.stack(outputs), torch.stack(states)


def attention(weights: Layer1D, c: Float[Tensor, "N width tasks"]) -> Float[Tensor, "seeds tasks"]:
    """Return the last output (width = 2f), beta sum_t <A^(N-t) Psi c_t, Theta c_N>: keys Psi c_t,
    the query Theta c_N."""
    N, width, tasks = c.shape
    seeds, f = weights.Psi.shape[:2]
    keys = weights.Psi.reshape(seeds * f, width) @ c.movedim(1, 0).reshape(width, N * tasks)
    keys = keys.view(seeds, f, N, tasks)
    decayed = powers(weights.a, N).mT[..., None] * keys  # (seeds, f, N, tasks)
    query = weights.Theta @ c[-1]  # (seeds, f, tasks)
    return weights.beta[:, None] * (decayed.sum(2) * query).sum(1)
