"""The comparison with other models: equal tokens and tasks, learning rates as tuned, resumption, drawings."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from icl_core.experiment import Run
from icl_core.papers.gdssm import comparison
from icl_core.papers.gdssm.comparison.draw import style
from icl_core.papers.gdssm.comparison.draw.losses import _late as late
from icl_core.papers.gdssm.comparison.metrics import seeds_near
from icl_core.papers.gdssm.comparison.read_run import THEN, entries, upgrade
from icl_core.papers.gdssm.comparison.settings import Config, View
from icl_core.papers.gdssm.shared import construction
from icl_core.papers.gdssm.shared.sequence_models import MODELS, train
from icl_core.papers.gdssm.shared.sequence_models.learners import learners, sequence
from icl_core.papers.gdssm.shared.sequence_models.settings import LEARNING_RATES
from icl_core.papers.gdssm.shared.sequence_models.train import CHUNK, evaluate, gradient, held_out, tasks
from icl_core.papers.gdssm.shared.task import Tasks, loss
from icl_core.runs import store
from icl_core.training import loop
from tests.drawn import numbers_of, without_nan, without_words
from tests.recorder import Interrupted, Recorder

SMALL = Config(model="N-D", f=2, N=2, batch=16, steps=10, tuning=10, parameters=1000)
FEW = (101, 64)


@pytest.fixture(autouse=True)
def few(monkeypatch):
    for name in ("TUNED_ON", "WATCHED", "TEST_SET"):
        monkeypatch.setattr(train, name, FEW)


@pytest.fixture(scope="module")
def whole():
    with pytest.MonkeyPatch.context() as patch:
        for name in ("TUNED_ON", "WATCHED", "TEST_SET"):
            patch.setattr(train, name, FEW)
        return {config.model: comparison.run(config, Recorder()) for config in (SMALL, replace(SMALL, model="1-D"))}


def learner(config, id):
    return next(each for each in learners(config) if each.model.id == id)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("model", ["1-D", "N-D"])
def test_every_model_predicts_the_labels_coordinates_from_the_same_tokens(model):
    config = replace(SMALL, model=model)
    batch = tasks(config, 8, generator())
    for each in learners(config):
        predicted = each.predict(each.initial([3, 4]), batch)
        assert predicted.shape == (2, *batch.y.shape[1:]), each.model.id
        unseen = Tasks(batch.x, torch.cat([batch.y[:-1], batch.y[-1:] + 7]))  # the query's label is no token
        assert torch.equal(predicted, each.predict(each.initial([3, 4]), unseen)), each.model.id
    assert sequence(config, batch).shape == (8, *((2, 4) if model == "1-D" else (5, 2)))


def test_a_seeds_weights_do_not_depend_on_those_beside_it():
    for each in learners(SMALL):
        alone, beside = each.initial([4]), each.initial([3, 4])
        assert all(torch.equal(alone[name][0], beside[name][1]) for name in alone), each.model.id


def test_evaluating_in_chunks_is_evaluating_at_once():
    many = tasks(SMALL, CHUNK + 3, generator())
    for each in learners(SMALL):
        weights = each.initial([0, 1])
        at_once = loss(each.predict(weights, many), many.y[-1])
        assert np.allclose(evaluate(each, weights, many), at_once, rtol=1e-5), each.model.id


def test_a_gradient_is_each_seeds_own_and_no_longer_than_1():
    each, batch = learner(SMALL, "griffin"), tasks(SMALL, 16, generator())
    weights = {name: 10 * tensor for name, tensor in each.initial([0, 1]).items()}
    both, losses = gradient(each, weights, batch)
    length = sum(one.reshape(2, -1).square().sum(1) for one in both.values()).sqrt()
    assert (length < 1.0001).all() and length.max() > 0.999  # these are long enough to be cut
    second, alone = gradient(each, {name: tensor[1:] for name, tensor in weights.items()}, batch)
    assert np.allclose(alone["loss"][0], losses["loss"][1], rtol=1e-4)
    for name, tensor in second.items():
        assert torch.allclose(tensor[0], both[name][1], atol=1e-4), name


def test_sizes_are_matched_within_5_percent():
    for model, f in (("1-D", 3), ("1-D", 10), ("N-D", 3), ("N-D", 10)):
        for each in learners(Config(model=model, f=f)):
            assert not each.model.baseline or 0.95 <= each.size.parameters / 4000 <= 1.05, (model, f, each.model.id)


def test_the_run_holds_what_it_says(whole):
    for model, run in whole.items():
        many = len(learners(replace(SMALL, model=model)))
        assert many == (8 if model == "1-D" else 9)
        assert run["evaluated/loss"].shape == (1, many) and run["tuned/loss"].shape == (many, len(LEARNING_RATES))
        chosen = run["tuned/rate"][run["tuned/loss"].argmin(1)]
        assert np.array_equal(chosen, run["chosen/rate"])
        evaluated = held_out(replace(SMALL, model=model), FEW)
        assert np.isclose(run["baseline/zero"][0], float(evaluated.y[-1].square().mean()) / 2)
        assert np.isclose(run["baseline/one"][0], construction.best_mixture(evaluated, 1)[1])
        assert run["baseline/two"][0] < run["baseline/one"][0] < run["baseline/zero"][0]


def test_a_resumed_run_equals_an_uninterrupted_one_bit_for_bit(whole):
    saved = None
    for stop in (5, 17, 95):  # in a tuning, in the first model's training, in a later model's
        recorder = Recorder(stop, saved)
        with pytest.raises(Interrupted):
            comparison.run(SMALL, recorder)
        saved = recorder.saved
    again = comparison.run(SMALL, Recorder(saved=saved))
    assert again.keys() == whole["N-D"].keys()
    for name, array in whole["N-D"].items():
        assert array.tobytes() == again[name].tobytes(), name


def alone(each, rate):
    """The weights after tuning one learning rate by itself."""
    weights = each.initial([SMALL.seed])
    problem = train.problem(SMALL, each, weights, rate)
    loop.train(problem, SMALL.steps, [], {}, lambda state, save: None)
    return weights


@pytest.mark.parametrize("name", ["griffin", "linear-2"])
def test_rates_tried_in_one_pass_are_each_tried_by_itself(name):
    each = learner(SMALL, name)
    weights = each.initial([SMALL.seed] * len(LEARNING_RATES))
    problem = train.tuning_problem(SMALL, each, weights)
    loop.train(problem, SMALL.tuning, [], {}, lambda state, save: None)
    for row, rate in enumerate(LEARNING_RATES):
        for part, tensor in alone(each, rate).items():
            assert torch.allclose(weights[part][row], tensor[0], atol=1e-5), (rate, part)


def test_rates_that_diverge_are_given_up(monkeypatch):
    monkeypatch.setattr(train, "CEILING", 1e-9)
    found = train.tune(SMALL, learner(SMALL, "griffin"), {}, lambda state, save: None)
    assert np.isinf(found["loss"]).all()


@pytest.mark.parametrize("model", ["1-D", "N-D"])
def test_all_of_it_can_be_drawn(whole, model):
    run = Run(replace(SMALL, model=model), whole[model])
    for drawing in comparison.EXPERIMENT.drawings:
        panel = drawing.draw(run, View(single_seeds=True))
        assert panel.title and panel.caption and panel.figure is not None and panel.data is not None
    without_nan(comparison.EXPERIMENT, run, View(single_seeds=True))
    values = {metric.claim.id: metric.value for metric in comparison.metrics(run)}
    assert all(np.isfinite(value) for value in values.values())
    half = Run(run.config, {n: a for n, a in whole[model].items() if n in ("curve/step", "curve/s5")}, finished=False)
    live = [drawing for drawing in comparison.EXPERIMENT.drawings if drawing.live]
    assert live and all(drawing.draw(half, View()).title for drawing in live)
    assert all(drawing.draw(Run(run.config, {}, finished=False), View()).title for drawing in live)


# Trainings that diverge

SEEDS = replace(SMALL, model="1-D", seeds=2)
LINEAR = "linear-1"


def lost(each, weights, batch, calls):
    """Mamba's long training from step 6 on; S5 at the highest rate from step 3 on, and the linear transformer too, by
    its gradient alone; Griffin at every rate."""
    found, losses = gradient(each, weights, batch)
    calls[each.model.id] = calls.get(each.model.id, 0) + 1
    long = len(losses["loss"]) == SEEDS.seeds
    astray = {
        "mamba": long and calls[each.model.id] > SEEDS.tuning + 6,
        "s5": not long and calls[each.model.id] > 3 and np.array(LEARNING_RATES) == max(LEARNING_RATES),
        "griffin": True,
    }
    if each.model.id == LINEAR and not long and calls[each.model.id] > 3:
        found["W_in"][-1, 0, 0] = np.nan
    return found, {"loss": np.where(astray.get(each.model.id, False), np.inf, losses["loss"])}


@pytest.fixture(scope="module")
def astray():
    """The run in which they do, and the one in which nothing does."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("TUNED_ON", "WATCHED", "TEST_SET"):
            patch.setattr(train, name, FEW)
        straight, calls = comparison.run(SEEDS, Recorder()), {}
        patch.setattr(train, "gradient", lambda *given: lost(*given, calls))
        return Run(SEEDS, comparison.run(SEEDS, Recorder())), Run(SEEDS, straight)


