"""The experiments on GD-SSM: tiny runs, every drawing of them, what is refused, and surgery against
its oracle."""

import dataclasses

import numpy as np
import pytest
import torch

from icl_core.contract.experiment import Panel, Run
from icl_core.contract.knobs import knobs_of
from icl_core.contract.settings_io import whole_numbers
from icl_core.papers.gdssm import corrections, layer, sizes
from icl_core.papers.gdssm.corrections.run import best_gain, best_mixed_rate, gain, mixed_second
from icl_core.papers.gdssm.layer import grafted, symmetries
from icl_core.papers.gdssm.layer import run as layer_run
from icl_core.papers.gdssm.layer.losses import crossing
from icl_core.papers.gdssm.layer.settings import View
from icl_core.papers.gdssm.shared import any_layer as models
from icl_core.papers.gdssm.shared import gradient_descent, train
from icl_core.papers.gdssm.shared.load_run import constructed_of, example, model_of, trained_at
from icl_core.papers.gdssm.shared.settings import Config
from icl_core.papers.gdssm.shared.task import sample
from icl_core.papers.gdssm.shared.typed_points import points
from icl_core.papers.gdssm.sizes.settings import layer_of, sizes_of
from tests.drawn import checked, without_nan
from tests.parameters import first_is_short
from tests.recorder import Recorder, short_run

KINDS = {
    "N-D": {},
    "full": {"recurrence": "full", "skip": True},
    "1-D": {"model": "1-D", "seeds": 2},
    "two layers": {"layers": 2, "recurrence": "scalar", "seeds": 2},
    "as the authors": {"optimiser": "authors", "seeds": 2},
    "penalised": {"layers": 2, "penalty": 0.2},
    "three loops": {"layers": 3, "tied": True},
    "padded labels": {"recurrence": "scalar", "n_o": 2},
    "one feature": {"f": 1, "seeds": 2},
    "one pair, two layers": {"N": 1, "f": 1, "layers": 2},
    "two layers, skip": {"layers": 2, "skip": True},
    "two layers, 1-D": {"layers": 2, "model": "1-D", "recurrence": "scalar", "seeds": 2},
    "three layers": {"layers": 3, "seeds": 2},
    "two loops": {"layers": 2, "tied": True, "seeds": 2},
    "from the construction": {"layers": 2, "start": "construction", "optimiser": "authors"},
    "padded labels, two layers": {"layers": 2, "recurrence": "scalar", "n_o": 1},
    "one feature, 1-D": {"f": 1, "model": "1-D"},
    "one pair": {"N": 1},
}
SHORT = 10  # of them
ODD = View(
    snapshot=0,
    seed_shown=5,
    single_seeds=True,
    raw=True,
    token=1,
    example=99,
    state="curvature",
    points="0:0",
    one_Q="zero",
    one_a="initial",
    scalar_Psi="zero",
    several_Q="constructed",
    several_b="initial",
)


@pytest.fixture(autouse=True, scope="module")
def few():
    """Few tasks to judge on: it is the experiment that is tested."""
    with pytest.MonkeyPatch.context() as patch:
        for module, name in (
            (train, "TEST_SET"),
            (train, "WATCHED"),
            (layer_run, "SWEPT"),
            (grafted, "TASKS"),
        ):
            patch.setattr(module, name, (2**9, 2**20))
        yield


def tiny_run(kind: str) -> Run:
    changes = KINDS[kind]
    return short_run(layer.compute, Config(**{"f": 3, "N": 4, "batch": 16, "steps": 10, **changes}))


def sizes_run(**changes) -> Run:
    settings = {"pairs": "1, 10", "features": "1, 3", "batch": 16, "steps": 10, **changes}
    return short_run(sizes.compute, sizes.Config(**settings))


def corrections_run(**changes) -> Run:
    return short_run(corrections.compute, corrections.Config(tasks=1024, **changes))


def check(panel: Panel):
    assert panel.title and len(panel.caption) > 40
    assert "nan" not in (panel.title + panel.note).lower().replace("finan", "")
    if panel.figure is None:
        assert panel.table is not None
    else:
        checked(panel.figure)


def draw_all(experiment, run, view):
    for drawing in experiment.drawings:
        if drawing.applies(run.config):
            check(drawing.draw(run, view))


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_every_drawing_of_every_model(kind):
    draw_all(layer.EXPERIMENT, tiny_run(kind), View())


