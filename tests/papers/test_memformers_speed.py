"""What memory is worth: crossings, factors by pairs of seeds, floors, small runs; and what a layer
of GD++ costs."""

import json

import numpy as np
import pytest
import torch

from icl_core import registry
from icl_core.contract.experiment import Run, names
from icl_core.in_context_regression.polynomial import moments
from icl_core.papers.memformers.methods import moving_covariates
from icl_core.papers.memformers.methods.draw.moving_covariates import by_products
from icl_core.papers.memformers.methods.settings import Config as MethodsConfig
from icl_core.papers.memformers.methods.settings import View as MethodsView
from icl_core.papers.memformers.shared import model, variants
from icl_core.papers.memformers.shared.settings import Model
from icl_core.papers.memformers.shared.task import Batch
from icl_core.papers.memformers.shared.test_set import held_out
from icl_core.papers.memformers.speed import claims, train
from icl_core.papers.memformers.speed.claims import measure
from icl_core.papers.memformers.speed.settings import (
    BOTH,
    CGD,
    EQUAL,
    LINEAR,
    MODELS,
    MODELS_BY_ID,
    SHARED,
    STEPPED,
    Config,
    View,
)
from icl_core.papers.memformers.speed.train import compute, plan
from tests.recorder import Interrupted, Recorder

STEPS = np.array([0, 10, 20, 40, 80, 160])
SPEED = registry.experiment("memformers.speed")


def planted(rates, seeds=2, **settings):
    """A finished run in which a log-loss above the floor of 1.1 falls by `rates[model][rate][seed]`
    a step."""
    count = len(next(iter(rates.values())))
    config = Config(
        rates=", ".join(str(0.01 * 2**i) for i in range(count)), steps=160, seeds=seeds, **settings
    )
    tensors = {"curve/step": STEPS, "rate/values": 0.01 * 2.0 ** np.arange(count)}
    tensors |= {"names/models": names(rates), "names/coordinates": names(BOTH)}
    tensors |= {"baseline/floor": np.array([0.05]), "baseline/floor_shared": np.array([0.4])}
    for id, by_rate in rates.items():
        floor = 0.4 if MODELS_BY_ID[id].has_own_floor else 0.05
        for where in BOTH:
            for index, speeds in enumerate(by_rate):
                above = 1.1 - np.array(speeds)[:, None] * STEPS
                tensors[f"curve/{where}/{id}/{index}"] = floor * np.exp(above)
    return Run(config, tensors)


def test_a_crossing_lies_between_the_evaluations_on_the_logarithm_of_the_loss():
    # 1.1 - step / 30 is 0.1 at step 30; the evaluations are at 20 and 40
    run = planted({"linear": [[1 / 30, 1 / 100]], "shared": [[1 / 30, 1 / 50]]})
    np.testing.assert_allclose(claims.arrivals(run, LINEAR, "original"), [[30, 100]], rtol=1e-6)
    to_own_floor = claims.arrivals(run, SHARED, "original")
    np.testing.assert_allclose(to_own_floor, [[30, 50]], rtol=1e-6)


def test_the_first_crossing_counts_and_a_start_below_is_step_zero():
    above = np.array(
        [
            [1.0, 0.0, 1.0, 0.0, 0.0, 0.0],
            [0.05, 1, 1, 1, 1, 1],
            [1.0, np.nan, np.nan, np.nan, 0.2, 0.11],
        ]
    )
    np.testing.assert_allclose(claims.reached(STEPS, above), [9, 0, np.inf])


def test_never_is_never_a_number():
    never = planted({model.id: [[1 / 1000, 1 / 1000], [1 / 30, 1 / 1000]] for model in MODELS})
    steps = claims.arrivals(never, LINEAR, "original")
    assert np.isinf(steps).tolist() == [[True, True], [False, True]]
    assert np.isinf(claims.typical(steps)).all() and claims.best_rate(steps) is None
    assert claims.at_best(never, "original", CGD) is None
    assert claims.typical(np.array([[10.0, 20.0, np.inf]])) == [20]
    assert {m.claim.id: m.value for m in measure(never)}[claims.BEST_RATE.id] is None
    assert "never" in SPEED.headline(never, View())
    for drawing in SPEED.drawings:
        panel = drawing.draw(never, View())
        text = json.dumps(panel.figure.to_dict()) if panel.figure else str(panel.table)
        assert "Infinity" not in text and "inf" not in panel.title


