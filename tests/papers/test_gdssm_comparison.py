"""The comparison with other models: equal tokens and tasks, learning rates as tuned, resumption,
drawings."""

import itertools
import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch

from icl_core.contract.experiment import CannotDraw, Run
from icl_core.papers.gdssm import comparison
from icl_core.papers.gdssm.comparison import exact
from icl_core.papers.gdssm.comparison import run as module
from icl_core.papers.gdssm.comparison.claims import at_the_edge, seeds_near
from icl_core.papers.gdssm.comparison.draw.losses import first_to_leave, number_column
from icl_core.papers.gdssm.comparison.load_run import entries
from icl_core.papers.gdssm.comparison.settings import Config, View
from icl_core.papers.gdssm.shared import construction, gradient_descent
from icl_core.papers.gdssm.shared.sequence_models import MODELS, train
from icl_core.papers.gdssm.shared.sequence_models.all_models import learners, sequence
from icl_core.papers.gdssm.shared.sequence_models.plain import linear_transformer
from icl_core.papers.gdssm.shared.sequence_models.settings import EVALUATED, UNDECIDED
from icl_core.papers.gdssm.shared.sequence_models.train import evaluate, gradient, held_out, tasks
from icl_core.papers.gdssm.shared.sequence_models.training_end import (
    FALLING,
    FLAT,
    LOST,
    ZERO,
    end,
    late,
)
from icl_core.papers.gdssm.shared.task import Tasks, loss
from icl_core.training import loop
from tests.cells import shipped
from tests.drawn import numbers_of, without_nan, without_words
from tests.papers.test_gdssm_baselines import generator
from tests.parameters import first_is_short
from tests.recorder import Interrupted, Recorder, short_run

SMALL = Config(f=2, N=2, batch=16, steps=10, tuning=10, parameters=1000)
PLAIN = replace(SMALL, model="1-D", form="plain")
FEW = (101, 64)
DRAWINGS = {drawing.name: drawing for drawing in comparison.EXPERIMENT.drawings}


@pytest.fixture(autouse=True, scope="module")
def few():
    with pytest.MonkeyPatch.context() as patch:
        for name in ("TUNED_ON", "WATCHED", "TEST_SET"):
            patch.setattr(train, name, FEW)
        yield


def whole(name: str) -> dict[str, np.ndarray]:
    """The tensors of a run of "N-D", of "1-D", or of some models in the plain form."""
    config = PLAIN if name == "plain" else replace(SMALL, model=name)
    with pytest.MonkeyPatch.context() as patch:
        if name == "plain":
            ids = ("gd-ssm-1", "s5", "linear-1", "linear-2")
            some = tuple(learner_of(PLAIN, id) for id in ids)
            patch.setattr(module, "learners", lambda config: some)
        return short_run(comparison.compute, config).tensors


def learner_of(config, id):
    return next(learner for learner in learners(config) if learner.model.id == id)


@pytest.mark.parametrize("model", ["1-D", "N-D"])
def test_every_model_predicts_the_labels_coordinates_from_the_same_tokens(model):
    config = replace(SMALL, model=model)
    batch = tasks(config, 8, generator())
    for learner in learners(config):
        predicted = learner.predict(learner.initial([3, 4]), batch)
        assert predicted.shape == (2, *batch.y.shape[1:]), learner.model.id
        # the query's label is no token
        unseen = Tasks(batch.x, torch.cat([batch.y[:-1], batch.y[-1:] + 7]))
        again = learner.predict(learner.initial([3, 4]), unseen)
        assert torch.equal(predicted, again), learner.model.id
    assert sequence(config, batch).shape == (8, *((2, 4) if model == "1-D" else (5, 2)))


def test_a_seeds_weights_do_not_depend_on_those_beside_it():
    for learner in learners(SMALL):
        alone = learner.initial([4])
        beside = learner.initial([3, 4])
        assert all(torch.equal(alone[name][0], beside[name][1]) for name in alone), learner.model.id