@pytest.mark.long
@pytest.mark.parametrize(
    "kind", ["N-D", "1-D", "two layers", "three layers", "one pair, two layers"]
)
def test_every_drawing_of_an_odd_view(kind):
    draw_all(layer.EXPERIMENT, tiny_run(kind), ODD)


@pytest.mark.parametrize("kind", first_is_short(KINDS, SHORT))
def test_metrics_are_numbers_and_the_headline_a_sentence(kind):
    run = tiny_run(kind)
    metrics = layer.EXPERIMENT.metrics(run)
    assert metrics and layer.EXPERIMENT.headline(run, View()).endswith(".")
    for metric in metrics:
        assert metric.value is not None
        # a model that is hardly trained may be better than zero at no scale or at every one
        assert np.isfinite(metric.value) or metric.claim.id in (
            "worse-than-zero",
            "steps-to-one-percent",
        )
        # ten steps decide nothing of the training
        assert metric.verdict(run.config) in ("not decided", "elsewhere", "not run"), metric
    assert layer.cost(run.config) > 0


@pytest.mark.parametrize(
    "experiment, run",
    [(layer, lambda: tiny_run("N-D")), (sizes, sizes_run)],
    ids=["layer", "sizes"],
)
def test_a_run_that_is_still_going_is_drawn(experiment, run):
    """With curves that end in NaN, with one point, and with none."""
    whole = run()
    curves = {name: array for name, array in whole.tensors.items() if name.startswith("curve/")}
    tails = {
        n: np.where(np.arange(a.shape[-1]) > 2, np.nan, a) if n != "curve/step" else a
        for n, a in curves.items()
    }
    first = {n: a[..., :1] for n, a in curves.items()}
    for tensors in (curves, tails, first, {}):
        for drawing in experiment.EXPERIMENT.drawings:
            if drawing.live:
                partial = Run(whole.config, tensors, finished=False)
                panel = drawing.draw(partial, experiment.EXPERIMENT.view())
                assert panel.title and panel.figure is not None
                checked(panel.figure)


LEAST = {
    "one pair": {"N": 1},
    "one pair, scalar labels": {"N": 1, "model": "1-D"},
    "one pair, a decay an entry": {"N": 1, "recurrence": "full", "skip": True},
    "one pair, two layers": {"N": 1, "layers": 2},
    "one feature": {"f": 1},
    "one feature, scalar labels": {"f": 1, "model": "1-D"},
    "one feature, two layers": {"f": 1, "layers": 2},
    "one feature, two layers, scalar labels": {
        "f": 1,
        "layers": 2,
        "model": "1-D",
        "recurrence": "scalar",
    },
    "one pair, two layers, scalar labels": {
        "N": 1,
        "layers": 2,
        "model": "1-D",
        "recurrence": "scalar",
    },
    "one pair, as the authors": {"N": 1, "optimiser": "authors"},
    "one of each": {"f": 1, "N": 1},
    "one of each, scalar labels": {"f": 1, "N": 1, "model": "1-D"},
    "one of each, two layers": {"f": 1, "N": 1, "layers": 2, "penalty": 0.5},
    "one of each, three layers": {"f": 1, "N": 1, "layers": 3},
}


@pytest.mark.long
@pytest.mark.parametrize("kind", LEAST)
def test_one_pair_or_one_feature_draws_without_a_hole(kind):
    config = Config(**{"f": 3, "N": 4, "batch": 16, "steps": 10, **LEAST[kind]})
    run = Run(config, layer.compute(config, Recorder()))
    for view in (View(points="0:0"), View(raw=True, snapshot=0, points="-10:100 10:-100")):
        without_nan(layer.EXPERIMENT, run, view)


@pytest.mark.long
@pytest.mark.parametrize(
    "kind", ["N-D", "full", "1-D", "two layers", "three layers", "one pair, two layers"]
)
def test_a_negative_decay_draws_without_a_hole(kind):
    """As a training may find it, for nothing keeps a decay above zero."""
    run = tiny_run(kind)
    trained = [name for name in run.tensors if name.startswith(("snapshot/", "final/"))]
    decays = {name: -np.abs(run[name]) for name in trained if name.endswith(("/a", "/a_tilde"))}
    assert decays
    negative = Run(run.config, {**run.tensors, **decays})
    for view in (View(), View(state="curvature", snapshot=0, raw=True)):
        without_nan(layer.EXPERIMENT, negative, view)
    assert layer.EXPERIMENT.headline(negative, View()).endswith(".")


