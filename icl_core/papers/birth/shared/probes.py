"""What the matrices are to store (eqs. 7 and 8), in the orientation of `model.py`, and what they
have stored (Section 5): recall (eq. 9), its margin, and the divergence of W_F (eq. 10).

A memory W = sum_i v_i u_i^T is read with v_j^T W u_i. Readings are v_j^T W u_i with v a query or
output and u a key or input. Eq. 9 takes the argmax over v. The authors' code does so for W_O2, but
for W_K1 and W_K2 takes it over keys, which is what the softmax does. The names without suffix are
the code's; `_paper` is eq. 9's; `_weighted` weights tokens by pi_u, closer to what the model uses;
`_met` weights what W_O2 must write by how often it must (`Task.written`). The paper's window of
early positions, `W_K1_early`, leaves out the later keys too; `W_K1_early_rows` and `_late_rows` ask
early and late queries among all keys.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from icl_core.figures import visible_characters
from icl_core.papers.birth.shared.accuracy import hits
from icl_core.papers.birth.shared.model import Weights
from icl_core.papers.birth.shared.task import Task

# replaces smaller probabilities, since eq. 8 takes the logarithm of zeros
FLOOR = 1e-3


class Memory(NamedTuple):
    """The readings V W U^T that a memory should give. Rows v are queries or outputs, columns u are
    keys or inputs. `weight` is how often each pair is met, for weighted recall: pi_u, or uniform
    for positions."""

    V: Float[Tensor, "rows d"]
    U: Float[Tensor, "columns d"]
    target: Float[Tensor, "rows columns"]
    weight: Float[Tensor, "rows"]


def memory_tokens(task: Task) -> Int[Tensor, "k"]:
    """Return the tokens that W_K2 stores: the triggers if they are fixed, else all that may be one
    (eq. 7)."""
    return task.fixed_triggers if task.fixed_triggers is not None else torch.arange(task.N)


def memory(name: str, weights: Weights, task: Task) -> Memory:
    """Return the pairs of eqs. 7 and 8 that W_K1, W_K2, W_O2 or W_F is to store. For all but W_F
    the target is the identity. Raises `ValueError` for another name."""
    W_E = weights.W_E
    P = weights.P
    unigram = task.unigram.to(W_E)  # (N)
    if name == "W_K1":  # query p_t, key p_{t-1}
        V = P[1:]
        U = P[:-1]
        weight = P.new_full((len(P) - 1,), 1 / len(P))
    elif name == "W_K2":  # query w_E(k), key R1 w_E(k)
        k = memory_tokens(task).to(W_E.device)
        V = W_E[k]
        U = W_E[k] @ weights.R1.T
        weight = unigram[k]
    elif name == "W_O2":  # input V2 w_E(k), output w_U(k)
        V = weights.W_U
        U = W_E @ weights.V2.T
        weight = unigram
    elif name == "W_F":  # input w_E(i), output w_U(j)
        return Memory(weights.W_U, W_E, log_bigram(task).to(W_E), unigram)
    else:
        raise ValueError(f"name must be W_K1, W_K2, W_O2 or W_F, got {name!r}")
    return Memory(V, U, torch.eye(len(V)).to(V), weight)


def log_bigram(task: Task) -> Float[Tensor, "N N"]:
    """Return log pi_b(j | i) at [j, i], with probabilities of at least FLOOR.

    Each input's mean over outputs is removed, which the softmax cannot see. The result is zero for
    fixed triggers, whose successor only the context knows.
    """
    log = task.bigram.clamp(min=FLOOR).log()  # (N, N), inputs are rows
    log = log - log.mean(1, keepdim=True)
    if task.fixed_triggers is not None:
        log[task.fixed_triggers] = 0.0
    return log.T.contiguous()


def superposition(stored: Memory) -> Float[Tensor, "d d"]:
    """Return the sum of the outer products target_ji v_j u_i^T, divided by the mean squared norms,
    so that a reading is about its target whatever the scale of the embeddings is.

    It is zero if there is nothing to store: where all v or all u are zero.
    """
    norms = stored.V.square().sum(1).mean() * stored.U.square().sum(1).mean()
    if not 0 < norms < torch.inf and norms.dtype != torch.float64:  # beyond single precision
        double = Memory(*(tensor.double() for tensor in stored))
        return superposition(double).to(stored.V.dtype)
    return stored.V.T @ stored.target @ stored.U / norms.where(norms > 0, 1.0)


# what the argmax of a recall runs over, as in the authors' code
OVER = {"W_O2": "queries", "W_K2": "keys", "W_K1": "keys"}


class Scores(NamedTuple):
    """The readings of a memory, for a heatmap (Figure 7)."""

    matrix: Float[Tensor, "rows columns"]
    rows: list[str]  # characters as shown, or positions counted from 1 as in the paper
    columns: list[str]
    row_kind: str
    column_kind: str


def recalled(S: Float[Tensor, "*m n n"], over: str) -> Float[Tensor, "*m n"]:
    """Return for each pair i whether its reading S[i, i] is the largest, `over` the "keys" of its
    row or the "queries" of its column: 1, 0, or between them where several are (`hits`). `S` is one
    memory's readings or those of several."""
    return hits(S if over == "keys" else S.mT, torch.arange(S.shape[-1], device=S.device))