def test_evaluating_in_chunks_is_evaluating_at_once():
    many = tasks(SMALL, EVALUATED + 3, generator())
    for learner in learners(SMALL):
        weights = learner.initial([0, 1])
        at_once = loss(learner.predict(weights, many), many.y[-1])
        assert np.allclose(evaluate(learner, weights, many), at_once, rtol=1e-5), learner.model.id


def test_a_gradient_is_each_seeds_own_and_no_longer_than_1():
    learner = learner_of(SMALL, "griffin")
    batch = tasks(SMALL, 16, generator())
    weights = {name: 10 * tensor for name, tensor in learner.initial([0, 1]).items()}
    both, losses = gradient(learner, weights, batch)
    length = sum(tensor.reshape(2, -1).square().sum(1) for tensor in both.values()).sqrt()
    assert (length < 1.0001).all() and length.max() > 0.999  # these are long enough to be cut
    weights = {name: tensor[1:] for name, tensor in weights.items()}
    second, alone = gradient(learner, weights, batch)
    assert np.allclose(alone["loss"][0], losses["loss"][1], rtol=1e-4)
    for name, tensor in second.items():
        assert torch.allclose(tensor[0], both[name][1], atol=1e-4), name


def test_sizes_are_matched_within_5_percent():
    for model, (f, parameters) in itertools.product(("1-D", "N-D"), ((3, 4000), (10, 8000))):
        for learner in learners(Config(model=model, f=f, N=f, form="plain", parameters=parameters)):
            if learner.model.baseline:
                size = learner.size
                place = (model, f, learner.model.id)
                assert 0.95 <= size.parameters / parameters <= 1.05, place
                assert size.width == max(20, 3 * f + 1), place


@pytest.mark.long
def test_the_run_holds_what_it_says():
    for name in ("N-D", "1-D", "plain"):
        run = whole(name)
        config = PLAIN if name == "plain" else replace(SMALL, model=name)
        models = {"N-D": 10, "1-D": 9, "plain": 4}[name]
        assert name == "plain" or models == len(learners(config))
        assert run["evaluated/loss"].shape == (1, models)
        assert run["tuned/loss"].shape == (models, len(config.rates))
        expected = [train.chosen(config, row) for row in run["tuned/loss"]]
        assert [rate for rate, _ in expected] == run["chosen/rate"].tolist()
        assert [decided for _, decided in expected] == run["chosen/decided"].tolist()
        trained = [part for part in run if part.startswith("final/")]
        assert len(trained) == (7 if name == "plain" else 0)
        evaluated = held_out(config, FEW)
        assert np.isclose(run["baseline/zero"][0], float(evaluated.y[-1].square().mean()) / 2)
        assert np.isclose(run["baseline/one"][0], construction.best_mixture(evaluated, 1)[1])
        assert run["baseline/two"][0] < run["baseline/one"][0] < run["baseline/zero"][0]


def test_a_resumed_run_equals_an_uninterrupted_one_bit_for_bit():
    saved = None
    for stop in (5, 17, 95):  # in a tuning, in the first model's training, in a later model's
        recorder = Recorder(stop, saved)
        with pytest.raises(Interrupted):
            comparison.compute(SMALL, recorder)
        saved = recorder.saved
    again = comparison.compute(SMALL, Recorder(saved=saved))
    assert again.keys() == whole("N-D").keys()
    for name, array in whole("N-D").items():
        assert array.tobytes() == again[name].tobytes(), name


def alone(learner, rate):
    """The weights after tuning one learning rate by itself."""
    weights = learner.initial([SMALL.seed])
    problem = train.problem(SMALL, learner, weights, rate)
    loop.train(problem, SMALL.steps, [], {}, lambda state, save: None)
    return weights


