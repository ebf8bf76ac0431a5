"""One prompt and every learner: pairs that visitors type, prompts off home, awkward prompts, and
what is drawn of them."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from icl_core import registry
from icl_core.contract.experiment import CannotDraw
from icl_core.contract.knobs import BadSetting
from icl_core.in_context_regression.recent_learners import EVERY, RECENT
from icl_core.papers.learners.prompt import load_run
from icl_core.papers.learners.prompt import run as run_module
from icl_core.papers.learners.prompt.draw import STYLES
from icl_core.papers.learners.prompt.run import compute
from icl_core.papers.learners.prompt.settings import GROUPS, MEMBERS, Config, View
from icl_core.papers.learners.prompt.words import off_home
from icl_core.papers.learners.shared import references, typed_points
from tests.recorder import short_run


@pytest.fixture(scope="module", autouse=True)
def few_prompts():
    """Few prompts to tune, test and leave home on: what is tested here does not need more."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("TUNED_ON", "TESTED_ON", "BROKEN_ON"):
            patch.setattr(run_module, name, 24)
        yield


@pytest.fixture(scope="module")
def two(few_prompts):
    return short_run(compute, Config(n=6))


def test_every_learner_is_drawn_somewhere():
    ids = set(EVERY)
    assert STYLES.keys() == ids
    assert GROUPS.keys() == MEMBERS.keys()
    assert set().union(*MEMBERS.values()) == ids
    assert len(set(STYLES.values())) == len(STYLES)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 2", "x before the colon"),
        ("1 2: x", "x before the colon"),
        ("1 2: 3; 1: 3", "as many features"),
        ("1 2: 2000", "from -1,000 to 1,000"),
        ("nan 1: 2", "x before the colon"),
        ("; ".join(["1: 1"] * 65), "at most 64"),
    ],
)
def test_pairs_that_are_none_are_refused(text, message):
    with pytest.raises(BadSetting, match=message):
        View(points=text)


def test_pairs_are_read():
    assert typed_points.pairs("0.5 1: 2; -1/2, 0: -1.4") == [((0.5, 1.0), 2.0), ((-0.5, 0.0), -1.4)]
    assert typed_points.pairs(" ; ") == []


@pytest.mark.long
def test_own_pairs_take_the_place_of_the_prompt(two):
    view = View(points="1 0: 2; 0 1: -1; 1 1: 1")
    prompt = load_run.shown(two, view)
    np.testing.assert_allclose(prompt.w, [2, -1], atol=1e-12)
    np.testing.assert_allclose(prompt.learned["squares"][-1], [2, -1], atol=1e-10)
    assert load_run.pairs_read(two, view) == 3
    assert "home has 6" in off_home(two, view)


@pytest.mark.long
def test_pairs_of_another_size_are_a_sentence(two):
    with pytest.raises(CannotDraw, match="must have 2 features"):
        load_run.shown(two, View(points="1: 2"))


@pytest.fixture(scope="module")
def recent(few_prompts):
    return short_run(compute, Config(d=3, n=4, covariance="uneven", recent=True, reach=3))


def test_recent_rules_are_measured_beside_the_others(recent, two):
    """They are in a run that asks for them alone, and change nothing of the others."""
    assert set(recent.names("learners")) - set(two.names("learners")) == set(RECENT)
    plain = short_run(compute, replace(recent.config, recent=False))
    assert plain.config.reach == Config().reach
    np.testing.assert_array_equal(
        plain["lengths/share"], recent["lengths/share"][: len(plain.names("learners"))]
    )
    assert len(load_run.settings_of(recent, "rwkv7")["rates"]) == 3
    assert load_run.settings_of(recent, "ttt")["reach"] == 3
    assert recent["solver/share"].shape == (3,)
    assert recent["solver/share"][-1] == pytest.approx(recent["solver/bayes"][0], rel=0.05)
    assert (np.diff(recent["solver/share"]) < 0).all()


def test_mesas_answers_are_compared_on_the_same_queries(recent):
    """It is no farther from least squares than both are from w*, and nobody is far from itself."""
    distance = recent["who/distance"]
    np.testing.assert_allclose(distance, distance.T, atol=1e-12)
    assert not distance.diagonal().any()
    mesa, recursive = (load_run.place(recent, id) for id in ("mesa", "recursive"))
    sum_ = load_run.place(recent, "sum")
    assert distance[mesa, recursive] < distance[mesa, sum_]


@pytest.mark.parametrize("text", ["", "1 1 1: 1", "0 0 0: 5; 0 0 0: -5"])
def test_recent_rules_are_drawn(recent, text):
    experiment = registry.experiment("learners.prompt")
    for snapshot in (0, len(recent.snapshot_steps) - 1):
        view = View(points=text, group="recent", snapshot=snapshot)
        for drawing in experiment.drawings:
            drawing.panel(recent, view)
        assert experiment.headline(recent, view)
    assert {metric.claim.id for metric in experiment.metrics(recent)} >= {
        "recent-rules-without-order"
    }


AWKWARD = (
    "1 1: 1",
    "1 1: 1; 1 1: 1; 1 1: 1",  # all x are equal
    "0 0: 0",
    "0 0: 5; 0 0: -5",
    "1000 -1000: 1000; 0.001 0: -1000",
    "1 0: 0; 0 1: 0",  # w* is zero
)


@pytest.mark.parametrize("text", AWKWARD)
@pytest.mark.parametrize("group", GROUPS)
def test_awkward_pairs_are_drawn(two, text, group):
    experiment = registry.experiment("learners.prompt")
    for snapshot in (0, len(two.snapshot_steps) - 1):
        view = View(points=text, group=group, snapshot=snapshot)
        for drawing in experiment.drawings:
            if drawing.applies(two.config):
                drawing.panel(two, view)
        assert experiment.headline(two, view)


@pytest.mark.long
@pytest.mark.parametrize(
    "config",
    [
        Config(d=1, n=1),
        Config(d=8, n=2, noise=0.0, rotated=True),
        Config(d=3, n=4, noise=0.0, covariance="uneven", target="inverse"),
    ],
    ids=str,
)
def test_extreme_homes_are_measured_and_drawn(config):
    run = short_run(compute, config)
    experiment = registry.experiment("learners.prompt")
    metrics = {metric.claim.id: metric for metric in experiment.metrics(run)}
    assert metrics["bayes-is-least"].value >= -1e-9
    for changed in ("scale", "noise", "condition", "length"):
        for drawing in experiment.drawings:
            if drawing.applies(config):
                drawing.panel(run, View(changed=changed))


@pytest.mark.long
def test_a_larger_x_keeps_the_target(two):
    small, large = (load_run.shown(two, View(scale=scale)) for scale in (1.0, 2.0))
    np.testing.assert_allclose(large.w, small.w)
    np.testing.assert_allclose(large.x, 2 * small.x)
    noise = [prompt.y - prompt.x @ prompt.w for prompt in (small, large)]
    np.testing.assert_allclose(noise[0], noise[1], atol=1e-12)
    assert "2 times" in off_home(two, View(scale=2.0))
    # a sum of y x is quadratic in x
    run = short_run(compute, replace(two.config, noise=0.0))
    one, four = (load_run.shown(run, View(scale=scale)).learned["sum"] for scale in (1.0, 2.0))
    np.testing.assert_allclose(four, 4 * one, rtol=1e-9)


def test_streams_of_prompts_are_different_ones():
    firsts = {
        tuple(torch.rand(4, generator=references.stream(number, seed)).tolist())
        for number in range(15)
        for seed in (0, 1, 99_999)
    }
    assert len(firsts) == 45
