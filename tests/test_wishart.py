"""The exact floor of fixed steps against routes that share none of its code: Monte Carlo on another
pool, the eigenvalues' joint density (de Bruijn's Pfaffian), chi-square moments."""

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from math import comb, factorial, log

import pytest
import torch

from icl_core.in_context_regression import (
    evaluate,
    exact_floors,
    exact_moments,
    expected_loss,
    grams,
)
from icl_core.in_context_regression.solvers import mean_and_error
from icl_core.in_context_regression.wishart import moments

DEEPEST = 10
Matrix = list[list[Fraction]]


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def determinant(matrix: Matrix) -> Fraction:
    """By elimination; every leading minor of the matrices here is positive, or rows are swapped."""
    rows = [list(row) for row in matrix]
    product = Fraction(1)
    for i in range(len(rows)):
        pivot = next(j for j in range(i, len(rows)) if rows[j][i])
        if pivot != i:
            rows[i], rows[pivot] = rows[pivot], rows[i]
            product = -product
        product *= rows[i][i]
        for j in range(i + 1, len(rows)):
            factor = rows[j][i] / rows[i][i]
            rows[j] = [own - factor * above for own, above in zip(rows[j], rows[i], strict=True)]
    return product


def inverse(matrix: Matrix) -> Matrix:
    size = len(matrix)
    rows = [[*row, *(Fraction(i == j) for j in range(size))] for i, row in enumerate(matrix)]
    for i in range(size):
        pivot = next(j for j in range(i, size) if rows[j][i])
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [value / rows[i][i] for value in rows[i]]
        for j in range(size):
            if j != i:
                factor = rows[j][i]
                rows[j] = [
                    own - factor * above for own, above in zip(rows[j], rows[i], strict=True)
                ]
    return [row[size:] for row in rows]


def in_order(p: int, q: int) -> Fraction:
    """The integral of sgn(y - x) x^p y^q exp(-(x + y) / 2) over the quadrant."""
    # With u = x / (x + y) it is Γ(p + q + 2) 2^(p + q + 2) ∫ ± u^p (1 - u)^q du, + below one half.
    below = Fraction(0)
    whole = Fraction(0)
    for i in range(q + 1):
        part = Fraction((-1) ** i * comb(q, i), p + i + 1)
        below += part / 2 ** (p + i + 1)
        whole += part
    return factorial(p + q + 1) * 2 ** (p + q + 2) * (2 * below - whole)


def by_density(d: int, n: int, highest: int) -> list[Fraction]:
    """E tr S^k for k = 0..highest from the eigenvalues' joint density, the product of
    x_i^((n - d - 1) / 2) exp(-x_i / 2) and |x_i - x_j|: by de Bruijn the mean of a product over
    eigenvalues is a Pfaffian, and its derivative the mean of a sum."""
    power = (n - d - 1) // 2
    assert 2 * power == n - d - 1, "the exponent is a whole number for this n only"

    def form(entry: Callable[[int, int], Fraction], border: Callable[[int], Fraction]) -> Matrix:
        rows = [[entry(j + power, k + power) for k in range(d)] for j in range(d)]
        if d % 2:
            edge = [border(j + power) for j in range(d)]
            rows = [[*row, own] for row, own in zip(rows, edge, strict=True)]
            rows.append([*(-own for own in edge), Fraction(0)])
        return rows

    def single(p: int) -> Fraction:
        return Fraction(factorial(p) * 2 ** (p + 1))

    inverted = inverse(form(in_order, single))
    powers: list[Fraction] = []
    for k in range(highest + 1):
        slope = form(
            lambda p, q, k=k: in_order(p + k, q) + in_order(p, q + k),
            lambda p, k=k: single(p + k),
        )
        size = range(len(slope))
        trace = sum((inverted[i][j] * slope[j][i] for i in size for j in size), Fraction(0))
        powers.append(trace / 2 / Fraction(n) ** k)
    return powers


@pytest.mark.parametrize(("d", "n"), [(2, 5), (3, 6), (4, 9), (5, 20), (10, 21)])
def test_moments_are_those_of_the_eigenvalues_density(d, n):
    assert list(moments(d, n, 2 * DEEPEST)) == by_density(d, n, 2 * DEEPEST)


