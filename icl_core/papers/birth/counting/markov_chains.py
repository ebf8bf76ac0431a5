"""Sequences of random Markov chains, each from a chain of its own, and the three ways to predict
them by counting."""

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
