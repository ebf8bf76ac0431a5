"""What single matrices have stored (Section 5): recall (eq. 9), its margin, and the divergence of
W_F (eq. 10).

Readings are v_j^T W u_i with v a query or output and u a key or input. Eq. 9 takes the argmax over
v. The authors' code does so for W_O2, but for W_K1 and W_K2 takes it over keys, which is what the
softmax does. The names without suffix are the code's; `_paper` is eq. 9's; `_weighted` weights
tokens by pi_u, closer to what the model uses; `_met` weights what W_O2 must write by how often it
must (`Task.written`). The paper's window of early positions, `W_K1_early`, leaves out the later
keys too; `W_K1_early_rows` and `_late_rows` ask early and late queries among all keys.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from icl_core.figures import visible_characters
from icl_core.papers.birth.shared.memories import memory, memory_tokens
from icl_core.papers.birth.shared.model import Weights
from icl_core.papers.birth.shared.task import Task

# what the argmax of a recall runs over, as in the authors' code
OVER = {"W_O2": "queries", "W_K2": "keys", "W_K1": "keys"}


class Scores(NamedTuple):
    """The readings of a memory, for a heatmap (Figure 7)."""

    matrix: Float[Tensor, "rows columns"]
    rows: list[str]  # characters as shown, or positions counted from 1 as in the paper
    columns: list[str]
    row_kind: str
    column_kind: str


def recall(S: Float[Tensor, "n n"], over: str, weight: Float[Tensor, "n"] | None = None) -> float:
    """Share of pairs i for which S[i, i] is the largest, `over` the "keys" of its row or the
    "queries" of its column; chance is 1 / n."""
    right = S.argmax(1 if over == "keys" else 0) == torch.arange(len(S), device=S.device)
    if weight is None:
        return float(right.double().mean())
    return float((right * weight).double().sum() / weight.double().sum())


def margin(S: Float[Tensor, "n n"], over: str) -> float:
    """Mean over pairs of the right reading less the best wrong one, in the units of S."""
    S = S if over == "keys" else S.T
    wrong = S.masked_fill(torch.eye(len(S), dtype=torch.bool, device=S.device), -torch.inf)
    return float((S.diagonal() - wrong.amax(1)).double().mean())


def early_positions(T: int) -> int:
    """How many positions count as early: 64 as in the paper, a quarter of T where that is no more
    than 64."""
    return 64 if T > 64 else max(2, T // 4)


def recalls(weights: Weights, task: Task) -> dict[str, float]:
    """The recall of W_O2, W_K2, W_K1 (all positions) and W_K1_early, in [0, 1], with suffixes and
    rows as above, and kl_W_F in nats if there is a W_F. With fixed triggers W_K2's is a choice
    among K only."""
    found, early = {}, early_positions(len(weights.P)) - 1  # pairs among the first positions
    for name, over in OVER.items():
        stored = memory(name, weights, task)
        S = stored.V @ weights[name] @ stored.U.T
        found |= _suffixed(name, S, over, None if name == "W_K1" else stored.weight)
        if name == "W_O2":
            found["W_O2_met"] = recall(S, over, task.written.to(S))
        if name == "W_K1":
            found |= _suffixed("W_K1_early", S[:early, :early], over, None)
            first = (torch.arange(len(S), device=S.device) < early).to(S)
            found |= {
                "W_K1_early_rows": recall(S, over, first),
                "W_K1_late_rows": recall(S, over, 1 - first),
            }
    return found if weights.W_F is None else {**found, "kl_W_F": kl_W_F(weights, task)}


def _suffixed(name: str, S: Tensor, over: str, weight: Tensor | None) -> dict[str, float]:
    found = {name: recall(S, over)}
    if weight is not None:
        found[f"{name}_weighted"] = recall(S, over, weight)
    return found | _suffixed(f"{name}_paper", S, "queries", weight) if over == "keys" else found


def kl_W_F(weights: Weights, task: Task) -> float:
    """How far what W_F alone says of each character is from its bigrams (eq. 10): `divergence` of
    W_U W_F w_E(k)."""
    assert weights.W_F is not None
    return divergence(weights.W_E @ weights.W_F.T @ weights.W_U.T, task)


def divergence(logits: Float[Tensor, "N N"], task: Task) -> float:
    """Mean over tokens, fixed triggers left out, of KL(pi_b(. | k) || softmax(logits[k])), in nats.
    Eq. 10 has it the other way round, which is infinite: two thirds of all bigrams never occur."""
    kept = torch.ones(task.N, dtype=torch.bool)
    if task.fixed_triggers is not None:
        kept[task.fixed_triggers] = False
    log_p = logits.double().cpu().log_softmax(-1)
    pi = task.bigram
    return float((torch.xlogy(pi, pi) - pi * log_p).sum(1)[kept].mean())


def memory_scores(name: str, weights: Weights, task: Task) -> Scores:
    """The readings of W_K1, W_K2, W_O2 or W_F on the vectors it stores, with labels. Raw, not
    divided by sqrt d."""
    stored = memory(name, weights, task)
    matrix = stored.V @ weights[name] @ stored.U.T
    if name == "W_K1":
        places = [str(t) for t in range(1, len(weights.P) + 1)]
        return Scores(
            matrix, places[1:], places[:-1], "position of the query", "position of the key"
        )
    tokens = memory_tokens(task).tolist() if name == "W_K2" else range(task.N)
    shown = visible_characters([task.characters[i] for i in tokens])
    kinds = ("query", "key, remapped by layer 1") if name == "W_K2" else ("output", "input")
    return Scores(matrix, shown, shown, *kinds)
