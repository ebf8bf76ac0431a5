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
SMALL = {
    "W_E": 0.5,
    "R": 0.1,
    "layer": 0.5,
    "W_U": 0.3,
}  # small first values: predictions begin near uniform


def names(layers: int) -> list[str]:
    """The parameters of a model."""
    return [
        "W_E",
        *(f"{part}{layer}" for layer in range(1, layers + 1) for part in (*PARTS, "R")),
        "W_U",
    ]


def initialise(
    k: int, d: int, T: int, layers: int, generator: torch.Generator
) -> dict[str, Tensor]:
    """First values of one seed, Gaussian."""

    def drawn(rows: int, scale: float) -> Tensor:
        return scale * torch.randn(rows, d, generator=generator)

    found = {}
    for name in names(layers):
        if name in ("W_E", "W_U"):
            found[name] = drawn(k, SMALL[name] / (math.sqrt(d) if name == "W_U" else 1))
        elif name.startswith("R"):
            found[name] = drawn(T, SMALL["R"])
        else:
            found[name] = drawn(d, SMALL["layer"] / math.sqrt(d))
    return found


def forward(
    parameters: Parameters, tokens: Int[Tensor, "seeds batch T"]
) -> tuple[Float[Tensor, "seeds batch T k"], list[Float[Tensor, "seeds batch T T"]]]:
    """Logits of the next state at every position, and each layer's attention (rows are queries)."""
    k, T = parameters["W_E"].shape[1], tokens.shape[2]
    x = _each(torch.nn.functional.one_hot(tokens, k).to(parameters["W_E"]), parameters["W_E"])
    future, maps = torch.full((T, T), -torch.inf).triu(1).to(x), []
    for layer in ("1", "2"):
        if f"W_K{layer}" not in parameters:
            break
        W_Q, W_K, W_V, W_O, R = (parameters[f"{part}{layer}"] for part in (*PARTS, "R"))
        query = _each(x, W_Q)
        scores = query @ _each(x, W_K).mT + by_distance(
            _each(query, R[:, :T].flip(1).mT)
        )  # (seeds, batch, T, T)
        maps.append((scores / math.sqrt(x.shape[-1]) + future).softmax(-1))
        x = x + _each(_each(maps[-1] @ x, W_V), W_O)
    return _each(x, parameters["W_U"].mT), maps


def _each(
    x: Float[Tensor, "seeds batch T d"], W: Float[Tensor, "seeds d e"]
) -> Float[Tensor, "seeds batch T e"]:
    """x W, every seed with its own W: one product a seed."""
    seeds, batch, T, _ = x.shape
    return (x.reshape(seeds, batch * T, -1) @ W).view(seeds, batch, T, -1)


def by_distance(scores: Float[Tensor, "seeds batch T T"]) -> Float[Tensor, "seeds batch T T"]:
    """From scores by query and distance, the largest (T - 1) first, to scores by query and key;
    what lies in the future is left as it comes. Shifts row t by T - 1 - t without gathering: a
    column more, and rows of the old length."""
    *first, T, _ = scores.shape
    return torch.nn.functional.pad(scores, (1, 0)).reshape(*first, T + 1, T)[..., 1:, :]