@pytest.mark.parametrize(
    "changes", [{"pairs": "1", "features": "1"}, {"pairs": "1", "features": "1", "model": "1-D"}]
)
def test_sizes_of_one_draw_without_a_hole(changes):
    for relative in (False, True):
        without_nan(sizes.EXPERIMENT, sizes_run(**changes), sizes.View(relative=relative))


def test_a_run_holds_what_its_docstring_says():
    run = tiny_run("two layers")
    assert run["sweep/trained"].shape == (2, len(layer_run.ALPHAS))
    assert run["sweep/constructed"].shape == run["sweep/closed"].shape == (len(layer_run.ALPHAS),)
    assert run["watched/constructed"].shape == (1,)
    assert len(run.snapshot_steps) == len(run["snapshot/Q"])
    torch.testing.assert_close(trained_at(run, -1).Q, model_of(run.config, run.tensors, "final/").Q)


def test_the_scale_sweep_at_one_is_the_loss():
    run = tiny_run("N-D")
    tasks = train.held_out(run.config, layer_run.SWEPT)
    at_one = run["sweep/trained"][:, list(layer_run.ALPHAS).index(1.0)]
    np.testing.assert_allclose(at_one, models.losses(trained_at(run, -1), tasks), rtol=1e-5)
    alphas = layer_run.ALPHAS
    assert crossing(alphas, alphas**4, 2 * alphas**2) == pytest.approx(2**0.5, abs=0.01)
    assert np.isnan(crossing(alphas, 0 * alphas, alphas))
    assert crossing(alphas, 2 * alphas, alphas) == alphas[0]


# Surgery


@pytest.mark.parametrize("kind", first_is_short(KINDS, SHORT))
def test_with_every_part_constructed_it_is_the_construction(kind):
    run = tiny_run(kind)
    trained = trained_at(run, -1, 0)
    constructed = constructed_of(run)
    view = View(**dict.fromkeys(grafted.fields_of(run.config).values(), "constructed"))
    grafted_model, replaced = grafted.graft(
        trained, trained_at(run, 0, 0), constructed, view, run.config
    )
    tasks = example(run.config, 3, 64)
    torch.testing.assert_close(
        models.predict(grafted_model, tasks), models.predict(constructed, tasks)
    )
    assert set(replaced) == set(trained.tensors())


@pytest.mark.parametrize("kind", first_is_short([k for k in KINDS if "1-D" not in k], SHORT - 1))
def test_the_units_of_the_construction_leave_the_model_as_it_is(kind):
    run = tiny_run(kind)
    trained = trained_at(run, -1).to(torch.float64)
    turned = trained.with_(**grafted._times(grafted.units(trained, run.config.N), trained))
    tasks = example(run.config, 3, 64).to(torch.float64)
    before, after = (models.predict(model, tasks) for model in (trained, turned))
    torch.testing.assert_close(after, before, rtol=1e-6, atol=1e-9)


def test_the_units_of_the_1d_model_leave_it_as_it_is_if_its_decays_are_equal():
    run = tiny_run("1-D")
    trained = trained_at(run, -1).to(torch.float64)
    trained = trained.with_(a=torch.full_like(trained.a, 0.97))
    turned = trained.with_(**grafted._times(grafted.units(trained, run.config.N), trained))
    tasks = example(run.config, 3, 64).to(torch.float64)
    before, after = (models.predict(model, tasks) for model in (trained, turned))
    torch.testing.assert_close(after, before, rtol=1e-6, atol=1e-9)


SHARED = [{"seeds": 2}, {"seeds": 2, "penalty": 0.1}]


@pytest.mark.parametrize("changes", SHARED, ids=["two layers", "penalised"])
def test_a_construction_that_shares_its_work_as_trained_layers_do_is_the_same_construction(changes):
    config = Config(layers=2, recurrence="scalar", f=3, N=4, **changes)
    tasks = example(config, 3, 64).to(torch.float64)
    built = models.constructed(config, tasks).to(torch.float64)
    trained = models.initial(config, [0]).to(torch.float64)
    b = torch.tensor([[0.3, 0.2]], dtype=torch.float64)
    trained = trained.with_(**grafted._times(grafted.units(trained, config.N), trained)).with_(b=b)
    shared = symmetries.shared_as(built, trained, config.N)
    expected, computed = (models.predict(model, tasks) for model in (built, shared))
    torch.testing.assert_close(computed, expected, rtol=1e-10, atol=1e-12)
    A = symmetries.two_layers(trained, config.N)["A"]
    first = shared.b[:, 0] / symmetries.two_layers(shared, config.N)["A"]
    keep = [1 - config.N * config.penalty * model.b[:, 1] for model in (trained, shared)]
    decay = symmetries.mean_decay(trained.a[:, 0], config.N).flatten()
    torch.testing.assert_close(keep[1] * first, keep[0] * b[:, 0] * decay / A)


