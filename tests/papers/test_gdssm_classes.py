"""Classes in context: the step on the cross-entropy by automatic differentiation, and the
trainings."""

import math

import numpy as np
import pytest
import torch

from icl_core.contract.experiment import Run
from icl_core.contract.knobs import BadSetting
from icl_core.papers.gdssm import classes
from icl_core.papers.gdssm.classes import train
from icl_core.papers.gdssm.classes.settings import Config, View
from icl_core.papers.gdssm.shared import any_layer as models
from tests.drawn import without_nan
from tests.recorder import short_run

CONFIG = Config(f=4, N=5, K=3, batch=16, steps=10, seeds=2)


@pytest.fixture(autouse=True, scope="module")
def few():
    """Few tasks to evaluate on."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(train, "TEST_SET", 2**10)
        patch.setattr(train, "WATCHED", 2**8)
        yield


def tasks_of(count: int):
    return train.sample(CONFIG, count, torch.Generator().manual_seed(5))


def test_labels_are_one_hot_and_every_class_is_as_likely():
    y = tasks_of(4000).y
    assert y.shape == (6, 3, 4000)
    assert ((y == 0) | (y == 1)).all() and (y.sum(1) == 1).all()
    torch.testing.assert_close(y.mean((0, 2)), torch.full((3,), 1 / 3), atol=0.02, rtol=0)


def test_the_construction_is_a_step_on_the_cross_entropy():
    """By automatic differentiation at W = 0, up to one number in all outputs: equal
    probabilities, equal loss."""
    tasks = tasks_of(20)
    rate = 1.7
    W = torch.zeros(3, 4, 20, requires_grad=True)
    logits = torch.einsum("kft,nft->nkt", W, tasks.x[:-1])
    loss = -(logits.log_softmax(1) * tasks.y[:-1]).sum() / 5
    (gradient,) = torch.autograd.grad(loss, W)
    stepped = torch.einsum("kft,ft->kt", -rate * gradient, tasks.x[-1])
    torch.testing.assert_close(rate * train.step_logits(tasks, centred=True), stepped)
    built = train.construct(CONFIG, tasks).with_(beta=torch.full((1,), rate / 5))
    ours = models.predict(built, tasks)[0]
    torch.testing.assert_close(ours.softmax(0), stepped.softmax(0))
    label = tasks.y[-1]
    loss = train.cross_entropy(stepped, label)
    torch.testing.assert_close(train.cross_entropy(ours, label), loss)
    assert not torch.allclose(ours, stepped, atol=1e-3)  # the outputs themselves differ


def test_the_best_rate_is_where_the_slope_is_zero():
    tasks = tasks_of(2000)
    rate = torch.tensor(train.best_rate(tasks), dtype=torch.float64, requires_grad=True)
    logits = rate * train.step_logits(tasks).double()
    (slope,) = torch.autograd.grad(train.cross_entropy(logits, tasks.y[-1].double()), rate)
    assert abs(float(slope)) < 1e-6 and float(rate.detach()) > 0.5


def test_guessing_costs_log_K_and_is_right_once_in_K():
    tasks = tasks_of(3000)
    nothing = torch.zeros(1, 3, 3000)
    assert float(train.cross_entropy(nothing, tasks.y[-1])[0]) == pytest.approx(math.log(3))
    assert float(train.accuracy(nothing, tasks.y[-1])[0]) == pytest.approx(1 / 3, abs=0.03)


def test_more_classes_than_entries_are_refused():
    with pytest.raises(BadSetting, match="K must be at most f = 2, got 3"):
        Config(f=2, K=3)


def test_a_run_is_drawn_measured_and_told():
    run = short_run(train.compute, CONFIG)
    for view in (View(), View(prompt=99)):
        without_nan(classes.EXPERIMENT, run, view)
        assert classes.EXPERIMENT.headline(run, view).endswith(".")
    measured = {metric.claim.id: metric for metric in classes.claims.measure(run)}
    away = run["evaluated/loss"] / run["baseline/constructed"][0] - 1
    assert abs(measured["class-step"].value or 0) == pytest.approx(np.abs(away).max(), rel=1e-5)
    assert measured["class-weights"].value and measured["class-weights"].value > 0.05
    for tensors in ({n: a for n, a in run.tensors.items() if n.startswith("curve/")}, {}):
        for drawing in classes.EXPERIMENT.drawings:
            if drawing.live:
                assert drawing.draw(Run(CONFIG, tensors, finished=False), View()).title
