"""Leaving the plateau: what is trained, when it ends, what is read and drawn of it."""

from dataclasses import replace

import numpy as np
import pytest

from icl_core.contract.experiment import Run
from icl_core.papers.gdssm import plateau
from icl_core.papers.gdssm.plateau import run as module
from icl_core.papers.gdssm.plateau.claims import at_least, curve, left
from icl_core.papers.gdssm.plateau.settings import Config, View, setting_of, sizes
from icl_core.papers.gdssm.shared.sequence_models import train
from tests.drawn import without_nan, without_words
from tests.recorder import Interrupted, Recorder

SMALL = Config(features="3, 2", models="softmax-1, linear-1", batch=16, steps=10, seeds=2,
               parameters=1000)  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def few():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(train, "WATCHED", (101, 64))
        yield


@pytest.fixture(scope="module")
def whole(few):
    return plateau.compute(SMALL, Recorder())


def with_left(whole, paper, both):
    """The run as if these tasks had been needed at every f."""
    tasks = np.full_like(whole["left/tasks"], np.nan)
    tasks[:, :, 0] = paper
    tasks[:, :, 3] = both
    return Run(SMALL, {**whole, "left/tasks": tasks})


def test_every_model_is_trained_in_four_ways_and_those_that_are_alike_once(whole):
    assert sizes(SMALL) == [2, 3] == whole["size/f"].tolist()
    assert whole["left/tasks"].shape == (2, 2, 4, 2)
    trained = sorted(name for name in whole if name.startswith("curve/") and name != "curve/step")
    assert len(trained) == len(module.plan(SMALL)) == 2 * 2 + 2 * 4  # f = 2 has no curriculum
    setting = setting_of(SMALL, 3, "both")
    assert (setting.N, setting.curriculum, setting.dense, setting.model) == (3, True, True, "N-D")


def test_a_training_ends_once_its_last_seed_has_left(monkeypatch):
    monkeypatch.setattr(module, "LEFT", -1.0)  # twice predicting zero: left from the start
    run = Run(SMALL, plateau.compute(SMALL, Recorder()))
    assert run["curve/step"].tolist() == [0] and not run["left/tasks"].any()


def test_who_never_leaves_counts_with_all_its_tasks(whole):
    run = with_left(whole, np.nan, 80.0)
    assert np.isinf(left(run, "linear-1", "paper")).all()
    assert (at_least(run, "linear-1", "paper") == 10 * 16).all()
    metrics = {metric.claim.id: metric for metric in plateau.claims.measure(run)}
    assert metrics["both-shorten-the-plateau"].value == 0.5
    assert not metrics["both-shorten-the-plateau"].unfinished
    assert metrics["the-plateau-grows"].unfinished  # the smallest f has not left
    assert metrics["a-curriculum-shortens-the-plateau"].unfinished
    panel = plateau.EXPERIMENT.drawings[0].draw(run, View())
    assert panel.title == "3 features take 80 tasks with both, else over 160"
    assert panel.data["f = 3"][0] == "not within 160"


def test_a_resumed_run_equals_an_uninterrupted_one_bit_for_bit(whole):
    recorder = Recorder(35)
    with pytest.raises(Interrupted):
        plateau.compute(SMALL, recorder)
    again = plateau.compute(SMALL, Recorder(saved=recorder.saved))
    assert again.keys() == whole.keys()
    assert all(array.tobytes() == again[name].tobytes() for name, array in whole.items())


@pytest.mark.parametrize("size", ["largest", "smallest"])
def test_all_of_it_can_be_drawn(whole, size):
    run = Run(SMALL, whole)
    view = View(shown=size)
    without_nan(plateau.EXPERIMENT, run, view)
    assert plateau.EXPERIMENT.headline(run, view).endswith(".")
    for drawing in plateau.EXPERIMENT.drawings:
        without_words(drawing.draw(run, view))
    live = plateau.EXPERIMENT.drawings[1]
    begun = {name: array for name, array in whole.items() if not name.startswith("curve/")}
    half = begun | {name: whole[name] for name in ("curve/step", "curve/linear-1 paper 2")}
    for tensors in (half, {}):
        assert live.draw(Run(SMALL, tensors, finished=False), view).title


def test_a_curve_ends_where_its_training_did(whole):
    shorter = whole["curve/linear-1 paper 2"].copy()
    shorter[:, 5:] = np.nan
    run = Run(SMALL, {**whole, "curve/linear-1 paper 2": shorter})
    tasks, losses = curve(run, "linear-1", "curriculum", 2)  # the same training
    assert len(tasks) == 5 == losses.shape[1] and tasks[1] == 16
    assert losses[0, 0] == pytest.approx(shorter[0, 0] / whole["zero"][0])


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"features": "2.5"}, "features must be whole numbers"),
        ({"features": ""}, "features must be 1 to 5 numbers"),
        ({"features": "12"}, "features must be numbers from 1 to 10"),
        ({"models": "hyena"}, "models must be some of s5, mamba, .*, got 'hyena'"),
        ({"form": "authors", "width": 0.25, "features": "2"}, "width must make at least 4"),
    ],
)
def test_what_cannot_be_is_refused_with_a_sentence(wrong, message):
    with pytest.raises(ValueError, match=message):
        replace(SMALL, **wrong)
