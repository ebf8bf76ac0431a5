"""The induction head constructed instead of learned (eqs. 7 and 8), with or without its
cross-talk: what is read of a memory beside what it stores.

Random vectors are only nearly orthogonal, so a reading v_j^T W u_i also picks up other pairs. These
are of two kinds: those of the memory itself, and the other vectors that share the residual stream.
A key of layer 2 holds w_E(z_s) + p_s + R1 w_E(z_{s-1}) + R1 p_{s-1}, of which W_K2 wants one part.
Recall sees the first kind only.
"""

import math
from collections.abc import Collection

import torch
from jaxtyping import Float
from torch import Tensor

from icl_core.papers.birth.shared.model import TRAINED, Weights
from icl_core.papers.birth.shared.probes import Memory, memory, superposition
from icl_core.papers.birth.shared.task import Task


def without_cross_talk(stored: Memory) -> Float[Tensor, "d d"]:
    """Return the smallest W whose readings V W U^T equal the target. They are exact if the vectors
    on either side are linearly independent (so at most d), else nearest in least squares."""
    V = stored.V.double()  # (rows, d)
    U = stored.U.double()  # (columns, d)
    target = stored.target.double()  # (rows, columns)
    W = torch.linalg.pinv(V) @ target @ torch.linalg.pinv(U).T  # (d, d)
    return W.to(stored.V.dtype)


def least_cross_talk(
    stored: Memory, v_noise: Float[Tensor, "d d"], u_noise: Float[Tensor, "d d"], ridge: float = 1.0
) -> Float[Tensor, "d d"]:
    """Return the W that reads each stored pair as one, v_i^T W u_i = 1, and all else as little as
    possible: it minimises E (y^T W y')^2, where y and y' have the second moments v_noise and
    u_noise (see `noise`). It is a beamformer of minimum variance, for matrices.

    The minimum is W = v_noise^-1 (sum_i a_i v_i u_i^T) u_noise^-1, where the readings fix the a_i.

    `ridge` adds that many mean squares to the noise in every direction, for what the moments leave
    out. With none, the memory leans on directions that are empty only in the ideal case (accuracy
    .03 at d = 128). From 0.1 to 3 it matters little. The limit of a large ridge is eq. 7 with its
    diagonal made exact. The target must be the identity.
    """
    V = stored.V.double()  # (n, d)
    U = stored.U.double()  # (n, d)

    def whitened(X: Tensor, moments: Tensor) -> Float[Tensor, "d n"]:
        if not moments.any():  # of zero vectors
            return torch.zeros_like(X.T)
        eye = torch.eye(len(moments), dtype=moments.dtype, device=moments.device)
        return torch.linalg.solve(moments + ridge * moments.diagonal().mean() * eye, X.T)

    v = whitened(V, v_noise)  # (d, n)
    u = whitened(U, u_noise)  # (d, n)
    readings = (V @ v) * (U @ u)  # (n, n), [i, j]: what pair i reads of v_j u_j^T
    ones = readings.new_ones(len(V))
    if int(torch.linalg.matrix_rank(readings)) == len(V):
        amount = torch.linalg.solve(readings, ones)  # (n)
    else:  # as of two equal vectors: the smallest amounts that come nearest
        amount = torch.linalg.pinv(readings) @ ones  # (n)
    return ((v * amount) @ u.T).to(stored.V.dtype)  # (d, d)


def interference(name: str, weights: Weights, task: Task) -> float:
    """Return the root mean square of what a memory reads from the streams it meets, over its mean
    reading of a stored pair.

    Each pair is counted as often as it is met, since training gives rare characters weaker
    memories.
    """
    W = weights[name].double()
    stored = memory(name, weights, task)
    queries, keys = noise(name, weights, task)
    readings = ((stored.V.double() @ W) * stored.U.double()).sum(1)  # (rows): of the stored pairs
    matching = readings @ stored.weight.double() / stored.weight.sum()
    return float(torch.trace(queries @ W @ keys @ W.T).clamp(min=0).sqrt() / matching.abs())


