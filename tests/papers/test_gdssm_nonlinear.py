"""Sine regression: the model against gradient descent and the package's own layers, the trainings,
the drawings."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from icl_core.contract import statistics
from icl_core.contract.experiment import CannotDraw, Run, names
from icl_core.papers.gdssm import nonlinear
from icl_core.papers.gdssm.nonlinear import claims, model, train
from icl_core.papers.gdssm.nonlinear.draw import fits, losses
from icl_core.papers.gdssm.nonlinear.draw.losses import many_seeds
from icl_core.papers.gdssm.nonlinear.load_run import (
    GRID,
    descended,
    example,
    learned,
    model_at,
    nearest_sine,
    tasks_for_queries,
)
from icl_core.papers.gdssm.nonlinear.model import Model, frozen, initial
from icl_core.papers.gdssm.nonlinear.settings import FIGURE_4B, VARIANTS, Config, View
from icl_core.papers.gdssm.shared import construction, gradient_descent, multi_layer
from icl_core.papers.gdssm.shared.task import Tasks, interleaved, sample, sample_sine, windows
from tests.cells import shipped
from tests.drawn import checked, without_nan, without_words
from tests.recorder import Interrupted, Recorder, short_run

LINEAR, STATE, LINEAR_GATE, MLP, MLP_GATE = (
    VARIANTS[id] for id in ("linear", "state", "linear gate", "mlp", "mlp gate")
)
SMALL = Config(steps=10, batch=16, N=4, features=3, hidden=5)


@pytest.fixture(autouse=True, scope="module")
def few():
    """Few tasks to judge on."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(train, "TEST_SET", 2**10)
        patch.setattr(train, "WATCHED", 2**8)
        yield


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def identity(f: int, rates: list[float], variant=LINEAR) -> Model:
    """The construction on x itself."""
    config = Config(features=f, layers=len(rates), hidden=4)
    weights = initial(config, variant, [0]).to(torch.float64)
    eye = torch.eye(f, dtype=torch.float64)[None]
    return weights.with_(W=eye, c=0 * weights.c, b=torch.tensor([rates], dtype=torch.float64))


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("f", [1, 4])
def test_without_embedding_and_gate_it_is_gradient_descent(f, layers):
    tasks = sample(f, 6, 20, generator(), 1).to(torch.float64)
    rate = 0.7
    W = gradient_descent.descend(tasks, rate, layers)[-1]
    expected = gradient_descent.predict(W, tasks)[0]
    weights = identity(f, [rate / 6] * layers)
    torch.testing.assert_close(model.forward(weights, tasks)[0], expected, atol=1e-10, rtol=0)
    implicit = model.implicit_model(weights, model.embed(weights, tasks.x), tasks.y[:-1, 0])[0]
    torch.testing.assert_close(implicit, W[0], atol=1e-10, rtol=0)


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_random_layers_are_those_of_the_package(layers):
    """Against `multi_layer` in both its forms, on windows that are written out, with labels along
    v."""
    config = replace(SMALL, ssm="trained", layers=layers)
    weights = initial(config, MLP, [3]).to(torch.float64)
    v = torch.randn(1, 3, generator=generator(), dtype=torch.float64)
    tasks = sample_sine(4, 9, generator()).to(torch.float64)
    phi = model.embed(weights, tasks.x)
    labels = v[0, :, None] * tasks.y
    C = windows(interleaved(Tasks(phi[0].transpose(0, 1), labels)))
    package = multi_layer.MultiLayer(
        weights.a[..., None],
        weights.a_tilde[..., None],
        weights.Q,
        weights.Q_tilde,
        weights.q,
        weights.b,
    )
    context = phi, tasks.y[:-1, 0], v
    computed = model.apply(weights, layers - 1, context, model._read(context, weights.q))
    for expected in (multi_layer.attention(package, C), multi_layer.recurrent(package, C)[0][-1]):
        torch.testing.assert_close(computed, expected, atol=1e-12, rtol=1e-10)


def test_the_gated_unit_is_x_times_the_sigmoid_of_a_linear_map():
    weights = initial(replace(SMALL, layers=2), MLP_GATE, [0, 1])
    weights = weights.with_(k=torch.full_like(weights.k, 0.3))
    output, query = torch.randn(2, 2, 3, 5, generator=generator())
    computed = model.gated(weights, 1, output, query)
    for s in range(2):
        for t in range(5):
            x = output[s, :, t] + 0.3 * query[s, :, t]
            expected = x / (1 + torch.exp(-(weights.G[s, 1] @ x + weights.g[s, 1])))
            torch.testing.assert_close(computed[s, :, t], expected)


