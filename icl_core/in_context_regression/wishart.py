"""The floor of fixed steps, exactly: moments of the Wishart distribution and the best polynomial.

A prompt of n examples u_i ~ N(0, I_d) has S = U U^T / n, so n S is a Wishart matrix. A method whose
L layers share one preconditioner, Sigma^-1, leaves the error p(S) w* with a polynomial p of degree
L and p(0) = 1. With S whitened its expected loss is E tr p(S)^2, a quadratic form in the moments
E tr S^k, k = 0..2 L. These are rational numbers. All is computed in rational arithmetic, so it does
not matter that the moments span twenty orders of magnitude and that their matrix is nearly
singular. A mean over sampled prompts does not come near: at ten layers a few prompts of 400,000
hold a third of it.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from math import isqrt

import numpy as np
import torch

from icl_core.in_context_regression.polynomial import Moments, Polynomial, roots_of

Row = list[Fraction]


@lru_cache(maxsize=16)
def moments(d: int, n: int, highest: int) -> tuple[Fraction, ...]:
    """Return E tr S^k for k = 0..`highest`, S = U U^T / n with U [d, n] standard normal.

    The trace of a power is a sum of zonal polynomials, whose means over Wishart matrices are known
    (James, 1964; the coefficients are those of Jack polynomials with alpha = 2 in Macdonald's
    normalisation). Only partitions without the cell (3, 2) take part. Raises `ValueError` unless
    d, n >= 1 and `highest` >= 0.
    """
    if min(d, n) < 1 or highest < 0:
        raise ValueError(f"d and n must be at least 1 and highest 0, got {d}, {n}, {highest}")
    powers = [Fraction(d)]
    for k in range(1, highest + 1):
        total = sum((_term(partition, d, n) for partition in _partitions(k)), Fraction(0))
        powers.append(2 * k * total / Fraction(n) ** k)
    return tuple(powers)


def _partitions(k: int) -> Iterator[tuple[int, ...]]:
    """Yield the partitions (a, b, 1, .., 1) of k, a >= b: those without the cell (3, 2)."""
    for first in range(1, k + 1):
        rest = k - first
        if rest == 0:
            yield (first,)
        for second in range(1, min(first, rest) + 1):
            yield (first, second, *[1] * (rest - second))


def _term(partition: tuple[int, ...], d: int, n: int) -> Fraction:
    """Return the partition's part of E tr (U U^T)^k / (2 k): a product over its cells (i, j)."""
    numerator = 1
    denominator = 1
    for i, length in enumerate(partition):
        for j in range(length):
            below = sum(other > j for other in partition[i + 1 :])  # the cell's leg
            beside = length - j - 1  # its arm
            content = 2 * j - i
            if (i, j) != (0, 0):
                numerator *= content
            numerator *= (d + content) * (n + content)
            denominator *= (2 * beside + below + 1) * (2 * beside + below + 2)
    return Fraction(numerator, denominator)


def exact_floors(
    d: int, n: int, degrees: Sequence[int], noise: Fraction = Fraction(0)
) -> list[Polynomial]:
    """Return for each degree the polynomial p with p(0) = 1 that has the least expected loss over
    all prompts, in whitened coordinates; the `error` of its loss is 0.

    With labels y_i = <w*, x_i> + e_i, e_i ~ N(0, `noise`), the error of w_L also holds
    q(S) U e / n, p(z) = 1 - z q(z), and the expected loss is

        E tr p(S)^2 + noise / n E tr S q(S)^2.

    In the coefficients b_j of q(z) = sum_j b_j z^(j - 1), j = 1..L, this is m_0 - 2 b^T m + b^T H b
    with H_jk = m_(j + k) + noise / n m_(j + k - 1): the best b solves H b = m.
    """
    largest = max(degrees)
    m = moments(d, n, 2 * largest)
    high = _upper_end(d, n)
    polynomials: list[Polynomial] = []
    for degree in degrees:
        b = _solve(_form(m, degree, noise / n), list(m[1 : degree + 1]))
        explained = sum(own * power for own, power in zip(b, m[1:], strict=False))  # b^T m
        monomials = [Fraction(1), *(-own for own in b)]
        coefficients = torch.tensor(_chebyshev(monomials, high), dtype=torch.float64)
        roots = roots_of(coefficients, float(high))
        polynomials.append(
            Polynomial(float(m[0] - explained), 0.0, coefficients, roots, float(high))
        )
    return polynomials


