"""A memory that gradient descent learns, as in Lemma 1, of random vectors that come up with Zipf's frequencies."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

Pairs = Float[np.ndarray, "N"]


class Learned(NamedTuple):
    """Over the steps, the first before training."""

    strength: Float[np.ndarray, "steps N"]  # a_ii of eq. 6, read off W; without layer norm and from zero only
    reading: Float[np.ndarray, "steps N"]  # v_i^T W u_i
    right: Float[np.ndarray, "steps N"]  # whether each pair is recalled


def gradient(
    W: np.ndarray, U: np.ndarray, V: np.ndarray, often: Pairs, norm: bool
) -> tuple[Float[np.ndarray, "d d"], Float[np.ndarray, "N N"]]:
    """Of the expected loss with respect to W, eq. 5 or with layer norm eq. 38; and the logits, a row an input."""
    answer = U @ W.T
    length = np.linalg.norm(answer, axis=1, keepdims=True) if norm else 1.0
    unit = answer / length
    logits = unit @ V.T
    p = np.exp(logits - logits.max(1, keepdims=True))
    back = often[:, None] * (p / p.sum(1, keepdims=True) - np.eye(len(U))) @ V
    if norm:
        back = (back - unit * (unit * back).sum(1, keepdims=True)) / length
    return back.T @ U, logits


def train(W: np.ndarray, U: np.ndarray, V: np.ndarray, often: Pairs, rate: float, steps: int, norm: bool) -> Learned:
    """Full-batch gradient descent from W, float64."""
    inputs, outputs = (
        np.linalg.pinv(U),
        np.linalg.pinv(V),
    )  # strengths: outputs^T W inputs, if the pairs are independent
    rows = []
    for _ in range(steps + 1):
        slope, logits = gradient(W, U, V, often, norm)
        strength = ((outputs.T @ W) * inputs.T).sum(1)
        reading = ((U @ W.T) * V).sum(1)
        right = (logits.argmax(1) == np.arange(len(U))) & (np.ptp(logits, 1) > 0)  # all alike is no answer
        rows.append((strength, reading, right))
        W = W - rate * slope
    return Learned(*(np.array(column, float) for column in zip(*rows, strict=True)))


def one_step(often: Pairs, rate: float) -> Pairs:
    """The strengths after a single step from zero: eq. 5 with all predictions 1 / N."""
    return rate * often * (1 - 1 / len(often))


def without_cross_talk(often: Pairs, rate: float, step: float) -> Pairs:
    """The strengths if all embeddings were orthonormal and steps small: the right logit's lead g over the others solves
    (exp(g) - 1) / (N - 1) + g = rate p t N / (N - 1), and is shared among a pair's N strengths."""
    N, grown = len(often), rate * often * step * len(often) / (len(often) - 1)
    low, high = np.zeros(N), grown.copy()
    for _ in range(60):
        g = (low + high) / 2
        above = np.expm1(np.minimum(g, 700)) / (N - 1) + g > grown
        low, high = np.where(above, low, g), np.where(above, g, high)
    return (low + high) / 2 * (N - 1) / N


def learned_at(right: Float[np.ndarray, "steps N"]) -> Pairs:
    """The step from which on each pair is recalled to the end; NaN if it is not in the end."""
    wrong = right < 0.5
    last = len(right) - wrong[::-1].argmax(0)  # the step after the last at which it is wrong
    return np.where(wrong[-1], np.nan, np.where(wrong.any(0), last, 0)).astype(float)
