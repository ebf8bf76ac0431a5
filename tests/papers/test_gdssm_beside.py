"""What a trained layer is set beside: the best weights of all with one feature, the authors'
training, Figure 3 B."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch

from icl_core.contract.experiment import Run
from icl_core.papers.gdssm import layer
from icl_core.papers.gdssm.layer import claims, exact, symmetries
from icl_core.papers.gdssm.layer import run as layer_run
from icl_core.papers.gdssm.layer.draw import losses as loss_drawings
from icl_core.papers.gdssm.layer.draw import reference_models
from icl_core.papers.gdssm.layer.losses import arrived
from icl_core.papers.gdssm.layer.settings import AUTHORS, PRESETS, View, as_here
from icl_core.papers.gdssm.layer.words import WORDS
from icl_core.papers.gdssm.shared import any_layer as models
from icl_core.papers.gdssm.shared import closed_forms, construction, train
from icl_core.papers.gdssm.shared.layer_nd import LayerND
from icl_core.papers.gdssm.shared.settings import Config
from icl_core.papers.gdssm.shared.task import sample
from tests.recorder import Recorder

ONE = Config(f=1, N=4, batch=16, steps=10, seeds=2)
DOUBLE = torch.float64


def constructed(N: int, r: float) -> LayerND:
    return construction.layer_nd(1, N, N * closed_forms.best_beta(1, N, r), "scalar").to(DOUBLE)


# The best weights of one feature


@pytest.mark.parametrize("N, r", [(1, 1.0), (4, 1.0), (10, 0.5)])
def test_the_expected_loss_of_the_construction_is_the_closed_form(N, r):
    computed = exact.expected_loss(constructed(N, r), *exact.moments(N, r), r)
    assert float(computed) == pytest.approx(closed_forms.best_loss(1, N, r), rel=1e-10)


def test_the_expected_loss_of_random_weights_is_the_mean_over_tasks():
    config = replace(ONE, N=3, recurrence="scalar")
    weights = models.initial(config, [4]).to(DOUBLE)
    assert isinstance(weights, LayerND)
    weights = weights.with_(Q=4 * weights.Q, q=6 * weights.q)  # all terms count
    tasks = sample(1, 3, 100_000, torch.Generator().manual_seed(1)).to(DOUBLE)
    losses = (models.predict(weights, tasks)[0, 0] - tasks.y[-1, 0]).square() / 2
    expected = exact.expected_loss(weights, *exact.moments(3))
    error = float(losses.std()) / len(tasks) ** 0.5
    assert abs(float(losses.mean() - expected)) < 4 * error < 0.05 * float(expected)


@pytest.mark.parametrize("seed", [0, 1])
def test_the_best_weights_are_the_construction_from_wherever_one_begins(seed):
    config = replace(ONE, seed=seed)
    best = exact.optimum(config)
    moments = exact.moments(config.N)
    loss = exact.expected_loss(best, *moments)
    assert float(loss) == pytest.approx(closed_forms.best_loss(1, config.N), rel=1e-9)
    tensors = {f"population/{name}": tensor.numpy() for name, tensor in best.tensors().items()}
    assert exact.population_distance(Run(config, tensors)) < 1e-5
    for change in ({"Q": best.Q * 1.1}, {"q": best.q + 0.1}, {"a": best.a * 0.97}):
        bent = best.with_(**change)
        assert float(exact.expected_loss(bent, *moments)) > float(loss) * 1.0001


def test_what_is_known_of_one_feature_is_held_and_drawn():
    run = tiny_run()
    metric = {metric.claim: metric for metric in claims.measure(run)}[claims.POPULATION]
    assert metric.value is not None and metric.value < 1e-4
    panel = reference_models.population(run, View())
    assert list(panel.data["weight"][-2:]) == ["rate", "decay"] and len(panel.data) == 11
    np.testing.assert_allclose(panel.data["best"], panel.data["constructed"], atol=1e-4)
    assert np.abs(panel.data["trained"] - panel.data["best"]).max() > 0.05  # ten steps
    assert not exact.has_expected_loss(Config())
    assert not exact.has_expected_loss(replace(ONE, skip=True))


@cache
def tiny_run(**changes) -> Run:
    with pytest.MonkeyPatch.context() as few:
        for place, name in ((train, "TEST_SET"), (train, "WATCHED"), (layer_run, "SWEPT")):
            few.setattr(place, name, (2**8, 2**20))
        config = replace(ONE, **changes)
        return Run(config, layer.compute(config, Recorder()))


# The authors' training


def test_the_authors_presets_have_our_own_beside_them():
    config = {preset.name: preset.config for preset in PRESETS}
    assert as_here(config["authors"]) == config["layer"]
    assert as_here(config["1-D authors"]) == config["1-D"]
    assert as_here(replace(config["1-D two layers"], **AUTHORS)) == config["1-D two layers"]
    assert (config["authors"].batch, config["authors"].steps) == (64, 300_000)


def test_the_authors_optimiser_has_half_the_rate_for_the_recurrence_and_decays_all():
    config = Config(optimiser="authors", layers=2, learning_rate=2e-4)
    weights = models.initial(config, [0])
    before = {name: tensor.clone() for name, tensor in weights.tensors().items()}
    optimiser = train.optimiser(config, tuple(weights.tensors()), list(weights.tensors().values()))
    assert sorted(group["lr"] for group in optimiser.param_groups) == [1e-4, 2e-4]
    for tensor in weights.tensors().values():
        tensor.grad = torch.zeros_like(tensor)
    optimiser.step()
    for name, tensor in weights.tensors().items():
        rate = 1e-4 if name in ("a", "a_tilde") else 2e-4
        torch.testing.assert_close(tensor, before[name] * (1 - 0.05 * rate), rtol=1e-6, atol=0)


def test_the_authors_rate_rises_first_and_ours_falls_from_the_start():
    factors = []
    for how in ("ours", "authors"):
        config = Config(f=2, N=3, optimiser=how, steps=1000)
        problem = train.problem(config, models.initial(config, [0]), train.watched(config))
        factors.append([problem.schedule(step) for step in (0, 4, 9, 500, 999)])
    ours, theirs = factors
    assert ours[0] == 1 and ours == sorted(ours, reverse=True)
    np.testing.assert_allclose(theirs[:3], [0.1, 0.5, 1.0], atol=1e-3)
    assert theirs[3:] == ours[3:]


def test_a_run_as_the_authors_train_holds_ours_beside_it():
    theirs = tiny_run(f=2, optimiser="authors")
    ours = tiny_run(f=2, **{name: getattr(as_here(theirs.config), name) for name in AUTHORS})
    np.testing.assert_array_equal(theirs["beside/loss"], ours["curve/loss"])
    assert not np.array_equal(theirs["curve/loss"][:, 1], ours["curve/loss"][:, 1])
    assert "steps as the authors train" in loss_drawings.arrival(theirs, View()).title
    assert "beside/loss" not in ours.tensors


def test_a_training_has_arrived_when_it_stays():
    steps = np.array([0, 10, 20, 30, 40])
    away = np.array(
        [
            [1, 0.005, 0.02, 0.01, 0.0],
            [1, 0.5, -0.005, 0.005, -0.01],
            [1, 0, 0, 0, 0.011],
            [0, 0, 0, 0, 0],
        ]
    )
    np.testing.assert_array_equal(arrived(steps, away), [30, 20, np.nan, 0])


def test_arrivals_are_set_beside_each_other_seed_by_seed_in_steps_and_in_tasks():
    run = tiny_run(f=2, optimiser="authors")
    level = float(run["watched/constructed"][0])
    curves = {
        "beside/step": np.array([0, 5, 10]),
        "beside/loss": level * np.array([[2, 1, 1], [2, 2, 1.0]]),
        "curve/step": np.array([0, 100, 200, 400]),
    }

    def draw(*theirs):
        tensors = {**run.tensors, **curves, "curve/loss": level * np.array(theirs, float)}
        return loss_drawings.arrival(Run(run.config, tensors), View())

    panel = draw([2, 2, 1, 1], [2, 2, 2, 1])
    assert panel.title == (
        "Within 1% of L*: after 200 to 400 steps as the authors train, after 5 to 10 steps as here"
    )
    factors = "40 times the steps, 2.5 times the tasks; our rate is 1 times theirs"
    assert f"seed by seed: {factors}" in panel.note  # batches of 16 and 256
    assert "by up to 200 and 5 steps" in panel.note
    assert panel.data["step"].tolist() == [5, 10, 100, 200, 400]
    one = draw([2, 2, 1, 1], [2, 2, 2, 2])
    assert "after 200 steps (1 of 2 seeds not at all) as the authors train" in one.title
    assert "nan" not in one.note
    none = draw([2, 2, 2, 2], [2, 2, 2, 2])
    assert "in none of its steps as the authors train" in none.title
    assert "seed by seed" not in none.note


def test_what_the_authors_train_with_is_read_from_the_setting():
    for model in ("1-D", "N-D"):
        config = Config(model=model, optimiser="authors", learning_rate=4e-4)
        sentence = WORDS.text("as the authors train", Run(config, {}))
        assert "rates 0.0002 for the decays and 0.0004 for the rest" in sentence
        assert ("A.6" in sentence) == (model == "N-D")


# Figure 3 B


def test_a_row_of_decays_counts_as_its_mean():
    """Of one an entry; one a row and one alone are what they are."""
    entries = torch.tensor([[[1.2, 0.8], [1.1, 1.0]]])
    run = Run(Config(f=2, N=2, recurrence="full"), {"final/a": entries.numpy()})
    # N = 2: half of a - 1
    np.testing.assert_allclose(symmetries.decays(run)[0], [[0.0, 0.025]], atol=1e-6)
    run = Run(Config(f=2, N=2, model="1-D"), {"final/a": np.array([[1.2, 0.8]], np.float32)})
    np.testing.assert_allclose(symmetries.decays(run)[0], [[0.1, -0.1]], atol=1e-6)


def test_rates_that_differ_within_a_row_count_as_their_mean():
    config = Config(f=2, N=2, recurrence="full")
    built = construction.layer_nd(2, 2, 1.2, "full")
    trained = built.with_(a=torch.tensor([[[1.2, 0.8], [1.0, 1.0]]]))
    differences = {
        difference.name: difference for difference in symmetries.compare(trained, built, config.N)
    }
    assert symmetries.farthest(differences["rate"]) == pytest.approx(0, abs=1e-6)
    assert float(differences["rate"].farthest.max()) == pytest.approx(0.1, abs=1e-6)
