"""Memory recall probes of the full transformer (Figure 10): the readings of its matrices on bare
embeddings.

    W_K1    the query of position t picks the key of position t - 1        (W_Q1 p_t)^T (W_K1 p_s)
    W_K2    the query of a character picks its copy made by layer 1        (W_Q2 w_E(k))^T (W_K2
            W_O1 W_V1 w_E(j))
    W_O2    the character that layer 2 attends to is the one it predicts   w_U(j)^T W_O2 W_V2 w_E(k)
    W_F     what the second feed-forward layer predicts of a character, against its bigrams

As in the authors' code, layer norm is left out and the embeddings are those of the step. Of several
heads, of which one looks back, the best one counts for W_K1 and W_K2; all together make the copy
and the output.
"""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from icl_core.papers.birth.shared.full.model import Weights, layers_of
from icl_core.papers.birth.shared.probes import divergence, early_positions, memory_tokens, recall
from icl_core.papers.birth.shared.task import Task

# whether a pair's reading is compared along its row or its column (`shared.probes.recalled`)
OVER = {"W_O2": "queries", "W_K2": "keys", "W_K1": "keys"}


@torch.no_grad()
def recalls(weights: Weights, task: Task, heads: int) -> dict[str, float]:
    """Return the recall of W_O2, W_K2, W_K1 and W_K1_early in [0, 1], and kl_W_F in nats if there
    is a feed-forward layer.

    Empty unless there are two layers: only then it is known what each matrix must store.
    """
    S = readings(weights, task, heads)
    if not S:
        return {}
    early = early_positions(task.T) - 1  # pairs among the early positions
    values = {name: _best(S[name], over) for name, over in OVER.items()}
    values["W_K1_early"] = _best(S["W_K1"][:, :early, :early], OVER["W_K1"])
    if "W_in2" in weights:
        characters = weights["W_E"]  # (N, d)
        hidden = F.relu(characters @ weights["W_in2"].T) @ weights["W_out2"].T  # (N, d)
        values["kl_W_F"] = divergence(hidden @ weights["W_U"].T, task)
    return values


@torch.no_grad()
def readings(weights: Weights, task: Task, heads: int) -> dict[str, Float[Tensor, "heads n n"]]:
    """Return the readings of W_O2 (all heads together, outputs are rows), W_K2 and W_K1 (of each
    head, queries are rows); nothing unless there are two layers."""
    if layers_of(weights) != 2:
        return {}
    characters = weights["W_E"]  # (N, d)
    positions = weights["P"]  # (T, d)
    queries = characters[memory_tokens(task).to(characters.device)]  # (n, d)
    copies = queries @ (weights["W_O1"] @ weights["W_V1"]).T  # (n, d)
    outputs = weights["W_U"] @ weights["W_O2"] @ weights["W_V2"] @ characters.T  # (N, N)
    return {
        "W_O2": outputs[None],
        "W_K2": scores(weights, 2, queries, copies, heads),
        "W_K1": scores(weights, 1, positions[1:], positions[:-1], heads),
    }


def scores(
    weights: Weights,
    layer: int,
    queries: Float[Tensor, "n d"],
    keys: Float[Tensor, "n d"],
    heads: int,
) -> Float[Tensor, "heads n n"]:
    """Return the scores of each head of a layer between every query (rows) and every key (columns),
    not divided by sqrt d_head."""

    def by_head(name: str, vectors: Float[Tensor, "n d"]) -> Float[Tensor, "heads n d_head"]:
        projected = vectors @ weights[f"{name}{layer}"].T  # (n, d)
        return projected.unflatten(1, (heads, -1)).transpose(0, 1)

    return by_head("W_Q", queries) @ by_head("W_K", keys).mT


def _best(S: Float[Tensor, "heads n n"], over: str) -> float:
    """Return the recall of the best head."""
    return max(recall(head, over) for head in S)