@pytest.mark.parametrize("name", ["griffin", "linear-2"])
def test_rates_tried_in_one_pass_are_each_tried_by_itself(name):
    learner = learner_of(SMALL, name)
    weights = learner.initial([SMALL.seed] * len(SMALL.rates))
    problem = train.tuning_problem(SMALL, learner, weights)
    loop.train(problem, SMALL.tuning, [], {}, lambda state, save: None)
    for row, rate in enumerate(SMALL.rates):
        for part, tensor in alone(learner, rate).items():
            assert torch.allclose(weights[part][row], tensor[0], atol=1e-5), (rate, part)


def test_rates_that_diverge_are_given_up(monkeypatch):
    monkeypatch.setattr(train, "CEILING", 1e-9)
    tuning = train.tune(SMALL, learner_of(SMALL, "griffin"), {}, lambda state, save: None)
    assert np.isinf(tuning["loss"]).all()


@pytest.mark.parametrize("model", first_is_short(["N-D", "1-D"]))
def test_all_of_it_can_be_drawn(model):
    run = Run(replace(SMALL, model=model), whole(model))
    for drawing in comparison.EXPERIMENT.drawings:
        if drawing.applies(run.config):
            panel = drawing.draw(run, View(single_seeds=True))
            assert panel.title and panel.caption
            assert panel.table is not None or (panel.figure is not None and panel.data is not None)
    without_nan(comparison.EXPERIMENT, run, View(single_seeds=True))
    assert all(np.isfinite(metric.value) for metric in comparison.claims.measure(run))
    live = [drawing for drawing in comparison.EXPERIMENT.drawings if drawing.live]
    assert live
    watched = {name: array for name, array in whole(model).items() if name.startswith("watched/")}
    for curves in (("curve/step", "curve/s5"), ()):
        begun = Run(run.config, watched | {n: run[n] for n in curves}, finished=False)
        assert all(drawing.draw(begun, View()).title for drawing in live)


def drawings_of(run):
    return [drawing for drawing in comparison.EXPERIMENT.drawings if drawing.applies(run.config)]


def metrics_of(run):
    return {metric.claim.id: metric for metric in comparison.claims.measure(run)}


# Trainings that diverge

SEEDS = replace(SMALL, model="1-D", seeds=2)
LINEAR = "linear-1"


def lost(learner, weights, batch, calls):
    """Mamba's long training from step 6 on; S5 at the highest rate from step 3 on, and the linear
    transformer too, by its gradient alone; Griffin at every rate."""
    gradients, losses = gradient(learner, weights, batch)
    id = learner.model.id
    calls[id] += 1
    long = len(losses["loss"]) == SEEDS.seeds
    astray = {
        "mamba": long and calls[id] > SEEDS.tuning + 6,
        "s5": not long and calls[id] > 3 and np.array(SEEDS.rates) == max(SEEDS.rates),
        "griffin": True,
    }
    if id == LINEAR and not long and calls[id] > 3:
        gradients["W_in"][-1, 0, 0] = np.nan
    return gradients, {"loss": np.where(astray.get(id, False), np.inf, losses["loss"])}


@pytest.fixture(scope="module")
def astray(few):
    """The run in which they do, and the one in which nothing does."""
    straight = Run(SEEDS, comparison.compute(SEEDS, Recorder()))
    calls = Counter()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(train, "gradient", lambda *inputs, dense=False: lost(*inputs[:3], calls))
        return Run(SEEDS, comparison.compute(SEEDS, Recorder())), straight


