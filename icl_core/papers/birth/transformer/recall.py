"""What the matrices of a trained model have stored, as Figure 10 probes it: recall of eq. 9, in the full transformer.

The paper says of them only that they "now involve embeddings that may change over time". Here queries and keys are
multiplied in place of a single W_K, and every vector is read under the layer norm that the model reads it through. Of
several heads the one that recalls most counts; for W_K2 the best pair of a head with one of layer 1, whose values and
output make the copy. W_O2 is that of all heads of layer 2 together.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from icl_core.papers.birth.shared.memories import memory_tokens
from icl_core.papers.birth.shared.probes import OVER, early_positions, recall
from icl_core.papers.birth.shared.task import Task
from icl_core.papers.birth.transformer.model import Weights, layers_of, read

PROBES = ("W_O2", "W_K2", "W_K1", "W_K1_early")


@torch.no_grad()
def recalls(weights: Weights, task: Task, heads: int) -> dict[str, float]:
    """`recall_` with each of `PROBES`, in [0, 1], of a model with two layers; none of others. The argmax runs over
    what it does in `shared.probes`; with fixed triggers W_K2's is a choice among K only."""
    if layers_of(weights) != 2:
        return {}
    early = early_positions(len(weights["P"])) - 1  # pairs among the first positions
    positions, characters = _looks_back(weights, heads), _matches(weights, task, heads)
    found = {
        "W_O2": recall(_says(weights), OVER["W_O2"]),
        "W_K2": max(recall(scores, OVER["W_K2"]) for scores in characters),
        "W_K1": max(recall(scores, OVER["W_K1"]) for scores in positions),
        "W_K1_early": max(recall(scores[:early, :early], OVER["W_K1"]) for scores in positions),
    }
    return {f"recall_{name}": value for name, value in found.items()}


def _looks_back(weights: Weights, heads: int) -> Float[Tensor, "H n n"]:
    """Of each head of layer 1, how strongly p_t as a query calls for p_{t-1} as a key (rows and columns: t)."""
    p = read(weights, weights["P"], "attention1")
    return _scores(weights, 1, p[1:], p[:-1], heads)


def _matches(weights: Weights, task: Task, heads: int) -> Float[Tensor, "pairs k k"]:
    """Of each head of layer 2 with each of layer 1, how strongly w_E(k) calls for the copy of w_E(k) made there."""
    w_E = weights["W_E"][memory_tokens(task).to(weights["W_E"].device)]
    copies = _written(weights, 1, read(weights, w_E, "attention1"), heads)  # (H, k, d)
    query = read(weights, w_E, "attention2")
    return torch.cat([_scores(weights, 2, query, read(weights, copy, "attention2"), heads) for copy in copies])


def _says(weights: Weights) -> Float[Tensor, "N N"]:
    """The logit of each output (rows) for each character that all heads of layer 2 attend to (columns)."""
    (written,) = _written(weights, 2, read(weights, weights["W_E"], "attention2"), 1)
    return weights["W_U"] @ read(weights, written, "out").T


def _scores(weights: Weights, layer: int, query: Tensor, key: Tensor, heads: int) -> Float[Tensor, "H n n"]:
    """(W_Q^h query_i)ᵀ (W_K^h key_j) of every head."""
    q, k = (
        (x @ weights[f"{name}{layer}"].T).unflatten(1, (heads, -1)).transpose(0, 1)  # (H, n, d/H)
        for name, x in (("W_Q", query), ("W_K", key))
    )
    return q @ k.mT


def _written(weights: Weights, layer: int, x: Float[Tensor, "n d"], heads: int) -> Float[Tensor, "H n d"]:
    """What every head writes where it attends to one vector alone."""
    values = (x @ weights[f"W_V{layer}"].T).unflatten(1, (heads, -1)).transpose(0, 1)  # (H, n, d/H)
    return values @ torch.stack(weights[f"W_O{layer}"].chunk(heads, 1)).mT