def recall(S: Float[Tensor, "n n"], over: str, weight: Float[Tensor, "n"] | None = None) -> float:
    """Return the share of pairs that are `recalled`, or of their `weight`; chance is 1 / n."""
    right = recalled(S, over)
    if weight is None:
        return float(right.double().mean())
    return float((right * weight).double().sum() / weight.double().sum())


def margin(S: Float[Tensor, "n n"], over: str) -> float:
    """Return the mean over pairs of the right reading minus the best wrong one, in units of S."""
    S = S if over == "keys" else S.T  # (n, n): compare along rows
    wrong = S.masked_fill(torch.eye(len(S), dtype=torch.bool, device=S.device), -torch.inf)
    return float((S.diagonal() - wrong.amax(1)).double().mean())


def early_positions(T: int) -> int:
    """Return how many positions count as early: 64 as in the paper; a quarter of T, but at least 2,
    where T is at most 64."""
    return 64 if T > 64 else max(2, T // 4)


def recalls(weights: Weights, task: Task) -> dict[str, float]:
    """Return the recall of W_O2, W_K2, W_K1 (all positions) and W_K1_early, in [0, 1], with the
    suffixes and rows of the module's docstring, and kl_W_F in nats if there is a W_F.

    With fixed triggers W_K2's recall is a choice among K only.
    """
    values: dict[str, float] = {}
    early = early_positions(len(weights.P)) - 1  # pairs among the early positions
    for name, over in OVER.items():
        stored = memory(name, weights, task)
        S = stored.V @ weights[name] @ stored.U.T  # (n, n), queries or outputs are rows
        values |= _suffixed(name, S, over, None if name == "W_K1" else stored.weight)
        if name == "W_O2":
            values["W_O2_met"] = recall(S, over, task.written.to(S))
        if name == "W_K1":
            values |= _suffixed("W_K1_early", S[:early, :early], over, None)
            is_early = (torch.arange(len(S), device=S.device) < early).to(S)  # (n,), 0 or 1
            values["W_K1_early_rows"] = recall(S, over, is_early)
            values["W_K1_late_rows"] = recall(S, over, 1 - is_early)
    if weights.W_F is not None:
        values["kl_W_F"] = kl_W_F(weights, task)
    return values


def _suffixed(name: str, S: Tensor, over: str, weight: Tensor | None) -> dict[str, float]:
    """Return a memory's recall under its name, with the suffix `_weighted` if there is a weight,
    and both as eq. 9 has them with `_paper` if the code's are another choice."""
    values = {name: recall(S, over)}
    if weight is not None:
        values[f"{name}_weighted"] = recall(S, over, weight)
    if over == "keys":
        values |= _suffixed(f"{name}_paper", S, "queries", weight)
    return values


def kl_W_F(weights: Weights, task: Task) -> float:
    """Return how far W_F alone is from each character's bigrams (eq. 10): the `divergence` of
    W_U W_F w_E(k)."""
    assert weights.W_F is not None
    return divergence(weights.W_E @ weights.W_F.T @ weights.W_U.T, task)


def divergence(logits: Float[Tensor, "N N"], task: Task) -> float:
    """Return the mean over tokens of KL(pi_b(. | k) || softmax(logits[k])) in nats, fixed triggers
    left out.

    Eq. 10 has it the other way round, which is infinite: two thirds of all bigrams never occur.
    """
    counted = torch.ones(task.N, dtype=torch.bool)
    if task.fixed_triggers is not None:
        counted[task.fixed_triggers] = False
    log_p = logits.double().cpu().log_softmax(-1)
    pi = task.bigram
    return float((torch.xlogy(pi, pi) - pi * log_p).sum(1)[counted].mean())


def memory_scores(name: str, weights: Weights, task: Task) -> Scores:
    """Return the readings of W_K1, W_K2, W_O2 or W_F on the vectors it stores, with labels. They
    are not divided by sqrt d."""
    stored = memory(name, weights, task)
    matrix = stored.V @ weights[name] @ stored.U.T  # (rows, columns)
    if name == "W_K1":
        positions = [str(t) for t in range(1, len(weights.P) + 1)]
        return Scores(
            matrix, positions[1:], positions[:-1], "position of the query", "position of the key"
        )
    tokens = memory_tokens(task).tolist() if name == "W_K2" else range(task.N)
    labels = visible_characters([task.characters[i] for i in tokens])
    kinds = ("query", "key, after layer 1") if name == "W_K2" else ("output", "input")
    return Scores(matrix, labels, labels, *kinds)
