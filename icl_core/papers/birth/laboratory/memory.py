"""Memories of pairs (u_i, v_i) in the forms of Appendix D, and what they recall. Rows are vectors:
asked with u_i, a row of U, a memory answers W u_i, a row.

    full        W = sum_i a_i v_i u_i^T
    factorised  W = d / (2 d') A B,  A = A_0 + sum_i v_i (B_0 u_i)^T,  B = B_0 + sum_i (A_0^T v_i)
                u_i^T
    heads       A and B cut into narrow ones, A = [A_1 … A_H], W the sum of their products
    layer norm  W u / |W u|
    MLP         sum_i v_i relu(k_i^T x - b)
"""

import numpy as np
from jaxtyping import Bool, Float, Int

from icl_core.papers.birth.laboratory.vectors import STARTS, gaussian

Vectors = Float[np.ndarray, "P d"]
Asked = Float[np.ndarray, "asked d"]
Matrix = Float[np.ndarray, "d d"]
Factors = tuple[Float[np.ndarray, "d r"], Float[np.ndarray, "r d"]]


def full(U: Vectors, V: Vectors, strengths: Float[np.ndarray, "P"] | None = None) -> Matrix:
    """The sum of outer products, each times its strength."""
    return (V if strengths is None else V * strengths[:, None]).T @ U


def factorised(U: Vectors, V: Vectors, rank: int, seed: int) -> Factors:
    """The paper's A and B of inner width `rank`, from random ones; what `seed` and the
    width draw."""
    d = U.shape[1]
    A0, B0 = (
        gaussian((d, rank), d, seed, d, STARTS, rank),
        gaussian((rank, d), d, seed, d, STARTS, rank, 1),
    )
    return A0 + V.T @ (U @ B0.T), B0 + (V @ A0).T @ U


def product(factors: Factors) -> Matrix:
    """The memory that two factors make, so scaled that it answers a stored pair with about 1."""
    A, B = factors
    return np.float32(A.shape[0] / (2 * A.shape[1])) * (A @ B)


def best_factors(W: Matrix) -> tuple[Matrix, Matrix]:
    """Factors of which the first r columns and rows make the matrix of rank r that is
    nearest to W."""
    left, values, right = np.linalg.svd(W)
    return left * values, right


def shared_heads(U: Vectors, V: Vectors, heads: int, seed: int) -> list[Factors]:
    """Heads of width d / heads, each of which stores every pair: slices of one
    factorised memory."""
    d = U.shape[1]
    A, B = factorised(U, V, d, seed)
    return [(A[:, part], B[part]) for part in np.array_split(np.arange(d), heads)]


def split_heads(U: Vectors, V: Vectors, heads: int, seed: int) -> list[Factors]:
    """Heads of width d / heads, each of which stores its own share of the pairs."""
    d = U.shape[1]
    return [
        factorised(U[h::heads], V[h::heads], d // heads, 1000 * (h + 1) + seed)
        for h in range(heads)
    ]


def answers_of_heads(heads: list[Factors], asked: Asked) -> Float[np.ndarray, "heads asked d"]:
    """What each head answers; a memory of several is their sum."""
    return np.stack([asked @ B.T @ A.T for A, B in heads])


def mlp(asked: Asked, keys: Vectors, values: Vectors, threshold: float) -> Asked:
    """A hidden unit a pair, silent below the threshold."""
    return np.maximum(asked @ keys.T - np.float32(threshold), 0) @ values


def normed(answers: Asked) -> Asked:
    """Layer norm as Appendix D has it: to length 1. Nothing stays nothing."""
    return answers / np.maximum(np.linalg.norm(answers, axis=-1, keepdims=True), 1e-12)


def right(answers: Asked, V: Vectors, asked: Int[np.ndarray, "asked"]) -> Bool[np.ndarray, "asked"]:
    """Whether the output nearest to each answer is its pair's; an answer of nothing is wrong."""
    return ((answers @ V.T).argmax(-1) == asked) & (answers != 0).any(-1)