@pytest.mark.parametrize("layers", [1, 3])
def test_open_gates_leave_the_model_as_it_is(layers):
    tasks = sample_sine(4, 9, generator())
    gated = initial(replace(SMALL, layers=layers), MLP_GATE, [0])
    first = torch.eye(3)[:1]
    gated = gated.with_(g=torch.full_like(gated.g, 50.0), G=0 * gated.G, v=first, r=first)
    plain = gated.with_(G=None, g=None, k=None, v=None, r=None)
    torch.testing.assert_close(model.forward(gated, tasks), model.forward(plain, tasks))


def test_an_mlp_on_the_state_leaves_the_model_linear_in_the_query():
    """Whatever its weights and the prompt: correction 6, and the bound of the best
    straight line."""
    weights = initial(replace(SMALL, layers=2), STATE, [7]).to(torch.float64)
    queries = np.array([-5.0, -1.0, 0.0, 2.0, 5.0])
    tasks = tasks_for_queries(example(Run(SMALL, {}), 0), queries).to(torch.float64)
    line = model.forward(weights, tasks)[0].numpy()
    np.testing.assert_allclose(line, np.polyval(np.polyfit(queries, line, 1), queries), atol=1e-12)


def test_best_line_and_mean_against_monte_carlo():
    tasks = sample_sine(400, 4000, generator()).to(torch.float64)
    x = tasks.x[:, 0]
    y = tasks.y[:, 0]
    slope = ((x - x.mean(0)) * y).mean(0) / x.var(0, correction=0)
    residual = y - y.mean(0) - slope * (x - x.mean(0))
    assert float(residual.square().mean()) / 2 == pytest.approx(train.best_line(), rel=0.03)
    assert float(y.square().mean()) / 2 == pytest.approx(train.ZERO, rel=0.03)
    amplitude = float((y * x.cos()).mean() / x.cos().square().mean())
    assert amplitude == pytest.approx(train.MEAN, rel=0.05)


@pytest.mark.parametrize("layers", [1, 2])
def test_the_grey_curve_is_the_best_mixture(layers):
    config = replace(SMALL, layers=layers)
    run = Run(config, train.baselines(config))
    prompts = train.held_out(config, train.TEST_SET)
    tasks = train.ideal(prompts)
    mixture = run["ideal/mixture"].astype(float)
    ideal = float(construction.inner(tasks, layers).loss(mixture))
    assert ideal == pytest.approx(float(run["baseline/ideal"][0]), rel=1e-4)
    predictions = []
    for t in range(200):
        pairs = np.stack([prompts.x[:-1, 0, t], prompts.y[:-1, 0, t]], 1)
        query = prompts.x[-1, 0, t : t + 1].numpy()
        predictions.append(descended(run, tasks_for_queries(pairs, query))[0])
    labels = prompts.y[-1, 0, :200].numpy()
    expected = float(construction.inner(tasks.part(0, 200), layers).loss(mixture))
    assert float(np.mean((predictions - labels) ** 2)) / 2 == pytest.approx(expected, rel=1e-3)


# Trainings


def small_run(**changes) -> Run:
    return short_run(train.compute, replace(SMALL, **changes))


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
@pytest.mark.parametrize("ssm", ["construction", "trained"])
def test_seeds_together_are_each_alone(variant, ssm):
    config = replace(SMALL, ssm=ssm, layers=2)
    tasks = sample_sine(4, 9, generator())
    both = initial(config, variant, [0, 1])
    fixed = frozen(config, variant)
    together, losses = train.gradient(both, fixed, tasks)
    for seed in (0, 1):
        alone, loss = train.gradient(initial(config, variant, [seed]), fixed, tasks)
        np.testing.assert_allclose(losses["loss"][seed], loss["loss"][0], rtol=1e-5)
        for name, tensor in alone.items():
            torch.testing.assert_close(together[name][seed], tensor[0], rtol=1e-3, atol=1e-6)
    assert not set(fixed) & set(together)