@pytest.mark.long
def test_a_training_that_diverges_ends_alone(astray):
    run, straight = astray
    names = [learner.model.id for learner in learners(SEEDS)]
    for place, name in enumerate(names):
        evaluated = run["evaluated/loss"][:, place]
        curve = run.tensors.get(f"curve/{name}")
        if name in ("mamba", "griffin"):
            assert np.isinf(evaluated).all()
        else:
            same = evaluated.tobytes() == straight["evaluated/loss"][:, place].tobytes()
            assert same or name in ("s5", LINEAR)  # for these another rate may now be the best
            assert np.isfinite(evaluated).all() and np.isfinite(curve).all()
        if name == "mamba":  # what was recorded of it is kept
            recorded = run["curve/step"] <= 6
            assert np.array_equal(curve[:, recorded], straight[f"curve/{name}"][:, recorded])
            assert np.isnan(curve[:, ~recorded]).all() and not recorded.all()
    griffin = names.index("griffin")
    assert "curve/griffin" not in run.tensors
    assert np.isnan(run["chosen/rate"][griffin])
    losses = run["tuned/loss"]
    assert np.isinf(losses[griffin]).all() and np.isinf(losses).sum() == len(SEEDS.rates) + 2
    for name in ("s5", LINEAR):  # the other rates were not disturbed
        row = names.index(name)
        assert np.isinf(losses[row, -1]), name
        assert losses[row, :-1].tobytes() == straight["tuned/loss"][row, :-1].tobytes(), name


def test_the_first_to_leave_predicting_zero_is_named_and_who_never_does_is_counted():
    steps = np.array([0, 10, 20])
    late = {"A": np.array([1.0, 1.0, 0.5])}
    early = {"B": np.array([1.0, 0.5, 0.5])}
    level = {"C": np.ones(3)}
    sentence = first_to_leave(steps, late | early | level, 1.0)
    assert sentence == "First off zero is B, by step 10; 1 never"
    assert first_to_leave(steps, early, 1.0) == "First off zero is B, by step 10"
    assert first_to_leave(steps, level, 1.0) == "No model leaves predicting zero"


@pytest.mark.long
def test_what_diverged_is_told_and_not_drawn(astray):
    run = astray[0]
    panels = {d.name: d.draw(run, View(single_seeds=True)) for d in drawings_of(run)}
    for panel in panels.values():
        without_words(panel)
        for trace in panel.figure.plotly().data if panel.figure else ():
            assert not np.isinf(numbers_of(trace.y)).any()
            assert not np.isinf(numbers_of(trace.x)).any()
    for panel in (panels["ends"], panels["parameters"]):
        assert "Diverged: Mamba, Griffin." in panel.caption
        assert all(np.isfinite(numbers_of(trace.y)).all() for trace in panel.figure.plotly().data)
        assert list(panel.data["loss"]).count("diverged") == 2
    notes = [note.text for note in panels["ends"].figure.plotly().layout.annotations]
    assert notes.count("diverged") == 2
    assert panels["ends"].data.set_index("model")["rate"]["Griffin"] == "none"
    sentence = "Diverged: Mamba after step 5, Griffin at every rate."
    assert panels["training"].caption.endswith(sentence)
    sentence = "Diverged: S5 at 0.01, Griffin at every rate, linear transformer, 1 layer at 0.01."
    assert sentence in panels["rates"].note
    assert panels["rates"].data.set_index("model")["0.01"]["S5"] == "diverged"
    assert not any(np.isnan(metric.value) for metric in comparison.claims.measure(run))
    assert comparison.EXPERIMENT.headline(run, View()).endswith(".")


@pytest.mark.long
def test_a_run_in_which_all_diverged_is_drawn(astray):
    off = {"evaluated/loss": np.inf, "tuned/loss": np.inf, "chosen/rate": np.nan}
    tensors = {
        n: np.full_like(a, off[n]) if n in off else a
        for n, a in astray[0].tensors.items()
        if "curve/" not in n
    }
    run = Run(SEEDS, tensors)
    for drawing in drawings_of(run):
        without_words(drawing.draw(run, View()))


def test_a_loss_far_above_predicting_zero_leaves_the_others_in_sight():
    zero = float(whole("N-D")["baseline/zero"][0])
    losses = whole("N-D")["evaluated/loss"].copy()
    losses[0, -1] = 100 * zero
    run = Run(SMALL, whole("N-D") | {"evaluated/loss": losses})
    for name, axis in (("ends", "x"), ("parameters", "y")):
        panel = DRAWINGS[name].draw(run, View())
        figure = panel.figure.plotly()
        edge = figure.layout[f"{axis}axis"].range[1]
        assert edge < 2 * zero
        sentence = f"Beyond the edge: softmax transformer, 2 layers at {100 * zero:.3g}."
        assert sentence in panel.caption
        assert numbers_of([trace[axis][0] for trace in figure.data]).max() == edge


