"""What the matrices are to store (eqs. 7 and 8), in the orientation of `model.py`.

A memory W = sum_i v_i u_i^T is read with v_j^T W u_i: v are queries or outputs, u keys or inputs.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

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