def test_a_run_has_the_shapes_that_it_promises():
    run = small_run(seeds=2, layers=2)
    moments = len(run["snapshot/step"])
    for variant in VARIANTS.values():
        assert run[f"curve/{variant.id}"].shape == (2, len(run["curve/step"]))
        assert run[f"evaluated/{variant.id}"].shape == (2,)
        assert run[f"evaluated/{variant.id}/blind"].shape == (2,)
        assert run[f"snapshot/{variant.id}/b"].shape == (moments, 2, 2)
    assert (run["snapshot/mlp/Q"] == run["snapshot/mlp/Q"][:1]).all()  # frozen
    assert not (run["snapshot/mlp/W"] == run["snapshot/mlp/W"][:1]).all()
    assert model_at(run, "mlp", -1, 1).W.shape == (1, 3, 5)


def test_a_resumed_run_equals_an_uninterrupted_one_bit_for_bit():
    config = replace(SMALL, ssm="trained", seeds=2)
    saved = None
    for stop in (4, 17, 33):  # in the first model's training, and in later ones
        recorder = Recorder(stop, saved)
        with pytest.raises(Interrupted):
            train.compute(config, recorder)
        saved = recorder.saved
        assert {name for name in recorder.seen if name.startswith("curve/")} - {"curve/step"}
    again = train.compute(config, Recorder(saved=saved))
    whole = small_run(ssm="trained", seeds=2).tensors
    assert again.keys() == whole.keys()
    for name, array in whole.items():
        assert array.tobytes() == again[name].tobytes(), name


@pytest.mark.long
def test_a_short_training_bends_only_with_an_mlp():
    config = Config(steps=300, batch=64, hidden=20)
    losses = {}
    for variant in (LINEAR_GATE, MLP):
        weights = initial(config, variant, [0])
        train.loop.train(train.problem(config, variant, weights), 300, [], {}, lambda *_: None)
        losses[variant.id] = float(train.losses(weights, train.held_out(config, 2**12))[0])
        if variant is MLP:
            assert learned(weights).r2.min() > 0.9
    assert losses["mlp"] < 0.005 < 0.013 < losses["linear gate"] < 0.99 * train.ZERO


def test_the_sine_of_a_prompt_is_found():
    pairs = example(Run(Config(), {}), 3)
    np.testing.assert_allclose(nearest_sine(pairs, pairs[:, 0]), pairs[:, 1], atol=1e-5)
    assert nearest_sine(pairs, GRID).shape == GRID.shape


# The experiment


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"seeds": 2, "layers": 2, "ssm": "trained"},
        {"features": 1, "N": 1},
        pytest.param({"features": 2, "layers": 3}, marks=pytest.mark.long),
    ],
)
def test_every_drawing_metric_and_headline(changes):
    run = small_run(**changes)
    experiment = nonlinear.EXPERIMENT
    other = View(snapshot=0, prompt=99, seed_shown=5, features_of="linear", points="9:1, -3:2")
    for view in (View(), other):
        for drawing in experiment.drawings:
            panel = drawing.draw(run, view)
            assert panel.title and len(panel.caption) > 40 and panel.figure is not None
            checked(panel.figure)
        without_nan(experiment, run, view)
        assert experiment.headline(run, view).endswith(".")
    assert all(np.isfinite(metric.value) for metric in experiment.metrics(run))
    assert experiment.cost(run.config) > 0


def test_a_run_that_is_still_going_is_drawn():
    run = small_run()
    some = {name: run[name] for name in ("names/variants", "curve/step", "curve/linear")}
    some["curve/state"] = run["curve/state"][:, :2]
    first = {"names/variants": run["names/variants"], "curve/step": np.array([0])}
    first["curve/linear"] = run["curve/linear"][:, :1]
    for tensors in (some, first, {}):
        for drawing in nonlinear.EXPERIMENT.drawings:
            if drawing.live:
                panel = drawing.draw(Run(run.config, tensors, finished=False), View())
                assert panel.title and panel.figure is not None
                without_words(panel)
                checked(panel.figure)


def test_what_is_refused(monkeypatch):
    with pytest.raises(ValueError, match="points must be pairs x:y"):
        View(points="1")
    monkeypatch.setattr("icl_core.machine.device.memory", lambda: 2**20)
    message = "batch 128, N 10, features 10, hidden 40, layers 1, seeds 1, many 0 must fit"
    with pytest.raises(ValueError, match=message):
        Config()


# What is stored stays true


