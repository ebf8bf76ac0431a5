"""Means over seeds and first crossings agree with the same computed another way."""

import numpy as np
import pytest

from icl_core.contract.run import Run
from icl_core.statistics.crossing import first_crossing
from icl_core.statistics.over_seeds import mean_and_error, standard_error


def test_the_standard_error_is_that_of_the_sample():
    values = np.array([1.0, 2.0, 4.0, 9.0])
    deviations = values - values.mean()
    assert standard_error(values) == pytest.approx((deviations @ deviations / 3 / 4) ** 0.5)
    assert mean_and_error(values) == (4.0, standard_error(values))


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