def test_a_training_that_diverges_ends_alone(astray):
    run, straight = astray
    names = [each.model.id for each in learners(SEEDS)]
    for place, name in enumerate(names):
        evaluated, curve = run["evaluated/loss"][:, place], run.tensors.get(f"curve/{name}")
        if name in ("mamba", "griffin"):
            assert np.isinf(evaluated).all()
        else:
            same = evaluated.tobytes() == straight["evaluated/loss"][:, place].tobytes()
            assert same or name in ("s5", LINEAR)  # for these another rate may now be the best
            assert np.isfinite(evaluated).all() and np.isfinite(curve).all()
        if name == "mamba":  # what was recorded of it is kept
            kept = run["curve/step"] <= 6
            assert np.array_equal(curve[:, kept], straight[f"curve/{name}"][:, kept])
            assert np.isnan(curve[:, ~kept]).all() and not kept.all()
    assert "curve/griffin" not in run.tensors and np.isnan(run["chosen/rate"][names.index("griffin")])
    tried, before = run["tuned/loss"], straight["tuned/loss"]
    assert np.isinf(tried[names.index("griffin")]).all() and np.isinf(tried).sum() == len(LEARNING_RATES) + 2
    for name in ("s5", LINEAR):  # the other rates were not disturbed
        row = names.index(name)
        assert np.isinf(tried[row, -1]) and tried[row, :-1].tobytes() == before[row, :-1].tobytes(), name


