"""Random vectors and what becomes of their inner products; how often each of several pairs comes
up. Rows are vectors.

The random numbers of a pair do not depend on how many pairs are drawn: fewer pairs are the first of
more.
"""

import math

import numpy as np
from jaxtyping import Float

# what is drawn, each with random numbers of its own
INPUTS = 1
OUTPUTS = 2
MAPS = 3
STARTS = 4
AT_ONCE = 64  # vectors that share one random matrix


def gaussian(shape: tuple[int, ...], d: int, *which: int) -> np.ndarray:
    """Return Gaussian numbers of variance 1 / d, float32; `which` seeds them."""
    numbers = np.random.default_rng(which).standard_normal(shape, np.float32)
    return numbers / np.float32(math.sqrt(d))


def pairs(
    count: int, d: int, seed: int
) -> tuple[Float[np.ndarray, "P d"], Float[np.ndarray, "P d"]]:
    """Return inputs u_i and outputs v_i of `count` pairs, entries N(0, 1/d)."""
    return gaussian((count, d), d, seed, d, INPUTS), gaussian((count, d), d, seed, d, OUTPUTS)


def near(count: int, d: int, seed: int) -> dict[str, Float[np.ndarray, "count"]]:
    """Return inner products of `count` pairs of random vectors u, v and a random matrix W, and
    norms:

    independent  u^T v
    remapped     u^T W u: a vector and its own remapping
    other        v^T W u: another vector and the remapping
    norm, norm_remapped  |u| and |W u|
    """
    u, v = pairs(count, d, seed)
    blocks = []
    for first in range(0, count, AT_ONCE):
        W = gaussian((d, d), d, seed, d, MAPS, first)
        blocks.append(u[first : first + AT_ONCE] @ W.T)  # (AT_ONCE, d)
    Wu = np.concatenate(blocks)  # (count, d)
    return {
        "independent": (u * v).sum(1), "remapped": (u * Wu).sum(1), "other": (v * Wu).sum(1),
        "norm": np.linalg.norm(u, axis=1), "norm_remapped": np.linalg.norm(Wu, axis=1),
    }  # fmt: skip


def zipf(count: int, exponent: float) -> Float[np.ndarray, "count"]:
    """Return how often the pair of each rank comes up, the most frequent first; their sum is 1."""
    often = np.arange(1, count + 1, dtype=float) ** -exponent
    return often / often.sum()