@pytest.mark.parametrize("many, side", [(16, "left"), (411, "right"), (1620, "right")])
def test_names_in_the_drawing_of_sizes_stand_on_the_side_with_room(many, side):
    sizes = np.full_like(whole("N-D")["size/parameters"], 1000)
    sizes[0] = many
    run = Run(SMALL, whole("N-D") | {"size/parameters": sizes})
    figure = DRAWINGS["parameters"].draw(run, View()).figure.plotly()
    sides = {note.text: note.xanchor for note in figure.layout.annotations}
    assert sides["GD-SSM, 1 layer"] == side and sides["the others"] == "right"


def test_a_column_of_numbers_stays_one():
    assert np.array_equal(number_column([0.12345, 2.0], 2), [0.12, 2.0])
    assert number_column([0.12345, np.inf], 2) == ["0.12", "diverged"]


def test_what_is_out_of_range_is_refused():
    with pytest.raises(ValueError, match="steps must be a whole number"):
        Config(steps=0)
    with pytest.raises(ValueError, match="model must be one of"):
        Config(model="2-D")


def ended(run, factor, curve, config):
    """The same run as if it had been trained at `config` to this end, times one step's loss, by
    this curve, times predicting zero, for all models."""
    models = run.names("models")
    curves = dict.fromkeys(
        (f"curve/{id}" for id in models),
        np.tile(curve * run["baseline/zero"][0], (config.seeds, 1)),
    )
    curves["curve/step"] = np.linspace(0, config.steps, len(curve))
    evaluated = np.full((config.seeds, len(models)), factor * run["baseline/one"][0], np.float32)
    return Run(config, {**run.tensors, **curves, "evaluated/loss": evaluated})


PAPERS = Config(f=10, N=10, batch=256, steps=20_000, seeds=3)


def test_the_papers_claims_are_decided_at_its_own_setting_and_not_on_a_plateau():
    run = Run(SMALL, whole("N-D"))
    at_zero = run["baseline/zero"][0] / run["baseline/one"][0]
    flat = np.full(40, 0.7)
    undecided = ("not decided", "not decided")
    for factor, curve, expected in (
        (1.0, flat, ("not reproduced", "reproduced")),
        (1.2, flat, ("reproduced", "not reproduced")),
        (at_zero, np.ones(40), undecided),
        (1.2, np.full(40, 0.92), undecided),  # less than a tenth of predicting zero is gained
        (1.2, np.linspace(1.4, 0.7, 40), undecided),
        # the rate is gone there
        (1.2, np.r_[np.linspace(1.4, 0.7, 32), np.full(8, 0.7)], undecided),
        (np.inf, np.r_[np.full(39, 0.7), np.nan], undecided),
    ):
        metrics = metrics_of(ended(run, factor, curve, PAPERS))
        claims = [metrics[name] for name in ("s5-struggles", "two-layer-transformer-reaches")]
        assert tuple(metric.verdict(PAPERS) for metric in claims) == expected
        for other in ({"form": "plain"}, {"width": 0.5}, {"norm": "none"}, {"f": 9}):
            assert {metric.verdict(replace(PAPERS, **other)) for metric in claims} == {"elsewhere"}
        sentence = "Each has seen 5.1 million tasks; the paper trains on up to 19.2 million."
        for metric in claims:
            assert (sentence in metric.unfinished) == (expected == undecided)


@pytest.mark.parametrize("steps", [40, 400, 20_000])
def test_a_tenth_of_the_summed_rate_is_left(steps):
    rates = [loop.cosine(steps, train.WARM_UP)(step) for step in range(steps)]
    assert sum(rates[late(steps) + 1 :]) <= sum(rates) / 10 <= sum(rates[late(steps) :])
    assert 0.55 < late(steps) / steps < 0.7