def test_factors_pair_the_seeds_and_say_what_they_bound():
    factors = claims.factors(np.array([100.0, 400.0]), np.array([50.0, 100.0]), 1000)
    np.testing.assert_allclose(factors.values, [2, 4])
    assert factors.mean == pytest.approx(8**0.5)
    assert factors.error == pytest.approx(8**0.5 * np.log(2) / 2)
    steps = np.array([np.inf, 80.0, np.inf])
    factors = claims.factors(steps, np.array([50.0, np.inf, np.inf]), 1000)
    np.testing.assert_array_equal(factors.values, [20, 0, np.nan])
    assert factors.at_least.tolist() == [True, False, False] and factors.error is None


def test_the_best_rate_of_each_is_its_own():
    run = planted({"linear": [[1 / 50] * 2, [1 / 1000] * 2], "cgd": [[1 / 40] * 2, [1 / 10] * 2]})
    arrivals = [claims.arrivals(run, model, "whitened") for model in (LINEAR, CGD)]
    assert [claims.best_rate(steps) for steps in arrivals] == [0, 1]
    best = claims.at_best(run, "whitened", CGD)
    assert best is not None and best.mean == pytest.approx(5)
    assert claims.at_equal(run, "whitened", CGD)[0].mean == pytest.approx(1.25)


def test_a_claim_that_rests_on_a_bound_says_so():
    steps = {"linear": 1000, "stepped": 40, "cgd": 20, "lfom": 20}
    slow = planted({id: [[1 / count] * 2] for id, count in steps.items()})
    metrics = {metric.claim.id: metric for metric in measure(slow)}
    equal_rate = metrics[claims.EQUAL_RATE.id]
    assert equal_rate.value == pytest.approx(8) and "bound" in equal_rate.reason
    memory_alone = metrics[claims.MEMORY_ALONE.id]
    assert memory_alone.value == pytest.approx(2) and not memory_alone.reason
    assert metrics[claims.SAME_FLOOR.id].value == pytest.approx(1.1 - 0.16)


def test_why_a_training_never_arrives_is_measured():
    run = planted({"linear": [[1 / 200] * 2], "cgd": [[1 / 2000] * 2]})
    assert claims.why_never(run, LINEAR, "original", 0).startswith("still falling")

    def why(above):
        """What is said of a curve this far above the floor, on the logarithm of the loss."""
        curve = 0.05 * np.exp(np.resize(above, (2, len(STEPS))))
        changed = Run(run.config, {**run.tensors, "curve/original/cgd/0": curve})
        return claims.why_never(changed, CGD, "original", 0)

    assert why([0.3]) == "level, 0.30 above"
    assert why([0.2, 0.4]).startswith("hovers 0.")
    assert why([np.nan]) == "diverged"


@pytest.mark.parametrize(
    ("layers", "log_loss"), [(1, 0.143), (2, -0.127), (3, -0.594), (4, -0.895)]
)
def test_the_floor_of_one_gamma_for_all_layers(layers, log_loss):
    S = torch.cat([S for _, S in held_out(5, 20, 2**14)], -1)
    floor = train.shared_floor(moments(S, None, layers), layers)
    assert np.log(floor) == pytest.approx(log_loss, abs=0.02)


@pytest.fixture(scope="module")
def small():
    config = Config(steps=10, layers=2, batch=50, seeds=2, rates=".01")
    return Run(config, compute(config, Recorder()))


def test_a_small_run_has_every_curve_metrics_and_panels(small):
    keys = {f"curve/{where}/{model.id}/0" for where in BOTH for model in MODELS}
    assert keys <= small.tensors.keys()
    assert {metric.claim for metric in SPEED.metrics(small)} == set(claims.ALL)
    assert SPEED.headline(small, View()).endswith(".")
    for drawing in SPEED.drawings:
        panel = drawing.draw(small, View())
        assert panel.title and len(panel.caption) > 40
    so_far = {name: a for name, a in small.tensors.items() if not name.startswith("baseline/")}
    begun = Run(small.config, so_far, finished=False)
    live = [drawing for drawing in SPEED.drawings if drawing.live]
    assert live and all(drawing.draw(begun, View()).figure for drawing in live)


