"""Memories of pairs (u_i, v_i) in the forms of Appendix D, and which pairs they recall. Vectors are
rows: asked with u_i, a row of U, a memory answers W u_i, a row.

    full        W = sum_i a_i v_i u_i^T
    factorised  W = d / (2 d') A B,  A = A_0 + sum_i v_i (B_0 u_i)^T,  B = B_0 + sum_i (A_0^T v_i)
                u_i^T
    heads       A and B cut into narrow ones, A = [A_1 … A_H], W the sum of their products
    layer norm  W u / |W u|
    MLP         sum_i v_i relu(k_i^T x - b)

And the random vectors that they are of: what becomes of their inner products, and how often each of
several pairs comes up. The random numbers of a pair do not depend on how many pairs are drawn:
fewer pairs are the first of more.
"""

import math

import numpy as np
from jaxtyping import Bool, Float, Int

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


Vectors = Float[np.ndarray, "P d"]
Asked = Float[np.ndarray, "asked d"]
Matrix = Float[np.ndarray, "d d"]
Factors = tuple[Float[np.ndarray, "d r"], Float[np.ndarray, "r d"]]


def full(U: Vectors, V: Vectors, strengths: Float[np.ndarray, "P"] | None = None) -> Matrix:
    """Return the sum of outer products v_i u_i^T, each times its strength, if they have any."""
    return (V if strengths is None else V * strengths[:, None]).T @ U


def factorised(U: Vectors, V: Vectors, rank: int, seed: int) -> Factors:
    """Return the paper's A and B of inner width `rank`, from random A_0 and B_0 that depend on the
    seed and the width."""
    d = U.shape[1]
    A0 = gaussian((d, rank), d, seed, d, STARTS, rank)
    B0 = gaussian((rank, d), d, seed, d, STARTS, rank, 1)
    return A0 + V.T @ (U @ B0.T), B0 + (V @ A0).T @ U


def product(factors: Factors) -> Matrix:
    """Return the memory W of two factors, scaled so that a stored pair's reading is about 1."""
    A, B = factors
    return np.float32(A.shape[0] / (2 * A.shape[1])) * (A @ B)


def best_factors(W: Matrix) -> tuple[Matrix, Matrix]:
    """Return factors whose first r columns and r rows make the matrix of rank r nearest to W, for
    every r."""
    left, values, right = np.linalg.svd(W)
    return left * values, right


def shared_heads(U: Vectors, V: Vectors, heads: int, seed: int) -> list[Factors]:
    """Return heads of width d / heads that each store every pair: slices of one factorised
    memory."""
    d = U.shape[1]
    A, B = factorised(U, V, d, seed)
    return [(A[:, part], B[part]) for part in np.array_split(np.arange(d), heads)]


def split_heads(U: Vectors, V: Vectors, heads: int, seed: int) -> list[Factors]:
    """Return heads of width d / heads that each store a share of the pairs of their own."""
    d = U.shape[1]
    return [
        factorised(U[h::heads], V[h::heads], d // heads, 1000 * (h + 1) + seed)
        for h in range(heads)
    ]


def answers_of_heads(heads: list[Factors], asked: Asked) -> Float[np.ndarray, "heads asked d"]:
    """Return the answer of each head; the memory's answer is their sum."""
    return np.stack([asked @ B.T @ A.T for A, B in heads])


def mlp(asked: Asked, keys: Vectors, values: Vectors, threshold: float) -> Asked:
    """Return the answers of an MLP with one hidden unit a pair, zero below the threshold."""
    return np.maximum(asked @ keys.T - np.float32(threshold), 0) @ values


def normed(answers: Asked) -> Asked:
    """Return the answers scaled to length 1, Appendix D's layer norm; zero stays zero."""
    return answers / np.maximum(np.linalg.norm(answers, axis=-1, keepdims=True), 1e-12)


def right(answers: Asked, V: Vectors, asked: Int[np.ndarray, "asked"]) -> Bool[np.ndarray, "asked"]:
    """Return whether the output nearest to each answer is its pair's.

    This is not the rule of `shared/accuracy.py`: an answer of zero is wrong, and of several outputs
    that are nearest the first counts. Pairs may be asked several times or not at all.
    """
    return ((answers @ V.T).argmax(-1) == asked) & (answers != 0).any(-1)