def test_the_first_to_leave_predicting_zero_is_named_and_who_never_does_is_counted():
    x, falling, level = np.array([0, 10, 20]), np.array([1.0, 0.5, 0.5]), np.ones(3)
    later = np.array([1.0, 1.0, 0.5])
    assert late(x, {"A": later, "B": falling, "C": level}, 1.0) == "First: B, step 10; 1 never"
    assert late(x, {"B": falling}, 1.0) == "First: B, step 10"
    assert late(x, {"A": level}, 1.0) == "No model leaves predicting zero"


def test_what_diverged_is_told_and_not_drawn(astray):
    run = astray[0]
    panels = {drawing.name: drawing.draw(run, View(single_seeds=True)) for drawing in comparison.EXPERIMENT.drawings}
    for panel in panels.values():
        without_words(panel)
        for trace in panel.figure.plotly().data:
            assert not np.isinf(numbers_of(trace.y)).any() and not np.isinf(numbers_of(trace.x)).any()
        panel.figure.plotly().to_json()
    for name in ("ends", "parameters"):
        assert "Diverged: Mamba, Griffin." in panels[name].caption
        assert all(np.isfinite(numbers_of(trace.y)).all() for trace in panels[name].figure.plotly().data)
        assert list(panels[name].data["loss"]).count("diverged") == 2
    assert [each.text for each in panels["ends"].figure.plotly().layout.annotations].count("diverged") == 2
    assert panels["ends"].data.set_index("model")["rate"]["Griffin"] == "none"
    assert panels["training"].caption.endswith("Diverged: Mamba after step 5, Griffin at every rate.")
    assert "Diverged: S5 at 0.03, Griffin at every rate, linear transformer, 1 layer at 0.03." in panels["rates"].note
    assert panels["rates"].data.set_index("model")["0.03"]["S5"] == "diverged"
    assert not any(np.isnan(metric.value) for metric in comparison.metrics(run))
    assert comparison.headline(run, View()).endswith(".")


