"""Memory recall probes of the full transformer (Figure 10): what its matrices answer, asked with
bare embeddings.

    W_K1    the query of position t picks the key of position t - 1        (W_Q1 p_t)^T (W_K1 p_s)
    W_K2    the query of a character picks its copy made by layer 1        (W_Q2 w_E(k))^T (W_K2
            W_O1 W_V1 w_E(j))
    W_O2    the character that layer 2 attends to is the one it says       w_U(j)^T W_O2 W_V2 w_E(k)
    W_F     what the second feed-forward layer says of a character, against its bigrams

As in the authors' code, layer norm is left out and the embeddings are those of the step. Of several
heads, of which one looks back, the best one counts for W_K1 and W_K2; all together make the copy
and say the output.
"""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from icl_core.papers.birth.shared.full.model import Weights, layers_of
from icl_core.papers.birth.shared.memories import memory_tokens
from icl_core.papers.birth.shared.probes import divergence, early_positions, recall
from icl_core.papers.birth.shared.task import Task


@torch.no_grad()
def recalls(weights: Weights, task: Task, heads: int) -> dict[str, float]:
    """The recall of W_O2, W_K2, W_K1 and W_K1_early in [0, 1], and kl_W_F in nats if there is a
    feed-forward layer. Nothing but for two layers, of which alone it is known what must be stored
    where."""
    if layers_of(weights) != 2:
        return {}
    characters, positions, early = weights["W_E"], weights["P"], early_positions(task.T) - 1
    asked = characters[memory_tokens(task).to(characters.device)]  # (n, d)
    copies = asked @ (weights["W_O1"] @ weights["W_V1"]).T  # (n, d)
    back = scores(weights, 1, positions[1:], positions[:-1], heads)
    said = (
        weights["W_U"] @ weights["W_O2"] @ weights["W_V2"] @ characters.T
    )  # (N, N), outputs are rows
    found = {
        "W_O2": recall(said, "queries"),
        "W_K2": _best(scores(weights, 2, asked, copies, heads)),
        "W_K1": _best(back),
        "W_K1_early": _best(back[:, :early, :early]),
    }
    if "W_in2" not in weights:
        return found
    hidden = F.relu(characters @ weights["W_in2"].T) @ weights["W_out2"].T  # (N, d)
    return {**found, "kl_W_F": divergence(hidden @ weights["W_U"].T, task)}


def scores(
    weights: Weights,
    layer: int,
    queries: Float[Tensor, "n d"],
    keys: Float[Tensor, "n d"],
    heads: int,
) -> Float[Tensor, "heads n n"]:
    """How each head of a layer matches every query (rows) with every key (columns); not divided by
    the square root."""
    q, k = (
        (each @ weights[f"{name}{layer}"].T)
        .unflatten(1, (heads, -1))
        .transpose(0, 1)  # (heads, n, d/H)
        for name, each in (("W_Q", queries), ("W_K", keys))
    )
    return q @ k.mT


def _best(scores: Float[Tensor, "heads n n"]) -> float:
    return max(recall(each, "keys") for each in scores)