def test_moments_of_one_dimension_are_those_of_chi_square():
    expected = [Fraction(1)]
    product = Fraction(1)
    for k in range(20):
        product *= Fraction(7 + 2 * k, 7)
        expected.append(product)
    assert list(moments(1, 7, 20)) == expected


def test_rows_and_columns_of_the_examples_can_change_places():
    for k, (wide, tall) in enumerate(zip(moments(3, 8, 12), moments(8, 3, 12), strict=True)):
        if k:  # tr (U U^T)^k = tr (U^T U)^k
            assert wide * 8**k == tall * 3**k


@pytest.mark.parametrize(("d", "n", "highest"), [(0, 5, 2), (5, 0, 2), (5, 5, -1)])
def test_moments_refuse_what_has_none(d, n, highest):
    with pytest.raises(ValueError, match="got"):
        moments(d, n, highest)


@pytest.mark.parametrize(("d", "n"), [(5, 20), (10, 21)])
def test_floors_beyond_four_layers_are_those_of_the_density(d, n):
    m = by_density(d, n, 2 * DEEPEST)
    for floor, layers in zip(exact_floors(d, n, range(1, 11)), range(1, 11), strict=True):
        # The least m_0 + 2 c^T m + c^T H c is a ratio of Hankel determinants.
        whole = [[m[j + k] for k in range(layers + 1)] for j in range(layers + 1)]
        inner = [[m[j + k] for k in range(1, layers + 1)] for j in range(1, layers + 1)]
        assert floor.loss == pytest.approx(float(determinant(whole) / determinant(inner)), rel=1e-6)
        assert floor.error == 0.0


@pytest.mark.long
@pytest.mark.parametrize(("d", "n"), [(5, 20), (10, 20), (5, 3)])
def test_up_to_four_layers_another_pool_agrees(d, n):
    S = grams(d, n, 2**16, generator(5), torch.float64)
    for floor in exact_floors(d, n, range(5)):
        mean, error = mean_and_error(expected_loss(evaluate(floor, S), None))
        assert float(mean) == pytest.approx(floor.loss, abs=4 * float(error) + 1e-9)


@pytest.mark.parametrize(("d", "n"), [(2, 2), (5, 20), (20, 100), (20, 2)])
def test_no_other_polynomial_is_better_and_the_roots_are_the_layers(d, n):
    form = exact_moments(d, n, DEEPEST)
    source = generator(1)
    for degree, floor in enumerate(exact_floors(d, n, range(DEEPEST + 1))):
        assert not floor.roots.is_complex() and (floor.roots > 0).all()
        c = torch.zeros(DEEPEST + 1, dtype=torch.float64)
        c[: degree + 1] = floor.coefficients
        assert float(c @ form.G @ c) == pytest.approx(floor.loss, rel=1e-6)
        b = torch.ones(DEEPEST + 1, dtype=torch.float64)
        b[1::2] = -1  # T_k at S = 0
        assert float(b @ c) == pytest.approx(1.0, abs=1e-8)
        step = torch.randn(DEEPEST + 1, generator=source, dtype=torch.float64)
        step[degree + 1 :] = 0
        step = step - b * (b[: degree + 1] @ step[: degree + 1]) / (degree + 1)
        step[degree + 1 :] = 0
        other = c + 1e-3 * step  # p(0) = 1 still
        assert float(other @ form.G @ other) >= floor.loss * (1 - 1e-9)


def test_the_printed_floors_of_the_standard_task():
    logs = [log(floor.loss) for floor in exact_floors(5, 20, range(1, 6))]
    assert logs == pytest.approx([0.1431, -1.0182, -2.0128, -2.9013, -3.6977], abs=1e-4)


def test_with_noise_the_floor_of_many_layers_is_ridge():
    d = 5
    n = 20
    noise = Fraction(4)
    S = grams(d, n, 2**16, generator(3), torch.float64)
    share = float(noise) / n
    eigenvalues = torch.linalg.eigvalsh(S.permute(2, 0, 1))
    ridge, error = mean_and_error((share / (eigenvalues + share)).sum(1))
    floors = [floor.loss for floor in exact_floors(d, n, range(1, 9), noise)]
    assert all(after < before for before, after in pairwise(floors))
    assert floors[-1] == pytest.approx(float(ridge), abs=4 * float(error) + 1e-3)
    assert floors[-1] > float(ridge) - 4 * float(error)
    assert exact_floors(d, n, [4])[0].loss < floors[3]