@pytest.mark.long
@pytest.mark.parametrize("preset", [preset.name for preset in nonlinear.EXPERIMENT.presets])
def test_snapshots_read_back_achieve_what_their_curves_say(preset):
    """Within three quarters of a percent or .04 % of predicting zero, .026, at every snapshot of
    every model that the curves were taken at too: weights are kept in half precision."""
    run = shipped("gdssm.nonlinear", preset)
    tasks = train.held_out(run.config, 2**11)  # as in the training, whatever `few` says
    compared = 0
    for id in run.names("variants"):
        for index, step in enumerate(run.snapshot_steps):
            for place in np.flatnonzero(run["curve/step"] == step):
                loss = train.losses(model_at(run, id, index, 0), tasks)[0]
                expected = run[f"curve/{id}"][0, place]
                assert loss == pytest.approx(expected, rel=0.0075, abs=1e-5), (id, step)
                compared += 1
    assert compared >= 3 * len(VARIANTS)


def test_a_variant_added_tomorrow_or_gone_leaves_todays_run_as_it_is(monkeypatch, give_up):
    run = small_run()

    def output():
        panels = [drawing.draw(run, View()) for drawing in nonlinear.EXPERIMENT.drawings]
        values = [metric.value for metric in nonlinear.claims.measure(run)]
        return [(panel.title, panel.data.to_json()) for panel in panels], values

    before = output()
    monkeypatch.setitem(VARIANTS, "kernel", replace(MLP, id="kernel", label="kernel"))
    assert output() == before
    give_up(VARIANTS, "state")
    assert output()[1] == before[1]  # still drawn, under its id


@pytest.mark.parametrize("ssm", ["construction", "trained"])
def test_behind_a_linear_embedding_layers_are_both_trained_and_constructed(ssm):
    """Whatever the layers under the MLP are: a model of each pair moves in all that the other does
    but the layers."""
    run = small_run(ssm=ssm, seeds=2, layers=2)
    for name in ("linear", "linear gate"):
        for id, moves in ((name, False), (f"{name} trained", True)):
            for part in ("Q", "Q_tilde", "q", "a"):
                weights = run[f"snapshot/{id}/{part}"]
                assert (weights[-1] == weights[0]).all() != moves, (id, part)
            assert not (run[f"snapshot/{id}/W"][-1] == run[f"snapshot/{id}/W"][0]).all()
    panel = losses.trained_and_constructed(run, View())
    ends = [run[f"evaluated/{id}"].mean() for id in FIGURE_4B]
    np.testing.assert_allclose(panel.data["loss"], ends, atol=1e-5)
    paired = run["evaluated/linear gate trained"] / run["evaluated/linear gate"] - 1
    median, error = claims.median_over(run, "linear gate trained", "linear gate", 0.0)
    assert median == pytest.approx(paired.mean(), rel=1e-5)  # the median of two
    assert error is None  # two seeds have no interval


def test_many_seeds_begin_with_the_runs_own():
    """Each as it would end in the run itself, whatever trains beside it; the claims take their
    median, and the panel shows every one."""
    run = small_run(many=30, seeds=2)
    for id in FIGURE_4B:
        losses = run[f"many/{id}"]
        curve = run[f"many/curve/{id}"]
        assert losses.shape == (30,) and curve.shape == (30, len(run["curve/step"]))
        np.testing.assert_allclose(losses[:2], run[f"evaluated/{id}"], rtol=1e-4)
        np.testing.assert_allclose(curve[:2], run[f"curve/{id}"], rtol=1e-4)
        assert len(np.unique(losses)) == 30
    measured = {metric.claim.id: metric for metric in claims.measure(run)}
    away = run["many/linear trained"] / run["many/linear"] - 1
    better = measured["sine-trained-better-plain"]
    assert better.value == pytest.approx(np.median(away), rel=1e-5)
    low, high = statistics.median_interval(away)
    end = low if better.value > 0 else high
    assert 1.96 * better.error == pytest.approx(abs(end - better.value), rel=1e-5)
    panel = many_seeds(run, View())
    assert [len(trace["x"]) for trace in panel.figure.data] == [30] * 4
    median = np.median(run["many/linear trained"])
    np.testing.assert_allclose(panel.data["median"][1], median, atol=1e-5)


def test_a_model_that_the_run_does_not_hold_cannot_be_drawn():
    run = small_run()
    without = Run(run.config, {**run.tensors, "names/variants": names(["linear"])})
    with pytest.raises(CannotDraw, match="This run holds no model “MLP”"):
        fits.features(without, View(features_of="mlp"))
    with pytest.raises(CannotDraw, match="This run holds no model “linear, gated”"):
        losses.trained_and_constructed(without, View())
