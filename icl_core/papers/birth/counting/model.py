"""Sequences of random Markov chains, each from a chain of its own, the three ways to predict them
by counting, and a transformer of attention alone that learns to, one head a layer, with relative
positions; several seeds at once.


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

LETTERS = "ABCDEFGH"  # the states
BALANCING = 40  # times that columns and rows are scaled in turn
STRATEGIES = ("uniform", "unigram", "bigram")  # their ids, from the simplest to the best


def draw_chains(
    batch: int, k: int, law: str, generator: torch.Generator
) -> Float[Tensor, "batch k k"]:
    """Draw transition matrices P[i, j] = p(j | i), float64.

    law "dirichlet": every row drawn evenly from all distributions, Dirichlet(1).
    law "balanced": the same, scaled until its columns sum to one too, so that in the long run all
    states occur equally often.
    """
    rows = torch.empty(batch, k, k, dtype=torch.float64)
    rows = rows.exponential_(generator=generator).clamp_(min=1e-12)
    for _ in range(BALANCING if law == "balanced" else 0):
        rows = rows / rows.sum(-2, keepdim=True)
        rows = rows / rows.sum(-1, keepdim=True)
    return rows / rows.sum(-1, keepdim=True)


def walk(
    chains: Float[Tensor, "batch k k"], length: int, generator: torch.Generator
) -> Int[Tensor, "batch length"]:
    """Draw a sequence of each chain; its first state is any of the k with equal probability."""
    batch, k, _ = chains.shape
    rows = torch.arange(batch)
    # (batch, k, k - 1); a draw above all of them leads to the last state
    thresholds = chains.cumsum(-1)[..., :-1]
    here = torch.randint(k, (batch,), generator=generator)
    states = [here]  # (batch,) each
    for u in torch.rand(length - 1, batch, 1, generator=generator, dtype=torch.float64).unbind():
        here = (u >= thresholds[rows, here]).sum(-1)
        states.append(here)
    return torch.stack(states, 1)


def sample(
    batch: int, length: int, k: int, law: str, generator: torch.Generator
) -> Int[Tensor, "batch length"]:
    """Draw sequences, each of a new chain of the law."""
    return walk(draw_chains(batch, k, law, generator), length, generator)


def predictions(tokens: Int[Tensor, "batch T"], k: int) -> dict[str, Float[Tensor, "batch T k"]]:
    """Return what each strategy predicts after every position, from the states up to it; by id,
    float64.

    uniform  every state with 1/k
    unigram  (n_j + 1) / (t + k): n_j times state j has occurred among the first t
    bigram   (n_ij + 1) / (n_i + k): n_ij times j has followed i, the state here. For "dirichlet"
             chains the posterior mean of the chain's row, and so the best possible predictor
             (Bayes)
    """
    states = torch.nn.functional.one_hot(tokens, k).double()  # (batch, T, k)
    t = torch.arange(1, tokens.shape[1] + 1)[:, None]
    pairs = states[:, :-1, :, None] * states[:, 1:, None, :]  # (batch, T - 1, k, k): from i to j
    # (batch, T, k, k); none after the first
    counts = torch.nn.functional.pad(pairs.cumsum(1), (0, 0, 0, 0, 1, 0))
    after = (counts * states[..., None]).sum(2)  # (batch, T, k): n_ij for the state i that is here
    return {
        "uniform": torch.full_like(states, 1 / k),
        "unigram": (states.cumsum(1) + 1) / (t + k),
        "bigram": (after + 1) / (after.sum(-1, keepdim=True) + k),
    }


def followers(tokens: Int[Tensor, "batch T"]) -> Tensor:
    """Return for each query the keys that come directly after an earlier occurrence of its state,
    [batch, query, key] bool: what an induction head looks at."""
    before = torch.nn.functional.pad(tokens[:, :-1], (1, 0), value=-1)  # the state before each key
    return (tokens[:, :, None] == before[:, None, :]).tril()


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
