"""Methods where Σ is known and where every prompt is rotated: rotations are sampled outright, and
the floors are no worse than any other fixed steps."""

import numpy as np
import pytest
import torch

from icl_core import registry
from icl_core.contract.experiment import Run
from icl_core.contract.knobs import BadSetting
from icl_core.in_context_regression import untrained
from icl_core.in_context_regression.home import Home, error, sample
from icl_core.in_context_regression.learner_table import BY_ID
from icl_core.papers.learners.rotation.run import CASES, compute
from icl_core.papers.learners.rotation.settings import Config, View
from tests.recorder import Recorder


@pytest.fixture(scope="module")
def run():
    config = Config(d=3, n=8, layers=3, prompts=12)
    return Run(config, compute(config, Recorder()))


def test_rotating_every_prompt_changes_nothing_for_plain_steps():
    """The case is computed in the eigenbasis of each prompt. Here prompts are rotated, and steps
    taken as they come."""
    shares = []
    for rotated in (False, True):
        home = Home(3, 8, 0.0, "uneven", rotated, "white")
        prompts = sample(home, 4000, torch.Generator().manual_seed(0))
        learned = untrained.weights(BY_ID["gd"], prompts, {"rate": 0.4}, home, 3, every=False)[0]
        losses = error(learned, prompts)
        shares.append((float(losses.mean()), float(losses.std()) / len(losses) ** 0.5))
    (first, first_error), (second, second_error) = shares
    assert abs(first - second) < 4 * np.hypot(first_error, second_error)


def test_nothing_fixed_is_below_its_floor(run):
    for case in CASES:
        floor, error_of_floor = run[f"share/floor/{case}"].T
        descent, _ = run[f"share/descent/{case}"].T
        assert (descent >= floor - 3 * error_of_floor).all()
        assert (np.diff(floor) < 0).all()
        assert run[f"share/conjugate/{case}"][3, 0] < 1e-9  # d = 3 steps
        # one step of either is the same step
        assert descent[1] == pytest.approx(floor[1], rel=1e-6)


def test_polynomials_begin_at_zero(run):
    for case in CASES:
        assert np.abs(run[f"polynomial/{case}"][:, 0]).max() < 1e-9


def test_with_equal_directions_nothing_is_lost():
    config = Config(d=3, n=8, layers=2, prompts=10, covariance="isotropic")
    run = Run(config, compute(config, Recorder()))
    rotated, fixed = (run[f"share/floor/{case}"][:, 0] for case in ("rotated", "fixed"))
    np.testing.assert_allclose(rotated, fixed, rtol=1e-9)


def test_a_run_is_measured_and_drawn(run):
    experiment = registry.experiment("learners.rotation")
    assert experiment.metrics(run)
    for layer in (1, 3):
        view = View(layer=layer)
        assert experiment.headline(run, view)
        for drawing in experiment.drawings:
            drawing.panel(run, view)


def test_singular_prompts_are_refused():
    with pytest.raises(BadSetting, match="n must be at least d"):
        Config(d=5, n=4)
