"""A memory that gradient descent learns, as in Lemma 1, of random vectors that come up with Zipf's
frequencies."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

Pairs = Float[np.ndarray, "N"]


class Learned(NamedTuple):
    """Over the steps, the first before training."""

    # a_ii of eq. 6, read off W; without layer norm and from zero only
    strength: Float[np.ndarray, "steps N"]
    reading: Float[np.ndarray, "steps N"]  # v_i^T W u_i
    # whether each pair is recalled, 0 or 1: of several largest the first counts, all alike none.
    right: Float[np.ndarray, "steps N"]
    sure: Float[np.ndarray, "steps N"]  # the probability given to each pair's own output


def gradient(
    W: np.ndarray, U: np.ndarray, V: np.ndarray, often: Pairs, norm: bool
) -> tuple[Float[np.ndarray, "d d"], Float[np.ndarray, "N N"]]:
    """Return the gradient of the expected loss with respect to W, eq. 5 or with layer norm eq. 38;
    and the predictions, a row an input."""
    answer = U @ W.T
    length = np.linalg.norm(answer, axis=1, keepdims=True) if norm else 1.0
    unit = answer / length
    logits = unit @ V.T
    p = np.exp(logits - logits.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    back = often[:, None] * (p - np.eye(len(U))) @ V
    if norm:
        back = (back - unit * (unit * back).sum(1, keepdims=True)) / length
    return back.T @ U, p


def train(
    W: np.ndarray, U: np.ndarray, V: np.ndarray, often: Pairs, rate: float, steps: int, norm: bool
) -> Learned:
    """Run full-batch gradient descent from W, float64, and return what it learns.

    often  how often each pair comes up; their sum is 1
    rate   the learning rate
    norm   whether with layer norm
    """
    # strengths: outputs^T W inputs, if the pairs are independent; (d, N) each
    inputs = np.linalg.pinv(U)
    outputs = np.linalg.pinv(V)
    rows = []
    for _ in range(steps + 1):
        slope, p = gradient(W, U, V, often, norm)
        strength = ((outputs.T @ W) * inputs.T).sum(1)
        reading = ((U @ W.T) * V).sum(1)
        right = (p.argmax(1) == np.arange(len(U))) & (np.ptp(p, 1) > 0)  # all alike is no answer
        rows.append((strength, reading, right, p.diagonal()))
        W = W - rate * slope
    return Learned(*(np.array(column, float) for column in zip(*rows, strict=True)))


def one_step(often: Pairs, rate: float) -> Pairs:
    """Return the strengths after a single step from zero: eq. 5 with all predictions 1 / N."""
    return rate * often * (1 - 1 / len(often))


def without_cross_talk(often: Pairs, rate: float, step: int) -> Pairs:
    """Return the strengths if all embeddings were orthonormal and steps small: the right logit's
    lead g over the others solves (exp(g) - 1) / (N - 1) + g = rate p t N / (N - 1), and is shared
    among a pair's N strengths."""
    N = len(often)
    growth = rate * often * step * N / (N - 1)
    low = np.zeros(N)
    high = growth.copy()
    for _ in range(60):  # by bisection
        g = (low + high) / 2
        is_above = np.expm1(np.minimum(g, 700)) / (N - 1) + g > growth
        low = np.where(is_above, low, g)
        high = np.where(is_above, g, high)
    return (low + high) / 2 * (N - 1) / N


def half_at(often: Pairs, rate: float) -> Pairs:
    """Return the step at which each output is given probability one half, if there were no
    cross-talk: the lead is then ln (N − 1)."""
    N = len(often)
    return ((N - 2) / (N - 1) + np.log(N - 1)) * (N - 1) / N / (rate * often)


def learned_at(sure: Float[np.ndarray, "steps N"]) -> Pairs:
    """Return the step from which on each pair's own output is given at least one half, to the end;
    NaN if it is less in the end."""
    is_less = sure < 0.5
    first = len(sure) - is_less[::-1].argmax(0)  # the step after the last at which it is less
    return np.where(is_less[-1], np.nan, np.where(is_less.any(0), first, 0)).astype(float)
