"""The comparison with other models: equal tokens and tasks, rates chosen by their trials, resumption, drawings."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from icl_core.experiment import Run
from icl_core.papers.gdssm import comparison, comparison_learning, construction
from icl_core.papers.gdssm.baselines.rates import RATES
from icl_core.papers.gdssm.comparison_learning import CHUNK, gradient, held_out, plan, tasks
from icl_core.papers.gdssm.comparison_settings import Config, View
from icl_core.papers.gdssm.learners import chunked, learner, learners, sequence
from icl_core.papers.gdssm.task import Tasks
from tests.recorder import Interrupted, Recorder

SMALL = Config(model="N-D", f=2, N=2, batch=16, steps=10, tuning=10, parameters=1000)
FEW = (101, 64)


@pytest.fixture(autouse=True)
def few(monkeypatch):
    for name in ("TUNED_ON", "WATCHED", "JUDGED"):
        monkeypatch.setattr(comparison_learning, name, FEW)


@pytest.fixture(scope="module")
def whole():
    with pytest.MonkeyPatch.context() as patch:
        for name in ("TUNED_ON", "WATCHED", "JUDGED"):
            patch.setattr(comparison_learning, name, FEW)
        return {config.model: comparison.run(config, Recorder()) for config in (SMALL, replace(SMALL, model="1-D"))}


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("model", ["1-D", "N-D"])
def test_every_model_predicts_the_labels_coordinates_from_the_same_tokens(model):
    config = replace(SMALL, model=model)
    batch = tasks(config, 8, generator())
    for each in learners(config):
        predicted = each.predict(each.initial([3, 4]), batch)
        assert predicted.shape == (2, *batch.y.shape[1:]), each.name
        unseen = Tasks(batch.x, torch.cat([batch.y[:-1], batch.y[-1:] + 7]))  # the query's label is no token
        assert torch.equal(predicted, each.predict(each.initial([3, 4]), unseen)), each.name
    assert sequence(config, batch).shape == (8, *((2, 4) if model == "1-D" else (5, 2)))


def test_a_seeds_weights_do_not_depend_on_those_beside_it():
    for each in learners(SMALL):
        alone, beside = each.initial([4]), each.initial([3, 4])
        assert all(torch.equal(alone[name][0], beside[name][1]) for name in alone), each.name


def test_judging_in_chunks_is_judging_at_once():
    many = tasks(SMALL, CHUNK + 3, generator())
    for each in learners(SMALL):
        weights = each.initial([0])
        assert torch.allclose(chunked(each, weights, many, 100), each.predict(weights, many), atol=1e-6), each.name


def test_a_gradient_is_each_seeds_own_and_no_longer_than_1():
    each, batch = learner(SMALL, "Griffin"), tasks(SMALL, 16, generator())
    weights = {name: 10 * tensor for name, tensor in each.initial([0, 1]).items()}
    both, losses = gradient(each, weights, batch)
    length = sum(one.reshape(2, -1).square().sum(1) for one in both.values()).sqrt()
    assert (length < 1.0001).all() and length.max() > 0.999  # these are long enough to be cut
    second, loss = gradient(each, {name: tensor[1:] for name, tensor in weights.items()}, batch)
    assert np.allclose(loss["loss"][0], losses["loss"][1], rtol=1e-4)
    for name, tensor in second.items():
        assert torch.allclose(tensor[0], both[name][1], atol=1e-4), name


def test_sizes_are_matched_within_5_percent():
    for model, f in (("1-D", 3), ("1-D", 10), ("N-D", 3), ("N-D", 10)):
        for each in learners(Config(model=model, f=f)):
            assert not each.rival or each.size.within, (model, f, each.name)


def test_the_run_holds_what_it_says(whole):
    for model, run in whole.items():
        many = len(learners(replace(SMALL, model=model)))
        assert many == (8 if model == "1-D" else 9)
        assert run["judged/loss"].shape == (1, many) and run["tuned/loss"].shape == (many, len(RATES))
        chosen = run["tuned/rate"][run["tuned/loss"].argmin(1)]
        assert np.array_equal(chosen, run["chosen/rate"])
        judged = held_out(replace(SMALL, model=model), FEW)
        assert np.isclose(run["baseline/zero"][0], float(judged.y[-1].square().mean()) / 2)
        assert np.isclose(run["baseline/one"][0], construction.best_mixture(judged, 1)[1])
        assert run["baseline/two"][0] < run["baseline/one"][0] < run["baseline/zero"][0]


def test_a_resumed_run_equals_an_uninterrupted_one_bit_for_bit(whole):
    saved = None
    for stop in (5, 37, 90):  # in a trial, in the first model's training, in a later model
        recorder = Recorder(stop, saved)
        with pytest.raises(Interrupted):
            comparison.run(SMALL, recorder)
        saved = recorder.saved
    again = comparison.run(SMALL, Recorder(saved=saved))
    assert again.keys() == whole["N-D"].keys()
    for name, array in whole["N-D"].items():
        assert array.tobytes() == again[name].tobytes(), name


def test_a_trial_that_diverges_is_not_chosen(monkeypatch):
    monkeypatch.setattr(comparison_learning, "CEILING", 1e-9)
    trial = plan(SMALL)[0]
    assert np.isinf(trial.train({}, lambda state, save: None)["loss"][0])


@pytest.mark.parametrize("model", ["1-D", "N-D"])
def test_all_of_it_can_be_drawn(whole, model):
    run = Run(replace(SMALL, model=model), whole[model])
    for drawing in comparison.EXPERIMENT.drawings:
        panel = drawing.draw(run, View(single_seeds=True))
        assert panel.title and panel.caption and panel.figure is not None and panel.data is not None
    values = {metric.claim.id: metric.value for metric in comparison.metrics(run)}
    assert all(np.isfinite(value) for value in values.values())
    half = Run(run.config, {n: a for n, a in whole[model].items() if n in ("curve/step", "curve/S5")}, finished=False)
    live = [drawing for drawing in comparison.EXPERIMENT.drawings if drawing.live]
    assert live and all(drawing.draw(half, View()).title for drawing in live)
    assert all(drawing.draw(Run(run.config, {}, finished=False), View()).title for drawing in live)


def test_what_is_out_of_range_is_refused():
    with pytest.raises(ValueError, match="steps must be a whole number"):
        Config(steps=0)
    with pytest.raises(ValueError, match="model must be one of"):
        Config(model="2-D")