def test_a_run_in_which_all_diverged_is_drawn(astray):
    off = {"evaluated/loss": np.inf, "tuned/loss": np.inf, "chosen/rate": np.nan}
    tensors = {n: np.full_like(a, off[n]) if n in off else a for n, a in astray[0].tensors.items() if "curve/" not in n}
    for drawing in comparison.EXPERIMENT.drawings:
        panel = drawing.draw(Run(SEEDS, tensors), View())
        without_words(panel)
        panel.figure.plotly().to_json()


def test_a_loss_far_above_predicting_zero_leaves_the_others_in_sight(whole):
    zero = float(whole["N-D"]["baseline/zero"][0])
    far = whole["N-D"] | {
        "evaluated/loss": np.array([[*whole["N-D"]["evaluated/loss"][0][:-1], 100 * zero]], np.float32)
    }
    for name in ("ends", "parameters"):
        drawing = next(each for each in comparison.EXPERIMENT.drawings if each.name == name)
        panel = drawing.draw(Run(SMALL, far), View())
        axis = panel.figure.plotly().layout.xaxis if name == "ends" else panel.figure.plotly().layout.yaxis
        assert axis.range[1] < 2 * zero
        assert f"Beyond the edge: softmax transformer, 2 layers at {100 * zero:.3g}." in panel.caption
        places = numbers_of([trace.x[0] if name == "ends" else trace.y[0] for trace in panel.figure.plotly().data])
        assert (places <= axis.range[1]).all() and places.max() == axis.range[1]


@pytest.mark.parametrize("many, side", [(16, "left"), (411, "right"), (1620, "right")])
def test_names_in_the_drawing_of_sizes_stand_on_the_side_with_room(whole, many, side):
    sizes = whole["1-D"]["size/parameters"].copy()
    sizes[0] = many
    drawing = next(each for each in comparison.EXPERIMENT.drawings if each.name == "parameters")
    panel = drawing.draw(Run(replace(SMALL, model="1-D"), whole["1-D"] | {"size/parameters": sizes}), View())
    names = {each.text: each for each in panel.figure.plotly().layout.annotations}
    assert names["GD-SSM, 1 layer"].xanchor == side and names["the others"].xanchor == "right"


def test_a_column_of_numbers_stays_one():
    assert np.array_equal(style.column([0.12345, 2.0], 2), [0.12, 2.0])
    assert style.column([0.12345, np.inf], 2) == ["0.12", "diverged"]


def test_what_is_out_of_range_is_refused():
    with pytest.raises(ValueError, match="steps must be a whole number"):
        Config(steps=0)
    with pytest.raises(ValueError, match="model must be one of"):
        Config(model="2-D")


@pytest.mark.parametrize(
    "preset, verdicts",
    [
        ("classroom", {"elsewhere"}),
        ("N-D", {"elsewhere"}),
        ("1-D", {"reproduced", "not decided"}),
        ("paper size", {"reproduced", "not decided"}),
    ],
)
def test_a_shipped_comparison_decides_what_its_training_allows(preset, verdicts):
    run = store.default().load(store.default().preset("gdssm.comparison", preset))
    found = {metric.claim.id: metric for metric in comparison.EXPERIMENT.metrics(run)}
    assert found.pop("parameters-matched").verdict(run.config) == "found here"
    said = {name: metric.verdict(run.config) for name, metric in found.items()}
    assert set(said.values()) == verdicts
    undecided = {name for name, verdict in said.items() if verdict == "not decided"}
    assert undecided == ({"one-layer-is-not-enough", "two-layer-transformer-reaches"} if len(verdicts) > 1 else set())
    assert all("plateau" in found[name].unfinished for name in undecided)