def test_all_models_of_equal_power_start_from_the_same_loss_and_frozen_memory_stays(small):
    first, *others = (small[f"curve/whitened/{model.id}/0"][:, 0] for model in EQUAL)
    for other in others:
        np.testing.assert_allclose(other, first, rtol=1e-5)
    # γ = 0 is its start: a model that does not learn it parts from one that does only after the
    # first step
    stepped, cgd = (small[f"curve/whitened/{id}/0"][:, -1] for id in ("stepped", "cgd"))
    assert not np.allclose(stepped, cgd)
    assert STEPPED.variant == CGD.variant and STEPPED.frozen == ("gamma",)


def test_a_killed_run_goes_on_bit_for_bit(small):
    stopped = Recorder(stop=35)
    with pytest.raises(Interrupted):
        compute(small.config, stopped)
    again = compute(small.config, Recorder(saved=stopped.saved))
    assert len(plan(small.config)) * small.config.steps > 35
    for name, array in small.tensors.items():
        np.testing.assert_array_equal(again[name], array)


@pytest.mark.parametrize("text", ["", "0", "2", "fast", ".1 .1 .1 .1 .1 .1 .1"])
def test_rates_are_checked(text):
    with pytest.raises(ValueError, match="rates"):
        Config(rates=text)


def measured_degree(variant, layers):
    """The degree in S of a random model's error for d = 1: how it grows where S is huge."""
    config = Model(variant=variant, layers=layers, d=2, coordinates="whitened")
    generator = torch.Generator().manual_seed(layers)
    random = {
        name: torch.randn(tensor.shape, generator=generator, dtype=torch.float64)
        for name, tensor in variants.initial(config, generator).items()
    }
    scales = torch.tensor([1e6, 2e6], dtype=torch.float64)
    S = torch.eye(2, dtype=torch.float64)[None, :, :, None] * scales
    target = torch.ones(1, 2, 1, 2, dtype=torch.float64)
    error = model.errors(random, config, torch.eye(2, dtype=torch.float64)[None], Batch(S, target))
    return float((error[0, 0, 0, 1] / error[0, 0, 0, 0]).abs().log2())


@pytest.mark.parametrize("layers", [1, 2, 3, 4])
def test_degrees_by_recursion_equal_those_of_the_models(layers):
    degree = moving_covariates.degree(layers)
    assert degree == (3**layers - 1) // 2
    assert measured_degree("gd++", layers) == pytest.approx(degree, abs=1e-3)
    unmoved = moving_covariates.degree(layers, moving=False)
    assert measured_degree("lfom", layers) == pytest.approx(unmoved, abs=1e-3)


def test_products_count_matrices_as_d_vectors():
    products = [moving_covariates.products(layers, 5) for layers in (1, 2, 3, 4)]
    assert products == [1, 1 + 5 + 3, 9 + 15 + 3, 27 + 15 + 3]
    products = [moving_covariates.products(layers, 5, tokens=20) for layers in (1, 2, 3)]
    assert products == [4, 4 + 8 + 45, 57 + 8 + 45]


@pytest.mark.parametrize(
    ("d", "n", "length", "exact"), [(5, 20, 5, True), (4, 3, 3, False), (3, 20, 3, True)]
)
def test_conjugate_gradient_is_exact_after_d_products_if_there_are_as_many_examples(
    d, n, length, exact
):
    config = MethodsConfig(variant="gd++", d=d, n=n, layers=2, beside="none")
    tensors = {"baseline/cg": np.array([0.8, 0.3]), "depth/layers": np.array([1, 2])}
    line = moving_covariates.conjugate(Run(config, tensors), "cg")
    assert len(line) == length and (line[-1] < -27) == exact
    np.testing.assert_allclose(line[:2], np.log([0.8, 0.3]))


def test_the_drawing_of_products_stands_where_covariates_move():
    config = MethodsConfig(variant="gd++", layers=2, beside="none", seeds=1)
    assert moving_covariates.covariates_move(config)
    assert not moving_covariates.covariates_move(MethodsConfig())
    tensors = {"depth/layers": np.array([1, 2]), "evaluated/loss": np.array([[0.8, 1e9]])}
    tensors |= {f"baseline/{name}": np.array([0.9, 0.4]) for name in ("cg", "pcg", "floor")}
    panel = by_products(Run(config, tensors), MethodsView())
    assert "9 products" in panel.title and "degree 4" in panel.caption