def test_the_table_says_how_each_training_ended():
    shorter = Run(SMALL, whole("N-D"))
    config = replace(SMALL, steps=400, seeds=3)
    slope = 0.7 + 0.3 * np.linspace(1, 0, 41)
    fell = slope[late(400) // 10] / 0.7 - 1
    for curve, word, fall in (
        (np.full(41, 0.7), FLAT, 0),
        (slope, FALLING, fell),
        (np.ones(41), ZERO, 0),
    ):
        run = ended(shorter, 1.0, curve, config)
        assert {end(run, model.curve).word for model in entries(run)} == {word}
        s5 = entries(run)[3].curve
        assert end(run, s5).fall / s5[:, -1] == pytest.approx([fall] * 3, abs=1e-6)
        panel = DRAWINGS["ends"].draw(run, View())
        assert set(panel.data["ended"]) == {word} and set(panel.data["tasks seen"]) == {400 * 16}
        assert panel.data.set_index("model")["width / (2f + N + 1)"]["Mamba"] == 1.0
        notes = [note["text"] for note in panel.figure.layout["annotations"]]
        assert notes.count(word) == len(entries(run)) * (word != FLAT)
        assert "fall over the last tenth" in panel.figure.data[3]["text"][0]
    assert end(run, None).word == LOST == end(run, np.array([[1.0, np.nan]])).word


def two_layers(run):
    """The transformers of two layers."""
    return [model for model in entries(run) if model.baseline and model.layers == 2]


def test_the_reason_counts_the_seeds_that_are_near():
    run = Run(replace(SMALL, seeds=5), whole("N-D"))
    models = learners(run.config)
    losses = np.full((5, len(models)), 2 * run["baseline/one"][0], np.float32)
    place = [learner.model.id for learner in models].index("linear-2")
    losses[:3, place] = run["baseline/one"][0]
    run = Run(run.config, {**run.tensors, "evaluated/loss": losses})
    linear, softmax = (seeds_near(run, model) for model in two_layers(run))
    assert linear.endswith("Linear transformer, 2 layers 3 of 5.")
    assert softmax.endswith("Softmax transformer, 2 layers 0 of 5.")


def test_what_falls_on_could_change_the_verdict_only_one_way():
    """Models of one layer that come near are near, however much they fall still; those that do not
    may yet."""
    run = Run(SMALL, whole("N-D"))
    one = run["baseline/one"][0]
    curve = np.linspace(5, 1, len(run["curve/step"]))[None]
    falling = {f"curve/{id}": curve * one for id in run.names("models")}
    for factor, undecided in ((0.5, False), (2.0, True)):
        losses = np.full_like(run["evaluated/loss"], factor * one)
        metrics = metrics_of(Run(SMALL, {**run.tensors, **falling, "evaluated/loss": losses}))
        assert bool(metrics["s5-struggles"].unfinished) == undecided
        assert bool(metrics["two-layer-transformer-reaches"].unfinished) == undecided


# What is stored stays true


def words_and_numbers(run):
    """Every panel's words and numbers, and the metrics."""
    panels = {}
    for drawing in drawings_of(run):
        panel = drawing.draw(run, View(single_seeds=True))
        table = panel.data if panel.table is None else panel.table
        panels[drawing.name] = (panel.title, panel.note, table.to_json())
    values = {id: metric.value for id, metric in metrics_of(run).items()}
    return panels, comparison.EXPERIMENT.headline(run, View()), values


@pytest.mark.parametrize("model", first_is_short(["N-D", "1-D"]))
def test_a_baseline_added_tomorrow_leaves_todays_run_as_it_is(monkeypatch, model):
    run = Run(replace(SMALL, model=model), whole(model))
    before = words_and_numbers(run)
    monkeypatch.setitem(MODELS, "hyena", replace(MODELS["s5"], id="hyena", label="Hyena"))
    learners.cache_clear()
    assert learner_of(run.config, "hyena")  # tomorrow's run holds it
    assert words_and_numbers(run) == before
    learners.cache_clear()


def test_a_baseline_that_is_gone_tomorrow_is_drawn_under_its_id(give_up):
    run = Run(SMALL, whole("N-D"))
    before, _, metrics = words_and_numbers(run)
    give_up(MODELS, "mamba")
    learners.cache_clear()
    after, _, metrics_after = words_and_numbers(run)
    assert metrics_after == metrics and all("Mamba" not in str(panel) for panel in after.values())
    labels, ids = (
        list(json.loads(panels["ends"][2])["model"].values()) for panels in (before, after)
    )
    assert [id.replace("mamba", "Mamba") for id in ids] == labels
    learners.cache_clear()


# Rates and sizes


def test_no_rate_is_chosen_while_all_predict_zero():
    zero = train.levels(SMALL, FEW)[0]
    assert train.chosen(SMALL, zero * np.array([0.99, 0.985, np.inf])) == (UNDECIDED, False)
    assert train.chosen(SMALL, zero * np.array([0.99, 0.97, 0.9])) == (1e-2, True)
    # of equals the smallest
    assert train.chosen(SMALL, zero * np.array([0.9, 0.9, 0.99])) == (1e-3, True)
    rate, decided = train.chosen(SMALL, np.full(3, np.inf))
    assert np.isnan(rate) and not decided


def test_the_page_says_that_no_rate_was_chosen():
    run = Run(SMALL, whole("N-D"))
    decided = np.ones(10, np.int8)
    run = Run(SMALL, {**run.tensors, "chosen/decided": decided})
    assert "No rate was chosen" not in DRAWINGS["rates"].draw(run, View()).caption
    decided[-1] = 0
    sentence = (
        "No rate was chosen where none had left predicting zero: 0.003 trains softmax "
        "transformer, 2 layers."
    )
    assert sentence in DRAWINGS["rates"].draw(run, View()).caption


@pytest.mark.parametrize(
    "id, slow", [("mamba", {"log_A", "D", "b_Δ"}), ("linear-2", set()), ("gd-ssm-1", set())]
)
def test_the_state_spaces_parameters_train_at_a_third_of_the_rate(id, slow):
    learner = learner_of(SMALL, id)
    weights = learner.initial([0])
    optimiser = train.problem(SMALL, learner, weights, 3e-3).optimiser(list(weights.values()))
    rates = {tensor: group["lr"] for group in optimiser.param_groups for tensor in group["params"]}
    assert len(rates) == len(weights)
    assert {name for name, W in weights.items() if rates[W] == pytest.approx(1e-3)} == slow


def test_width_is_a_multiple_of_what_the_task_needs():
    assert Config(f=3, N=5).hidden == 12
    assert Config(f=10, N=10).hidden == 31
    half = Config(f=3, N=5, width=0.5)
    assert half.hidden == 6
    assert {learner.size.width for learner in learners(half) if learner.model.baseline} == {6}
    with pytest.raises(ValueError, match="width must make at least 4 hidden numbers"):
        Config(f=2, N=2, width=0.25)
    with pytest.raises(ValueError, match="must fit the memory"):
        Config(f=20, N=20, width=4.0, batch=2048, seeds=5)


# The linear transformer built by hand


@pytest.mark.parametrize("f, N", [(1, 1), (3, 5), (10, 10)])
def test_a_linear_transformer_built_by_hand_takes_one_step(f, N):
    batch = tasks(Config(model="1-D", f=f, N=N), 256, generator(2**31 + 104)).to(torch.float64)
    eta = construction.best_eta(batch)
    step = gradient_descent.predict(gradient_descent.descend(batch, eta, 1)[1], batch)[0]
    predictions = exact.predictions(exact.step_in_linear_attention(f, N, eta), batch)
    assert float((predictions - step).abs().max()) < 1e-13
    p = exact.step_in_linear_attention(f, N, 1.5)
    expected = torch.zeros(2 * f, 2 * f, dtype=torch.float64)
    expected[:f, f:] = 1.5 / N * torch.eye(f, dtype=torch.float64)
    torch.testing.assert_close(exact.products(p), expected, rtol=1e-15, atol=0)
    assert p["W_in"].shape == (2 * f, 2 * f + 2) and p["W_Q"].shape[-1] == f
    batch = tasks(Config(model="1-D", f=f, N=N), 8, generator()).to(torch.float64)
    alone = exact.of_products(expected, batch)
    torch.testing.assert_close(alone, exact.predictions(p, batch), rtol=0, atol=1e-12)


def test_a_step_on_the_last_pair_alone_has_a_mirror_image_in_the_gd_ssm():
    """y_N x_{N+1}^T read at x_N, with decays of zero; its loss is told from that of a step on all
    pairs."""
    config = Config(f=3, N=4)
    learner = learner_of(config, "gd-ssm-1")
    weights = {name: torch.zeros_like(row) for name, row in learner.initial([0]).items()}
    weights["Q"][:, 1, 2] = weights["q"][:, 0] = 1.0
    test_tasks = held_out(config, train.TEST_SET)
    last = test_tasks.y[-2] * (test_tasks.x[-2] * test_tasks.x[-1]).sum(0)  # (f, tasks)
    weights["beta"][:] = (last * test_tasks.y[-1]).sum() / last.square().sum()
    predicted = learner.predict(weights, test_tasks)[0]
    torch.testing.assert_close(predicted, weights["beta"] * last, rtol=1e-4, atol=1e-5)
    mirrored = float(evaluate(learner, weights, test_tasks)[0])
    assert f"alone, {mirrored:.3f}" in exact.on_last_pair(config, mirrored)
    _, one_step, _ = train.levels(config, train.TEST_SET)
    assert one_step < mirrored and exact.on_last_pair(config, one_step) == ""


def test_the_products_are_the_second_derivatives_of_a_prediction():
    """At tokens of zero, by an early token and the last, with the same position vector
    everywhere."""
    f = 2
    N = 3
    weights = learner_of(replace(PLAIN, N=N), "linear-1").initial([0])
    p = {name: tensor[0].double() for name, tensor in weights.items()}
    p["P"] = p["P"][:1].expand(N, -1)

    def answer(tokens):
        return linear_transformer.forward(p, tokens[None])[0, -1, 0]

    hessian = torch.func.hessian(answer)(torch.zeros(N, 2 * f, dtype=torch.float64))
    torch.testing.assert_close(exact.products(p), hessian[0, :, N - 1], rtol=0, atol=1e-12)


def test_the_trained_transformer_is_drawn_beside_the_one_built_by_hand():
    run = Run(PLAIN, whole("plain"))
    drawing = DRAWINGS["by hand"]
    assert drawing.applies(PLAIN)
    assert not drawing.applies(SMALL) and not drawing.applies(replace(PLAIN, model="N-D"))
    panel = drawing.draw(run, View())
    assert list(panel.data.columns) == [
        "token t",
        "last",
        "trained",
        "built by hand",
        "GD-SSM's construction",
    ]
    assert np.allclose(panel.data["built by hand"], panel.data["GD-SSM's construction"])
    without_words(panel)
    diverged = {name: array for name, array in run.tensors.items() if "final/" not in name}
    with pytest.raises(CannotDraw, match="diverged"):
        drawing.draw(Run(PLAIN, diverged), View())


def test_a_rate_at_the_edge_of_those_tried_leaves_a_claim_open():
    run = shipped("gdssm.comparison", "N-D")
    rates = run["tuned/rate"]
    chosen = run["chosen/rate"]
    reasons = {model.model.id: at_the_edge(run, model) for model in entries(run)}
    assert {bool(text) for text in reasons.values()} == {True, False}  # both kinds are among them
    for place, (name, text) in enumerate(reasons.items()):
        assert bool(text) == (chosen[place] in (rates.min(), rates.max())), name
        assert not text or f"{chosen[place]:g}" in text
