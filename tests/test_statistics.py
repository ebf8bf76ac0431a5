"""Means over seeds and first crossings agree with the same computed another way."""

import numpy as np
import pytest

from icl_core.contract.run import Run
from icl_core.contract.statistics import (
    first_crossing,
    mean_and_error,
    median_and_error,
    median_interval,
    standard_error,
)


def test_the_standard_error_is_that_of_the_sample():
    values = np.array([1.0, 2.0, 4.0, 9.0])
    deviations = values - values.mean()
    assert standard_error(values) == pytest.approx((deviations @ deviations / 3 / 4) ** 0.5)
    assert mean_and_error(values) == (4.0, standard_error(values))


@pytest.mark.parametrize(("count", "smallest"), [(6, 1), (10, 2), (50, 18)])
def test_the_medians_interval_is_that_of_the_binomial(count, smallest):
    """Ends by the tables of the sign test; that many fair coins fall below with 2.5 % or less."""
    values = np.random.default_rng(3).permutation(count) + 1.0
    assert median_interval(values) == (smallest, count + 1 - smallest)
    coins = np.random.default_rng(4).binomial(count, 0.5, 100_000)
    assert 2 * np.mean(coins < smallest) <= 0.052 < 2 * np.mean(coins <= smallest)


def test_a_median_is_decided_as_its_interval_decides_it():
    values = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 20.0])
    assert median_interval(values) == (1.0, 20.0)
    assert median_and_error(values, 0.0) == (4.0, pytest.approx(3 / 1.96))
    assert median_and_error(values, 9.0) == (4.0, pytest.approx(16 / 1.96))
    assert median_interval(values[:5]) is None and median_and_error(values[:5], 0.0) == (3.0, None)


def test_a_single_seed_has_no_standard_error():
    assert standard_error(np.array([3.0])) is None
    assert mean_and_error(np.array([3.0])) == (3.0, None)


def test_a_level_is_crossed_on_the_line_between_two_evaluations():
    steps = np.array([0, 10, 30])
    assert first_crossing(steps, np.array([0.0, 0.4, 0.8]), 0.5) == pytest.approx(15)
    assert first_crossing(steps, np.array([0.5, 0.0, 0.8]), 0.5) == 0
    assert first_crossing(steps, np.array([0.0, np.nan, 0.1]), 0.5) == np.inf
    assert first_crossing(steps, -np.array([1.0, 0.6, 0.2]), -0.4) == pytest.approx(20)


def test_a_views_step_is_that_of_its_snapshot_or_of_the_last():
    class View:
        snapshot = 1

    run = Run(None, {"snapshot/step": np.array([0, 5, 20])})
    assert run.step(View()) == 5
    View.snapshot = 31
    assert run.step(View()) == 20