def exact_moments(d: int, n: int, degree: int) -> Moments:
    """Return the quadratic form G of `polynomial` over all whitened prompts without noise."""
    m = moments(d, n, 2 * degree)
    high = _upper_end(d, n)
    # Column k of T holds the monomials of T_k(2 z / high - 1); G = T^T H T with H_jk = m_(j + k).
    T = _monomials(degree, high)
    size = range(degree + 1)
    G = np.zeros((degree + 1, degree + 1))
    for j in size:
        for k in size:
            terms = (T[j][a] * T[k][b] * m[a + b] for a in size for b in size)
            G[j, k] = float(sum(terms, Fraction(0)))
    return Moments(torch.from_numpy(G), float(high))


def _form(m: Sequence[Fraction], degree: int, share: Fraction) -> list[Row]:
    """Return H [degree, degree], H_jk = m_(j + k) + share m_(j + k - 1) for j, k = 1..degree."""
    size = range(1, degree + 1)
    return [[m[j + k] + share * m[j + k - 1] for k in size] for j in size]


def _solve(H: list[Row], right: Row) -> Row:
    """Return H^-1 right by Gauss and Jordan; H is positive definite, so no pivot is zero."""
    rows = [[*row, value] for row, value in zip(H, right, strict=True)]
    for i, pivot_row in enumerate(rows):
        pivot = pivot_row[i]
        rows[i] = [value / pivot for value in pivot_row]
        for j, row in enumerate(rows):
            if j != i and row[i]:
                factor = row[i]
                rows[j] = [
                    own - factor * of_pivot for own, of_pivot in zip(row, rows[i], strict=True)
                ]
    return [row[-1] for row in rows]


def _upper_end(d: int, n: int) -> Fraction:
    """Return (1 + sqrt(d / n))^2 to an eighth: where the eigenvalues of large S end. Any interval
    that holds most eigenvalues makes a good basis."""
    root = Fraction(isqrt(4096 * d // n), 64)
    return Fraction(round(8 * (1 + root) ** 2), 8)


def _chebyshev(monomials: Sequence[Fraction], high: Fraction) -> list[float]:
    """Return the coefficients of T_k(2 z / high - 1) of a polynomial in z, by Horner's rule."""
    size = len(monomials)
    result = [Fraction(0)] * size
    for coefficient in reversed(monomials):
        result = _times_z(result, high)
        result[0] += coefficient
    return [float(value) for value in result]


def _times_z(series: Row, high: Fraction) -> Row:
    """Return z times a Chebyshev series of the same length: z = high (1 + x) / 2 and
    x T_k = (T_{k + 1} + T_{|k - 1|}) / 2. The last coefficient of `series` must be zero."""
    product = [high / 2 * value for value in series]
    for k, value in enumerate(series):
        for neighbour in (k + 1, abs(k - 1)):
            if neighbour < len(series):
                product[neighbour] += high / 4 * value
    return product


def _monomials(degree: int, high: Fraction) -> list[Row]:
    """Return the coefficients of T_0..T_degree of 2 z / high - 1 by powers of z, [degree + 1,
    degree + 1]."""
    one = [Fraction(1)] + [Fraction(0)] * degree
    first = [Fraction(-1), 2 / high, *[Fraction(0)] * (degree - 1)]
    rows = [one, first[: degree + 1]]
    for _ in range(degree - 1):
        shifted = [Fraction(0), *rows[-1][:-1]]  # z T_k
        rows.append(
            [
                4 / high * moved - 2 * own - before
                for moved, own, before in zip(shifted, rows[-1], rows[-2], strict=True)
            ]
        )
    return rows[: degree + 1]