def noise(
    name: str, weights: Weights, task: Task
) -> tuple[Float[Tensor, "d d"], Float[Tensor, "d d"]]:
    """Return the second moments, float64, of all that a memory is read with: of queries or outputs,
    and of keys or inputs.

    A stream holds w_E(z_t) + p_t, and after layer 1, which is taken to attend to the previous
    position, also R1 (w_E(z_{t-1}) + p_{t-1}). The parts are taken to be independent. What the
    softmax cannot see is left out: the mean over keys for W_K1 and W_K2, over outputs for W_O2 and
    W_F.
    """
    W_E = weights.W_E.double()  # (N, d)
    P = weights.P.double()  # (T, d)
    R1 = weights.R1.double().T
    # the laws with which a part takes each of its vectors
    unigram = task.unigram.to(W_E)  # (N)
    even_places = P.new_full((len(P),), 1 / len(P))  # (T)
    even_tokens = unigram.new_full((task.N,), 1 / task.N)  # (N)
    x = [(W_E, unigram), (P, even_places)]
    h = [*x, (W_E @ R1, unigram), (P @ R1, even_places)]
    if name in ("W_K1", "W_K2"):
        parts = x if name == "W_K1" else h
        return _second_moments(parts, centred=False), _second_moments(parts, centred=True)
    outputs = _second_moments([(weights.W_U.double(), even_tokens)], centred=True)
    if name == "W_F":
        return outputs, _second_moments(h, centred=False)
    V2 = weights.V2.double().T
    inputs = [(X @ V2, law) for X, law in h]
    # the character that layer 2 attends to is an output, drawn from pi_o
    inputs[0] = (inputs[0][0], unigram @ task.output_law.to(unigram))
    return outputs, _second_moments(inputs, centred=False)


def _second_moments(parts: list[tuple[Tensor, Tensor]], centred: bool) -> Float[Tensor, "d d"]:
    """Return E y y^T of a sum y of independently drawn rows, one of each part, or its covariance if
    `centred`. A part is its rows [n, d] and their probabilities [n]."""
    mean = sum(law @ X for X, law in parts)  # (d)
    covariance = sum(X.T @ (law[:, None] * X) - torch.outer(law @ X, law @ X) for X, law in parts)
    assert isinstance(mean, Tensor) and isinstance(covariance, Tensor)
    return covariance if centred else covariance + torch.outer(mean, mean)


CROSS_TALK = ("kept", "within", "stream")


def construct(
    weights: Weights,
    task: Task,
    logit: float = 15.0,
    output_scale: float = 10.0,
    cross_talk: str = "kept",
    cleaned: Collection[str] = TRAINED,
) -> Weights:
    """Return the weights with W_K1, W_K2, W_O2, and W_F if the model has one, replaced by
    constructed ones.

    logit         attention logit of a matching pair, after the division by sqrt d; 10 to 20 is
                  sharp
    output_scale  logit of the attended token; above a few it outweighs the stream's noise, at about
                  10 also W_F, whose own scale is that of log pi_b
    cross_talk    "kept": eqs. 7 and 8. "within": readings among the memory's own vectors are made
                  exact. "stream": every pair is read as one, and everything that shares the streams
                  as little as possible (not for W_F)
    cleaned       the matrices to which `cross_talk` applies; the others keep theirs

    A matrix that single precision cannot hold, since its vectors are so short, is zero.
    Raises `ValueError` for an unknown `cross_talk`.
    """
    if cross_talk not in CROSS_TALK:
        raise ValueError(f"cross_talk must be one of {', '.join(CROSS_TALK)}, got {cross_talk!r}")
    attention = logit * math.sqrt(weights.d)
    scale = {"W_K1": attention, "W_K2": attention, "W_O2": output_scale, "W_F": 1.0}
    matrices = {}
    for name in weights.trained():
        stored = memory(name, weights, task)
        method = cross_talk if name in cleaned else "kept"
        if method == "within":
            W = without_cross_talk(stored)
        elif method == "stream" and name != "W_F":
            W = least_cross_talk(stored, *noise(name, weights, task))
        else:
            W = superposition(stored)
        matrix = scale[name] * W  # (d, d)
        matrices[name] = matrix if matrix.isfinite().all() else torch.zeros_like(W)
    return weights.with_(**matrices)
