"""What decides who learns it: width and tasks. The grid of trainings, what is read and drawn of it,
what is refused."""

from dataclasses import replace

import numpy as np
import pytest

from icl_core.contract.experiment import Run, names
from icl_core.papers.gdssm import learns
from icl_core.papers.gdssm.learns.claims import base_place, curve, ratios, widths
from icl_core.papers.gdssm.learns.run import plan
from icl_core.papers.gdssm.learns.settings import BASELINES, Config, View, chosen, settings_of
from icl_core.papers.gdssm.shared.sequence_models import train
from icl_core.papers.gdssm.shared.sequence_models.all_models import learners
from tests.drawn import without_nan, without_words
from tests.recorder import Interrupted, Recorder

SMALL = Config(f=2, N=2, widths="1, 1/2, .75", models="linear-1, s5", batch=16, steps=10, seeds=2)
FEW = (101, 64)


@pytest.fixture(scope="module", autouse=True)
def few():
    with pytest.MonkeyPatch.context() as patch:
        for name in ("WATCHED", "TEST_SET"):
            patch.setattr(train, name, FEW)
        yield


@pytest.fixture(scope="module")
def whole(few):
    return learns.compute(SMALL, Recorder())


def test_every_model_is_trained_at_every_width_once(whole):
    run = Run(SMALL, whole)
    # in the order of the table, whatever was typed
    assert run.names("models") == ["gd-ssm-1", "s5", "linear-1"]
    hidden = [setting.hidden for setting in settings_of(SMALL)]
    assert hidden == [4, 5, 7] == run["size/width"].tolist()
    assert widths(run).tolist() == pytest.approx([4 / 7, 5 / 7, 1]) and base_place(run) == 2
    assert run["evaluated/loss"].shape == (2, 3, 3) and np.isfinite(run["evaluated/loss"]).all()
    own, s5, _ = run["evaluated/loss"].transpose(1, 0, 2)
    assert (own == own[:, :1]).all()  # the GD-SSM has no width
    assert not (s5[:, 1:] == s5[:, :1]).any()
    assert (np.diff(run["size/parameters"]) > 0).tolist() == [[False] * 2, [True] * 2, [True] * 2]
    assert len(plan(SMALL)) == 1 + 2 * 3


def test_a_training_is_that_of_the_comparison_at_its_width_and_rate(whole):
    setting = settings_of(SMALL)[0]
    s5 = next(learner for learner in learners(setting) if learner.model.id == "s5")
    alone = train.at_rate(setting, s5, SMALL.learning_rate, {}, lambda state, save: None)
    assert np.array_equal(alone["s5"], whole["curve/s5 4"])
    assert np.array_equal(alone["evaluated"], whole["evaluated/loss"][:, 1, 0])


def test_a_resumed_run_equals_an_uninterrupted_one_bit_for_bit(whole):
    recorder = Recorder(34)
    with pytest.raises(Interrupted):
        learns.compute(SMALL, recorder)
    assert {"names/models", "curve/step", "curve/gd-ssm-1", "curve/s5 4"} <= recorder.seen.keys()
    again = learns.compute(SMALL, Recorder(saved=recorder.saved))
    assert again.keys() == whole.keys()
    assert all(array.tobytes() == again[name].tobytes() for name, array in whole.items())


@pytest.mark.parametrize("width", ["narrowest", "base", "widest"])
def test_all_of_it_can_be_drawn(whole, width):
    run = Run(SMALL, whole)
    view = View(shown=width)
    without_nan(learns.EXPERIMENT, run, view)
    assert learns.EXPERIMENT.headline(run, view).endswith(".")
    tasks = learns.EXPERIMENT.drawings[1]
    hidden = 4 if width == "narrowest" else 7
    assert f"trainings at width {hidden}, " in tasks.draw(run, view).caption
    begun = {name: array for name, array in whole.items() if name.startswith("watched/")}
    curves = ("names/models", "curve/step", "curve/gd-ssm-1", "curve/s5 4")
    half = {name: whole[name] for name in curves}
    for tensors in (begun | half, begun):
        assert tasks.draw(Run(SMALL, tensors, finished=False), view).title