def test_nothing_replaced_is_nothing_changed():
    run = tiny_run("N-D")
    trained = trained_at(run, -1, 0)
    operated, replaced = grafted.graft(trained, trained, constructed_of(run), View(), run.config)
    assert operated is trained and not replaced


# The trained layer itself


@pytest.mark.long
def test_the_scalar_layer_bears_out_every_claim():
    with pytest.MonkeyPatch.context() as many:
        many.setattr(train, "TEST_SET", (2**14, 2**24))
        many.setattr(layer_run, "SWEPT", (2**13, 2**24))
        config = Config(recurrence="scalar", batch=128, seeds=3)
        run = Run(config, layer.compute(config, Recorder()))
    for metric in layer.EXPERIMENT.metrics(run):
        assert metric.verdict(config) in ("reproduced", "holds"), metric


def test_two_steps_are_drawn_at_the_constructions_coefficients():
    run = tiny_run("two layers")
    snapshot = {
        f"snapshot/{name}": np.repeat(run[f"constructed/{name}"], 2, 0)[None]
        for name in trained_at(run, 0).tensors()
    }
    built = Run(run.config, {**run.tensors, **snapshot, "snapshot/step": [0]})
    rates = run["constructed/b"][0]
    expected = [rates.sum(), rates.prod()]
    np.testing.assert_allclose(symmetries.coefficients(built, 0)[0], expected, rtol=1e-5)


# Sizes and corrections


@pytest.mark.parametrize(
    "changes", [{}, {"model": "1-D", "seeds": 2}, {"pairs": "1", "features": "1"}]
)
def test_sizes(changes):
    run = sizes_run(**changes)
    assert run["evaluated/ratio"].shape == (run.config.seeds, len(sizes_of(run.config)))
    assert all(np.isfinite(metric.value) for metric in sizes.EXPERIMENT.metrics(run))
    assert sizes.EXPERIMENT.headline(run, sizes.View()).endswith(".")
    for view in (sizes.View(), sizes.View(relative=True)):
        draw_all(sizes.EXPERIMENT, run, view)


def test_a_size_is_trained_once_and_as_by_itself():
    config = sizes.Config(pairs="10, 5", features="10 3", steps=10, batch=16)
    assert sizes_of(config) == [(10, 5), (10, 10), (3, 10)]
    tensors = sizes.compute(config, Recorder())
    alone = train.run(layer_of(config, 3, 10), Recorder())
    np.testing.assert_array_equal(tensors["evaluated/ratio"][:, 2], alone["evaluated/ratio"])


@pytest.mark.parametrize("changes", [{}, {"f": 2, "N": 2, "r": 0.5}, {"f": 20, "N": 40}])
def test_corrections(changes):
    run = corrections_run(**changes)
    assert corrections.EXPERIMENT.headline(run, corrections.View()).endswith(".")
    assert all(np.isfinite(metric.value) for metric in corrections.EXPERIMENT.metrics(run))
    for times in (-1.0, 0.0, 1.0, 3.0):
        draw_all(corrections.EXPERIMENT, run, corrections.View(times=times))


def test_corrections_at_the_papers_size_are_all_borne_out():
    config = corrections.Config()
    run = Run(config, corrections.compute(config, Recorder()))
    for metric in corrections.EXPERIMENT.metrics(run):
        assert metric.verdict(config) in ("holds", "found here"), metric


def test_numbers_of_the_papers_size_are_claimed_there_only():
    small = corrections_run(f=2, N=2)
    metrics = corrections.EXPERIMENT.metrics(small)
    elsewhere = {m.claim.id for m in metrics if m.verdict(small.config) == "elsewhere"}
    assert elsewhere == {"corrected-gain", "printed-q", "odd-windows"}


