"""A curve that falls is told from one that only shakes, and from one that never began to fall."""

import numpy as np
import pytest

from icl_core.contract.statistics import last_fall, on_plateau, still_falling


def curves(slope: float, noise: float, seeds: int, points: int = 200) -> np.ndarray:
    rng = np.random.default_rng(5)
    return 1 - slope * np.arange(points) / points + noise * rng.normal(size=(seeds, points))


@pytest.mark.parametrize("seeds", [1, 4])
def test_the_fall_of_a_line_is_a_tenth_of_it(seeds):
    fall, error = last_fall(curves(0.5, 0.0, seeds))
    assert fall == pytest.approx(0.5 * 19 / 200)
    assert error == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("seeds", [1, 5])
def test_noise_alone_does_not_fall(seeds):
    assert not still_falling(curves(0.0, 0.1, seeds))


@pytest.mark.parametrize("seeds", [1, 5])
def test_a_fall_beyond_its_error_is_told_unless_it_is_too_small_to_matter(seeds):
    falling = curves(1.0, 0.01, seeds)
    sentence = still_falling(falling)
    assert "still falling: by 0.09" in sentence or "still falling: by 0.1" in sentence
    assert not still_falling(falling, matters=0.2)


def test_a_rising_or_short_curve_is_not_falling():
    assert not still_falling(curves(-1.0, 0.01, 3))
    assert not still_falling(np.array([[3.0, 2.0, 1.0]]))


def test_one_in_twenty_shaking_curves_at_most_seems_to_fall():
    rng = np.random.default_rng(1)
    falls = [bool(still_falling(rng.normal(size=(1, 300)))) for _ in range(400)]
    assert sum(falls) / len(falls) < 0.05


def test_a_plateau_counts_the_seeds_that_are_on_it():
    falling = np.linspace(1, 0.2, 50)
    constant = np.full(50, 0.995)
    sentence = on_plateau(np.stack([falling, constant, constant]), 1.0)
    assert sentence == "2 of 3 seeds had not left the plateau at 1."
    assert not on_plateau(np.stack([falling, falling]), 1.0)
    assert on_plateau(np.full((1, 50), 0.985), 1.0) and not on_plateau(np.full((1, 50), 0.975), 1.0)


def test_a_curve_at_uneven_steps_falls_as_the_same_line_at_even_ones():
    steps = np.concatenate([np.arange(0, 100, 5), np.arange(100, 1001, 10)])
    line = 1 - 0.5 * steps / 1000
    fall, error = last_fall(np.stack([line, line]), steps)
    assert fall == pytest.approx(0.5 * 90 / 1000) and error == pytest.approx(0, abs=1e-9)
    sentence = still_falling(line, steps=steps)
    assert "0.045 ± " in sentence and "last tenth" in sentence
    few = np.array([0, 100, 200, 400, 600, 800, 1000.0])
    # of five points, which span more than a tenth
    assert last_fall(1 - few / 1000, few)[0] == pytest.approx(0.1)
    assert "too rarely" in still_falling(1 - few / 1000, steps=few)


def test_a_plateau_at_uneven_steps_is_judged_by_the_last_tenth_of_the_training():
    steps = np.array([0, 1, 2, 5, 10, 20, 50, 100, 500, 950, 1000])
    late = np.where(steps < 900, 1.0, 0.2)
    assert not on_plateau(late, 1.0, steps=steps) and on_plateau(late[:-2], 1.0, steps=steps[:-2])
