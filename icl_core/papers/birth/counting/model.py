"""A transformer of attention alone, one head a layer, with relative positions; several seeds at
once.

    x_t = w_E(z_t)
    x_t <- x_t + W_O W_V sum_s A[t, s] x_s     A = softmax((W_Q x_t)^T (W_K x_s + r_{t-s}) / sqrt d)
                                               over s <= t
    logits_t = W_U x_t

after each of one or two layers. All of it is trained. Vectors are rows here, so a matrix W is
applied as x W.
"""

import math
from collections.abc import Mapping

import torch
from jaxtyping import Float, Int
from torch import Tensor

Parameters = Mapping[str, Tensor]  # by name, with layer: "W_K1"; the first axis is the seed
PARTS = ("W_Q", "W_K", "W_V", "W_O")
# small first values: predictions begin near uniform
SMALL = {
    "W_E": 0.5,
    "R": 0.1,
    "layer": 0.5,
    "W_U": 0.3,
}


def names(layers: int) -> list[str]:
    """Return the names of a model's parameters."""
    of_layers = []
    for layer in range(1, layers + 1):
        of_layers += [f"{part}{layer}" for part in (*PARTS, "R")]
    return ["W_E", *of_layers, "W_U"]


def initialise(
    k: int, d: int, T: int, layers: int, generator: torch.Generator
) -> dict[str, Tensor]:
    """Return first values of one seed, Gaussian."""

    def drawn(rows: int, scale: float) -> Tensor:
        return scale * torch.randn(rows, d, generator=generator)

    parameters = {}
    for name in names(layers):
        if name in ("W_E", "W_U"):
            parameters[name] = drawn(k, SMALL[name] / (math.sqrt(d) if name == "W_U" else 1))
        elif name.startswith("R"):
            parameters[name] = drawn(T, SMALL["R"])
        else:
            parameters[name] = drawn(d, SMALL["layer"] / math.sqrt(d))
    return parameters


def forward(
    parameters: Parameters, tokens: Int[Tensor, "seeds batch T"]
) -> tuple[Float[Tensor, "seeds batch T k"], list[Float[Tensor, "seeds batch T T"]]]:
    """Return logits of the next state at every position, and each layer's attention (rows are
    queries)."""
    W_E = parameters["W_E"]  # (seeds, k, d)
    T = tokens.shape[2]
    one_hot = torch.nn.functional.one_hot(tokens, W_E.shape[1]).to(W_E)  # (seeds, batch, T, k)
    x = _each(one_hot, W_E)  # (seeds, batch, T, d)
    future = torch.full((T, T), -torch.inf).triu(1).to(x)
    maps = []
    for layer in ("1", "2"):
        if f"W_K{layer}" not in parameters:
            break
        W_Q, W_K, W_V, W_O, R = (parameters[f"{part}{layer}"] for part in (*PARTS, "R"))
        query = _each(x, W_Q)
        distances = _each(query, R[:, :T].flip(1).mT)  # (seeds, batch, T, T): by query and distance
        scores = query @ _each(x, W_K).mT + by_distance(distances)  # by query and key
        maps.append((scores / math.sqrt(x.shape[-1]) + future).softmax(-1))
        x = x + _each(_each(maps[-1] @ x, W_V), W_O)
    return _each(x, parameters["W_U"].mT), maps


def _each(
    x: Float[Tensor, "seeds batch T d"], W: Float[Tensor, "seeds d e"]
) -> Float[Tensor, "seeds batch T e"]:
    """Return x W, every seed with its own W: one product a seed."""
    seeds, batch, T, _ = x.shape
    return (x.reshape(seeds, batch * T, -1) @ W).view(seeds, batch, T, -1)


def by_distance(scores: Float[Tensor, "seeds batch T T"]) -> Float[Tensor, "seeds batch T T"]:
    """Turn scores by query and distance, the largest (T - 1) first, into scores by query and key;
    what lies in the future is left as it comes. Shifts row t by T - 1 - t without gathering: a
    column more, and rows of the old length."""
    *outer, T, _ = scores.shape
    return torch.nn.functional.pad(scores, (1, 0)).reshape(*outer, T + 1, T)[..., 1:, :]