def test_every_formula_of_two_steps_has_its_own_best_rate():
    """What is printed is held at its best against two steps of gradient descent: it gains what one
    step does."""
    tasks = sample(4, 6, 4096, torch.Generator().manual_seed(1))
    best = best_mixed_rate(tasks)

    def loss(rate):
        prediction = gradient_descent.predict(mixed_second(tasks, float(rate)), tasks)
        return float((prediction - tasks.y[-1]).square().mean())

    others = min(loss(best * times) for times in (0.9, 0.99, 1.01, 1.1, 2, 3))
    assert loss(best) < others < loss(0.0)
    assert loss(best) <= min(loss(rate) for rate in np.linspace(-4, 4, 81))
    G = torch.einsum("nit,njt->ijt", tasks.y[:-1], tasks.x[:-1])
    Su = (tasks.x[:-1] * (tasks.x[:-1] * tasks.x[-1]).sum(1, keepdim=True)).sum(0)  # (f, tasks)
    h = best / 6
    first = torch.einsum("ijt,jt->it", G, tasks.x[-1])
    expected = 2 * h * first - h**2 * torch.einsum("jit,jt->it", G, Su)
    torch.testing.assert_close(gradient_descent.predict(mixed_second(tasks, best), tasks), expected)
    run = corrections_run()
    assert run["gain/mixed"] == pytest.approx(10 / 19.8, abs=0.03)
    assert run["gain/right"] > run["gain/mixed"] + 0.1


def test_a_gain_is_the_share_of_the_loss_that_is_removed():
    run = corrections_run()
    best = best_gain(run, "right")
    assert best >= gain(run, "right", 1.0) > gain(run, "right", 1.5)
    assert run["error/right"] < 1e-5


# What is refused


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "points must be 1 to 40 pairs x:y, got 0"),
        ("a:b", "points must be pairs x:y of numbers, as 0.5:1, got 'a:b'"),
        ("1:", "points must be pairs x:y of numbers, as 0.5:1, got '1:'"),
        ("1:2:3", "points must be pairs x:y of numbers, as 0.5:1, got '1:2:3'"),
        ("1e400:1", "points must be pairs x:y of numbers, as 0.5:1, got '1e400:1'"),
        ("1:2, 3", "points must be pairs x:y of numbers, as 0.5:1, got '3'"),
        ("1:nan", "points must be pairs x:y of numbers, as 0.5:1, got '1:nan'"),
        ("11:1", "points must have x from -10 to 10"),
        ("1:1e9", "y from -100 to 100, got '1:1e9'"),
        ("0:0 " * 41, "points must be 1 to 40 pairs x:y, got 41"),
    ],
)
def test_points_that_are_none_are_refused(text, message):
    with pytest.raises(ValueError, match=message):
        View(points=text)


def test_points_and_lists_are_read():
    assert points("0.5:1; -1e-1:-2  3:4") == [(0.5, 1.0), (-0.1, -2.0), (3.0, 4.0)]
    assert whole_numbers("pairs", "20, 5;5", 3, 1, 80) == [5, 20]


@pytest.mark.parametrize(
    "settings_class, changes, message",
    [
        (Config, {"N": 0}, "N must be a whole number from 1 to 100, got 0"),
        (Config, {"layers": 5}, "layers must be a whole number from 1 to 4"),
        (sizes.Config, {"pairs": "0, -3"}, "pairs must be whole numbers from 1 to 80, got '0'"),
        (sizes.Config, {"pairs": "-3"}, "pairs must be whole numbers from 1 to 80, got '-3'"),
        (Config, {"r": 0.0}, "r must be a number from 0.1 to 4.0, got 0"),
        (sizes.Config, {"pairs": "5, x"}, "pairs must be whole numbers from 1 to 80, got 'x'"),
        (sizes.Config, {"features": "41"}, "features must be whole numbers from 1 to 40, got '41'"),
        (sizes.Config, {"pairs": ""}, "pairs must be 1 to 6 whole numbers, got 0"),
        (corrections.Config, {"f": 1}, "f must be a whole number from 2 to 20, got 1"),
        (corrections.View, {"times": 3.5}, "times must be a number from -1.0 to 3.0, got 3.5"),
        (View, {"one_Q": "none"}, "one_Q must be one of trained, constructed, initial, zero"),
    ],
)
def test_settings_out_of_range_are_refused(settings_class, changes, message):
    with pytest.raises(ValueError, match=message):
        settings_class(**changes)


@pytest.mark.parametrize("module", [layer, sizes, corrections])
def test_presets_and_knobs(module):
    experiment = module.EXPERIMENT
    for preset in experiment.presets:
        assert isinstance(preset.config, experiment.config) and preset.shipped
    used = [field for drawing in experiment.drawings for field in drawing.knobs]
    assert set(used) <= set(knobs_of(experiment.view))
    assert not {"experiment", "preset", "version", "projector"} & set(knobs_of(experiment.view))
    assert dataclasses.is_dataclass(experiment.view())
