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


@pytest.fixture(autouse=True)
def few(monkeypatch):
    for name in ("WATCHED", "TEST_SET"):
        monkeypatch.setattr(train, name, FEW)


@pytest.fixture(scope="module")
def whole():
    with pytest.MonkeyPatch.context() as patch:
        for name in ("WATCHED", "TEST_SET"):
            patch.setattr(train, name, FEW)
        return learns.compute(SMALL, Recorder())


def test_every_model_is_trained_at_every_width_once(whole):
    run = Run(SMALL, whole)
    assert run.names("models") == [
        "gd-ssm-1",
        "s5",
        "linear-1",
    ]  # in the order of the table, whatever was typed
    assert (
        [setting.hidden for setting in settings_of(SMALL)]
        == [4, 5, 7]
        == run["size/width"].tolist()
    )
    assert widths(run).tolist() == pytest.approx([4 / 7, 5 / 7, 1]) and base_place(run) == 2
    assert run["evaluated/loss"].shape == (2, 3, 3) and np.isfinite(run["evaluated/loss"]).all()
    own, s5, _ = run["evaluated/loss"].transpose(1, 0, 2)
    assert (own == own[:, :1]).all() and not (
        s5[:, 1:] == s5[:, :1]
    ).any()  # the GD-SSM has no width
    assert (np.diff(run["size/parameters"]) > 0).tolist() == [[False] * 2, [True] * 2, [True] * 2]
    assert len(plan(SMALL)) == 1 + 2 * 3


def test_a_training_is_that_of_the_comparison_at_its_width_and_rate(whole):
    setting = settings_of(SMALL)[0]
    each = next(each for each in learners(setting) if each.model.id == "s5")
    alone = train.at_rate(setting, each, SMALL.learning_rate, {}, lambda state, save: None)
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


@pytest.mark.parametrize("shown", ["narrowest", "base", "widest"])
def test_all_of_it_can_be_drawn(whole, shown):
    run, view = Run(SMALL, whole), View(shown=shown)
    without_nan(learns.EXPERIMENT, run, view)
    assert learns.EXPERIMENT.headline(run, view).endswith(".")
    tasks = learns.EXPERIMENT.drawings[1]
    width = 4 if shown == "narrowest" else 7
    assert f"trainings at width {width}, " in tasks.draw(run, view).caption
    begun = {name: array for name, array in whole.items() if name.startswith("watched/")}
    half = {
        name: whole[name] for name in ("names/models", "curve/step", "curve/gd-ssm-1", "curve/s5 4")
    }
    for tensors in (begun | half, begun):
        assert tasks.draw(Run(SMALL, tensors, finished=False), view).title


def test_the_title_counts_who_reaches_one_step_where(whole):
    one = whole["baseline/one"][0]
    losses = np.full_like(whole["evaluated/loss"], 2 * one)
    losses[:, 1:, 2] = one
    losses[:, 1, 1] = 1.06 * one
    panel = learns.EXPERIMENT.drawings[0].draw(
        Run(SMALL, {**whole, "evaluated/loss": losses}), View()
    )
    assert panel.title == "0 of 2 models reach one step at width 0.57, 2 at 1"
    assert panel.data["0.71"].tolist() == pytest.approx([2.0, 1.06, 2.0])


def test_what_diverged_is_told_and_not_drawn(whole):
    losses = whole["evaluated/loss"].copy()
    losses[:, 1, 0] = np.inf
    panel = learns.EXPERIMENT.drawings[0].draw(
        Run(SMALL, {**whole, "evaluated/loss": losses}), View()
    )
    without_words(panel)
    assert "Diverged at some width: S5." in panel.caption and panel.data["0.57"][1] == "diverged"


def test_claims_speak_of_the_models_that_were_trained(whole):
    assert [metric.claim.id for metric in learns.claims.measure(Run(SMALL, whole))] == [
        "too-narrow-for-the-step"
    ]
    without = replace(SMALL, models="s5")
    assert chosen(without) == ("s5",) and chosen(replace(SMALL, models="all")) == BASELINES
    kept = whole["evaluated/loss"][:, :2]  # the GD-SSM and S5
    left = Run(
        without, {**whole, "names/models": names(["gd-ssm-1", "s5"]), "evaluated/loss": kept}
    )
    assert learns.claims.measure(left) == []
    np.testing.assert_array_equal(ratios(left, "s5"), ratios(Run(SMALL, whole), "s5"))
    np.testing.assert_array_equal(curve(left, "s5", 0), whole["curve/s5 4"])


def test_transformers_of_two_layers_are_held_against_one_step_at_the_ends():
    config = Config(model="N-D", widths="1/2, 3/4, 1, 3/2, 2", seeds=3)
    ids, steps = ["gd-ssm-1", "linear-2", "softmax-2"], np.arange(0, 401, 10)
    zero, one, _ = train.levels(settings_of(config)[0], FEW)
    losses = np.full((3, 3, 5), 1.5 * one)
    losses[:, 1, 2] = 0.97 * one
    levels = {
        "baseline/zero": np.array([zero]),
        "baseline/one": np.array([one]),
        "baseline/two": np.array([one]),
    }
    levels |= {name.replace("baseline", "watched"): level for name, level in levels.items()}
    tensors = {"names/models": names(ids), "curve/step": steps, "evaluated/loss": losses, **levels}
    grid = [f"curve/{id} {setting.hidden}" for id in ids for setting in settings_of(config)]
    flat = {name: np.full((3, 41), 0.6 * zero) for name in grid}
    found = {m.claim.id: m for m in learns.claims.measure(Run(config, {**tensors, **flat}))}
    said = {
        name: (round(metric.value, 3), metric.verdict(config)) for name, metric in found.items()
    }
    assert said == {
        "half-the-width-is-too-narrow": (0.5, "found here"),
        "the-full-width-suffices": (-0.03, "found here"),
    }
    stuck = {name: np.full_like(rows, zero) for name, rows in flat.items()}
    held = {
        m.claim.id: m.verdict(config)
        for m in learns.claims.measure(Run(config, {**tensors, **stuck}))
    }
    assert held == {
        "half-the-width-is-too-narrow": "not decided",
        "the-full-width-suffices": "found here",
    }
    lost = {"evaluated/loss": np.full_like(losses, np.inf)} | {
        name: np.full_like(rows, np.nan) for name, rows in flat.items()
    }
    assert {m.verdict(config) for m in learns.claims.measure(Run(config, {**tensors, **lost}))} == {
        "not decided"
    }
    slower = replace(config, learning_rate=1e-3)
    assert {m.verdict(slower) for m in learns.claims.measure(Run(slower, {**tensors, **flat}))} == {
        "elsewhere"
    }


@pytest.mark.parametrize(
    "wrong, said",
    [
        ({"models": "mamba, hyena"}, "models must be all, or some of s5, mamba, .*, got 'hyena'"),
        ({"models": ""}, "models must be all"),
        ({"widths": "1/2, 9"}, "widths must be numbers from 0.25 to 4, got '9'"),
        ({"widths": ""}, "widths must be 1 to 7 numbers"),
        ({"f": 1, "N": 1, "widths": "1/2"}, "width must make at least 4 hidden numbers"),
    ],
)
def test_what_cannot_be_is_refused_with_a_sentence(wrong, said):
    with pytest.raises(ValueError, match=said):
        Config(**wrong)