def test_the_title_counts_who_reaches_one_step_where(whole):
    one = whole["baseline/one"][0]
    losses = np.full_like(whole["evaluated/loss"], 2 * one)
    losses[:, 1:, 2] = one
    losses[:, 1, 1] = 1.06 * one
    run = Run(SMALL, {**whole, "evaluated/loss": losses})
    panel = learns.EXPERIMENT.drawings[0].draw(run, View())
    assert panel.title == "0 of 2 models reach one step at width 0.57, 2 at 1"
    assert panel.data["0.71"].tolist() == pytest.approx([2.0, 1.06, 2.0])


def test_what_diverged_is_told_and_not_drawn(whole):
    losses = whole["evaluated/loss"].copy()
    losses[:, 1, 0] = np.inf
    run = Run(SMALL, {**whole, "evaluated/loss": losses})
    panel = learns.EXPERIMENT.drawings[0].draw(run, View())
    without_words(panel)
    assert "Diverged at some width: S5." in panel.caption and panel.data["0.57"][1] == "diverged"


def test_claims_speak_of_the_models_that_were_trained(whole):
    ids = [metric.claim.id for metric in learns.claims.measure(Run(SMALL, whole))]
    assert ids == ["too-narrow-for-the-step"]
    without = replace(SMALL, models="s5")
    assert chosen(without) == ("s5",) and chosen(replace(SMALL, models="all")) == BASELINES
    losses = whole["evaluated/loss"][:, :2]  # the GD-SSM and S5
    tensors = {"names/models": names(["gd-ssm-1", "s5"]), "evaluated/loss": losses}
    run = Run(without, whole | tensors)
    assert learns.claims.measure(run) == []
    np.testing.assert_array_equal(ratios(run, "s5"), ratios(Run(SMALL, whole), "s5"))
    np.testing.assert_array_equal(curve(run, "s5", 0), whole["curve/s5 4"])


def test_transformers_of_two_layers_are_held_against_one_step_at_the_ends():
    config = Config(model="N-D", widths="1/2, 3/4, 1, 3/2, 2", seeds=3)
    ids = ["gd-ssm-1", "linear-2", "softmax-2"]
    zero, one, _ = train.levels(settings_of(config)[0], FEW)
    losses = np.full((3, 3, 5), 1.5 * one)
    losses[:, 1, 2] = 0.97 * one
    levels = {
        "baseline/zero": np.array([zero]),
        "baseline/one": np.array([one]),
        "baseline/two": np.array([one]),
    }
    levels |= {name.replace("baseline", "watched"): level for name, level in levels.items()}
    tensors = {"names/models": names(ids), "evaluated/loss": losses, **levels}
    tensors["curve/step"] = np.arange(0, 401, 10)
    grid = [f"curve/{id} {setting.hidden}" for id in ids for setting in settings_of(config)]
    flat = {name: np.full((3, 41), 0.6 * zero) for name in grid}
    metrics = learns.claims.measure(Run(config, {**tensors, **flat}))
    assert {m.claim.id: (round(m.value, 3), m.verdict(config)) for m in metrics} == {
        "half-the-width-is-too-narrow": (0.5, "found here"),
        "the-full-width-suffices": (-0.03, "found here"),
    }

    def verdicts(config, changes):
        metrics = learns.claims.measure(Run(config, {**tensors, **changes}))
        return {metric.claim.id: metric.verdict(config) for metric in metrics}

    stuck = {name: np.full_like(rows, zero) for name, rows in flat.items()}
    assert verdicts(config, stuck) == {
        "half-the-width-is-too-narrow": "not decided",
        "the-full-width-suffices": "found here",
    }
    diverged = {name: np.full_like(rows, np.nan) for name, rows in flat.items()}
    diverged["evaluated/loss"] = np.full_like(losses, np.inf)
    assert set(verdicts(config, diverged).values()) == {"not decided"}
    slower = replace(config, learning_rate=1e-3)
    assert set(verdicts(slower, flat).values()) == {"elsewhere"}


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"models": "mamba, hyena"}, "models must be all, or some of s5, mamba, .*, got 'hyena'"),
        ({"models": ""}, "models must be all"),
        ({"widths": "1/2, 9"}, "widths must be numbers from 0.25 to 4, got '9'"),
        ({"widths": ""}, "widths must be 1 to 7 numbers"),
        ({"f": 1, "N": 1, "widths": "1/2"}, "width must make at least 4 hidden numbers"),
    ],
)
def test_what_cannot_be_is_refused_with_a_sentence(wrong, message):
    with pytest.raises(ValueError, match=message):
        Config(**wrong)