def two_layers(run):
    """The transformers of two layers."""
    return [each for each in entries(run) if each.baseline and each.layers == 2]


def test_the_reason_counts_the_seeds_that_are_near(whole):
    run = Run(replace(SMALL, seeds=5), whole["N-D"])
    models = learners(run.config)
    losses = np.full((5, len(models)), 2 * run["baseline/one"][0], np.float32)
    place = [each.model.id for each in models].index("linear-2")
    losses[:3, place] = run["baseline/one"][0]
    run = Run(run.config, {**run.tensors, "evaluated/loss": losses})
    said = seeds_near(run, two_layers(run))
    assert "Linear transformer, 2 layers 3 of 5; Softmax transformer, 2 layers 0 of 5" in said


def test_what_falls_on_could_change_the_verdict_only_one_way(whole):
    """Models of one layer that come near are near, however much they fall still; those that do not may yet."""
    run = Run(SMALL, whole["N-D"])
    one, curve = run["baseline/one"][0], np.linspace(5, 1, len(run["curve/step"]))[None]
    falling = {name: curve * one for name in run.tensors if name.startswith("curve/") and name != "curve/step"}
    for factor, undecided in ((0.5, False), (2.0, True)):
        losses = np.full_like(run["evaluated/loss"], factor * one)
        ended = Run(SMALL, {**run.tensors, **falling, "evaluated/loss": losses})
        found = {metric.claim.id: metric for metric in comparison.metrics(ended)}
        assert bool(found["one-layer-is-not-enough"].unfinished) == undecided
        assert bool(found["two-layer-transformer-reaches"].unfinished) == undecided


# What is stored stays true


def drawn(run):
    """Every panel's words and numbers, and the metrics."""
    panels = {d.name: d.draw(run, View(single_seeds=True)) for d in comparison.EXPERIMENT.drawings}
    said = {name: (panel.title, panel.note, panel.data.to_json()) for name, panel in panels.items()}
    return said, comparison.headline(run, View()), [(m.claim.id, m.value) for m in comparison.metrics(run)]


@pytest.mark.parametrize("model", ["1-D", "N-D"])
def test_a_baseline_added_tomorrow_leaves_todays_run_as_it_is(whole, monkeypatch, model):
    run = Run(replace(SMALL, model=model), whole[model])
    before = drawn(run)
    monkeypatch.setitem(MODELS, "hyena", replace(MODELS["s5"], id="hyena", label="Hyena"))
    learners.cache_clear()
    assert "hyena" in [each.model.id for each in learners(run.config)]  # tomorrow's run holds it
    assert drawn(run) == before
    learners.cache_clear()


def test_a_baseline_that_is_gone_tomorrow_is_drawn_under_its_id(whole, give_up):
    run = Run(SMALL, whole["N-D"])
    said, _, metrics = drawn(run)
    give_up(MODELS, "mamba")
    learners.cache_clear()
    now, _, again = drawn(run)
    assert again == metrics and all("Mamba" not in str(panel) for panel in now.values())
    assert [name.replace("mamba", "Mamba") for name in pd.DataFrame(json.loads(now["ends"][2]))["model"]] == [
        *pd.DataFrame(json.loads(said["ends"][2]))["model"]
    ]
    learners.cache_clear()


@pytest.mark.parametrize("model", ["1-D", "N-D"])
def test_a_run_of_the_older_form_becomes_todays(whole, model):
    today = whole[model]
    then = {id: label for label, id, _ in THEN}
    new = ("names/models", "names/baselines", "size/layers")
    old = {name: array for name, array in today.items() if name not in new}
    old = {f"curve/{then[n[6:]]}" if n[6:] in then else n: a for n, a in old.items()}
    old["judged/loss"] = old.pop("evaluated/loss")
    upgraded = upgrade(old)
    assert upgraded.keys() == today.keys() and upgrade(upgraded) is upgraded
    for name, array in today.items():
        assert np.array_equal(upgraded[name], array), name
