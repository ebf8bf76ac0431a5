"""The weights, loss and two-step panels of GD-SSM against their oracles, on shipped runs and on
untrained models."""

import re
from functools import cache, partial

import numpy as np
import pytest
import torch

from icl_core.contract.experiment import Run
from icl_core.papers.gdssm.layer.draw import losses, reference_models, state, weights
from icl_core.papers.gdssm.layer.settings import View
from icl_core.papers.gdssm.layer.symmetries import coefficients
from icl_core.papers.gdssm.shared import any_layer as models
from icl_core.papers.gdssm.shared import closed_forms, construction
from icl_core.papers.gdssm.shared.load_run import constructed_of, trained_at
from icl_core.papers.gdssm.shared.settings import Config
from tests import cells

SHIPPED = ("layer", "full", "skip", "one feature", "1-D", "two layers", "penalised")
KINDS = {
    "scalar": {"recurrence": "scalar"},
    "full, skip": {"recurrence": "full", "skip": True},
    "1-D": {"model": "1-D"},
    "1-D, one decay": {"model": "1-D", "recurrence": "scalar"},
    "two layers": {"layers": 2, "skip": True},
    "two layers, 1-D": {"layers": 2, "model": "1-D", "recurrence": "scalar"},
    "penalised": {"layers": 2, "penalty": 0.2, "recurrence": "scalar"},
    "three layers": {"layers": 3, "skip": True, "recurrence": "scalar"},
    "four layers": {"layers": 4},
    "one feature": {"f": 1},
    "one of each": {"f": 1, "N": 1, "layers": 2},
}
shipped = cache(partial(cells.shipped, "gdssm.layer"))


@cache
def untrained(kind: str) -> Run:
    """Random weights as the only snapshot, beside a construction with rates of its own for every
    layer."""
    config = Config(**{"f": 3, "N": 4, "seeds": 2, **KINDS[kind]})
    trained = models.initial(config, [3, 4])
    if config.model == "1-D" and config.layers == 1:
        built = construction.layer_1d(config.f, config.N, 1.2)
    elif config.layers == 1:
        built = construction.layer_nd(config.f, config.N, 1.2, config.recurrence)
    else:
        rates = [1.6, 0.8, 0.5, 0.4][: config.layers]
        built = construction.multi_layer(
            config.f, config.N, rates, config.penalty, config.recurrence
        )
    if config.skip:
        built = built.with_(skip=torch.zeros(1, 3 if config.layers == 1 else 2))
    return Run(
        config,
        stored(trained) | {f"constructed/{n}": t.numpy() for n, t in built.tensors().items()},
    )


def stored(model: models.Model) -> dict[str, np.ndarray]:
    """A model as the only snapshot of a run."""
    return {
        "snapshot/step": np.array([7]),
        **{f"snapshot/{n}": t[None].numpy() for n, t in model.tensors().items()},
    }


def holding(run: Run, model: models.Model) -> Run:
    """The run with another trained model."""
    return Run(run.config, {**run.tensors, **stored(model)})


def maps(panel) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Learned, constructed and difference of every block, in double precision."""
    traces = [trace for trace in panel.figure.plotly().data if trace.type == "heatmap"]
    heatmaps = [np.asarray(trace.z, dtype=float) for trace in traces]
    return [(heatmaps[i], heatmaps[i + 1], heatmaps[i + 2]) for i in range(0, len(heatmaps), 3)]


def learned(panel, row: str, column: str) -> float:
    """A number of the table behind the figure."""
    rows = panel.data[(panel.data["row"] == row) & (panel.data["column"] == column)]
    assert len(rows) == 1
    return float(rows["learned"].iloc[0])


@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize("kind", [*KINDS, *(f"shipped {name}" for name in SHIPPED)])
def test_the_construction_in_place_of_the_trained_weights_leaves_no_difference(kind, raw):
    run = shipped(kind.removeprefix("shipped ")) if kind.startswith("shipped ") else untrained(kind)
    built = constructed_of(run)
    a = trained_at(run, 0, 0).tensors()["a"]  # a single decay in 1-D is a single one here too
    panel = weights.draw(holding(run, built.with_(a=torch.ones_like(a))), View(raw=raw))
    for trained, constructed, difference in maps(panel):
        np.testing.assert_allclose(trained, constructed, atol=1e-6)
        np.testing.assert_allclose(difference, 0, atol=1e-6)
    numbers = [float(number) for number in re.findall(r"\d\.\d\d+", panel.title)]
    assert numbers and not any(numbers), panel.title


@pytest.mark.parametrize("which", ["first", "last", "curvature"])
def test_with_scalar_labels_the_state_of_constructed_layers_is_the_row_that_is_asked_for(which):
    run = untrained("two layers, 1-D")
    built = holding(run, models.joined(constructed_of(run), constructed_of(run)))
    assert (state.tokens(built, View(state=which)).data["relative difference"] < 1e-5).all()
    for seed in (1, 2):
        panel = state.tokens(run, View(state=which, seed_shown=seed))
        assert (panel.data["relative difference"] > 0.1).all()


@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_the_difference_is_trained_minus_constructed_and_the_title_its_largest(kind, raw):
    panel = weights.draw(untrained(kind), View(raw=raw))
    for trained, constructed, difference in maps(panel):
        atol = 1e-5 * max(1, np.abs(trained).max())
        np.testing.assert_allclose(difference, trained - constructed, atol=atol)
    most = max(np.abs(difference).max() for *_, difference in maps(panel))
    numbers = [float(number) for number in re.findall(r"\d+\.\d\d+", panel.title)]
    assert max(numbers) == pytest.approx(most, abs=0.006)
    expected = panel.data["learned"] - panel.data["constructed"]
    np.testing.assert_allclose(panel.data["difference"], expected, atol=2e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_raw_shows_every_number_as_training_left_it(kind):
    run = untrained(kind)
    for seed in (1, 2):
        panel = weights.draw(run, View(raw=True, seed_shown=seed))
        computed = np.sort(np.concatenate([block[0].ravel() for block in maps(panel)]))
        tensors = trained_at(run, 0, seed - 1).tensors().values()
        expected = np.sort(np.concatenate([t.numpy().ravel() for t in tensors]))
        np.testing.assert_allclose(computed, expected, rtol=1e-6)
        most = max(np.abs(part).max() for block in maps(panel) for part in block)
        assert panel.figure.plotly().layout.coloraxis.cmax == pytest.approx(most)


def rescaled(model: models.Model) -> models.Model:
    """A model that acts alike: scales and a sign pass among its weights."""
    tensors = model.tensors()
    if "Psi" in tensors:
        return model.with_(
            Psi=-2 * tensors["Psi"], Theta=tensors["Theta"] / 5, beta=tensors["beta"] * -2.5
        )
    if "beta" in tensors:
        return model.with_(Q=-2 * tensors["Q"], q=tensors["q"] * 3, beta=tensors["beta"] / -6)
    return model.with_(
        Q=tensors["Q"] * -4, Q_tilde=tensors["Q_tilde"] * 2, q=tensors["q"] / -2, b=tensors["b"] / 2
    )


@pytest.mark.parametrize("name", ["layer", "full", "skip", "1-D", "two layers"])
def test_normalised_sees_no_symmetry_and_raw_does(name):
    run = shipped(name)
    other = holding(run, rescaled(trained_at(run, len(run["snapshot/step"]) - 1)))
    before, after = (maps(weights.draw(variant, View())) for variant in (run, other))
    for (block, *_), (alike, *_) in zip(before, after, strict=True):
        np.testing.assert_allclose(block, alike, rtol=1e-3, atol=1e-5)
    before, after = (maps(weights.draw(variant, View(raw=True))) for variant in (run, other))
    assert np.abs(before[0][0] - after[0][0]).max() > 0.1


def test_decays_and_rates_are_shown_in_their_units():
    """By hand: the mean of a^(N-t), and beta Q[1, 0] q[2] times it over eta / N."""
    run = untrained("scalar")
    model = trained_at(run, 0, 0).tensors()
    N = run.config.N
    a, beta = (float(model[name]) for name in ("a", "beta"))
    decay = sum(a**t for t in range(N)) / N
    panel = weights.draw(run, View())
    assert learned(panel, " ", "decay") == pytest.approx(decay, abs=1e-4)
    rate = beta * float(model["Q"][0, 1, 0] * model["q"][0, 2]) * decay / (1.2 / N)
    assert learned(panel, " ", "rate") == pytest.approx(rate, abs=1e-4)
    raw = weights.draw(run, View(raw=True))
    assert learned(raw, " ", "a") == pytest.approx(a, abs=1e-4)
    assert learned(raw, " ", "β") == pytest.approx(beta, abs=1e-4)


@pytest.mark.parametrize(
    "kind, shapes",
    [
        ("scalar", [(4, 3), (1, 2)]),
        ("full, skip", [(5, 3), (3, 3), (3, 3)]),
        ("1-D", [(6, 6), (1, 3)]),
        ("two layers", [(10, 3), (1, 2), (3, 3), (1, 2)]),
        ("penalised", [(10, 3), (1, 5)]),
        ("three layers", [(16, 3), (1, 2), (1, 5)]),
        ("one feature", [(4, 3), (1, 2)]),
    ],
)
def test_a_decay_of_every_entry_is_a_map_of_every_row_a_row_and_a_single_one_a_number(kind, shapes):
    assert [block[0].shape for block in maps(weights.draw(untrained(kind), View()))] == shapes


def test_three_layers_are_divided_by_their_largest_entry_unless_raw():
    """The skip, which is zero in the construction, has no scale to be freed of and stays as
    training left it."""
    run = untrained("three layers")
    model = trained_at(run, 0, 0).tensors()
    Q = model["Q"][0, 0].numpy()
    normalised, raw = (weights.draw(run, View(raw=is_raw)) for is_raw in (False, True))
    np.testing.assert_allclose(
        maps(normalised)[0][0][:3], Q / Q.flat[np.abs(Q).argmax()], rtol=1e-5
    )
    np.testing.assert_allclose(maps(raw)[0][0][:3], Q, rtol=1e-6)
    for panel in (normalised, raw):
        np.testing.assert_allclose(maps(panel)[1][0][0], model["skip"][0], rtol=1e-6)
    assert "largest entry" in normalised.title + normalised.caption
    assert "raw" in raw.title and "as training left" in raw.caption
    assert "b₁" in set(raw.data["column"]) and "b₁" not in set(normalised.data["column"])


def lines(panel) -> dict[str, float]:
    """Names of the horizontal lines and where they are, of which the labels must agree."""
    layout = panel.figure.plotly().layout
    assert [text.y for text in layout.annotations] == [shape.y0 for shape in layout.shapes]
    return {text.text: float(text.y) for text in layout.annotations}


def test_one_layer_has_the_best_expected_loss():
    panel = losses.loss(shipped("layer"), View())
    levels = {"best expected loss": 0.8249158, "predicting zero": 5 / 3}
    assert lines(panel) == pytest.approx(levels, rel=1e-6)
    assert "exact" in panel.caption
    assert "0.45%" in panel.caption  # so far off is the construction on the tasks drawn


def test_two_layers_stand_between_steps_of_one_rate_and_of_two():
    """Figure 4 A. Closed forms against the losses that the run measured on its held-out tasks."""
    run = shipped("two layers")
    panel = losses.loss(run, View())
    levels = lines(panel)
    assert list(levels) == [
        "two steps, two rates",
        "one step",
        "two steps, one rate",
        "predicting zero",
    ]
    assert levels["one step"] == pytest.approx(closed_forms.best_loss(10, 10))
    shared, floor = (float(run[f"baseline/{name}"][0]) for name in ("shared", "floor"))
    assert levels["two steps, one rate"] == pytest.approx(shared, rel=0.015)
    assert levels["two steps, two rates"] == pytest.approx(floor, rel=0.015)
    # on the tasks that the curve was watched on, which are few, what is less does not count
    assert panel.title.endswith("the construction, below one step and below two steps of one rate")
    assert panel.title.startswith("Trained ends within 0.1%")


def test_hardly_trained_layers_beat_nothing():
    run = shipped("two layers")
    for factor, end in (
        (1.2, "above the construction, below one step"),
        (2, "above the construction"),
    ):
        worse = Run(run.config, {**run.tensors, "curve/loss": run["curve/loss"] * factor})
        assert losses.loss(worse, View()).title.endswith(end)


def test_a_penalty_is_named_where_it_is_kept_and_where_it_is_not():
    panel = losses.loss(shipped("penalised"), View())
    assert list(lines(panel)) == ["two steps, no penalty", "one step", "predicting zero"]
    free = closed_forms.two_steps_free(10, 10)
    assert lines(panel)["two steps, no penalty"] == pytest.approx(free.loss)
    assert panel.title == "Trained ends 18% below the construction, which keeps the penalty"
    assert "comes down to the construction" not in panel.caption


@pytest.mark.parametrize(
    "penalty, names",
    [
        (0.0, ["three steps, three rates", "one step", "three steps, one rate"]),
        (0.3, ["three steps, no penalty", "one step"]),
    ],
)
def test_three_layers_say_that_their_levels_are_fitted(penalty, names):
    config = Config(layers=3, penalty=penalty)
    baselines = {"baseline/floor": np.array([0.4]), "baseline/shared": np.array([0.5])}
    curve = {"curve/step": np.array([0, 300]), "curve/loss": np.array([[1.7, 0.41]])}
    run = Run(config, {**curve, **baselines, "watched/constructed": np.array([0.405])})
    panel = losses.loss(run, View())
    assert list(lines(panel)) == [*names, "predicting zero"]
    assert lines(panel)[names[0]] == 0.4
    assert "fitted" in panel.caption and "exact for" not in panel.caption
    unfinished = losses.loss(Run(config, curve, finished=False), View())
    assert list(lines(unfinished)) == ["one step", "predicting zero"]


def test_the_construction_of_two_layers_lies_at_the_best_two_rates():
    """A and B of the constructed weights are b_1 + b_2 and b_1 b_2, near the optimum of the
    contours."""
    run = shipped("two layers")
    built = holding(run, constructed_of(run))
    rates = run["constructed/b"][0]
    np.testing.assert_allclose(coefficients(built, 0)[0], [rates.sum(), rates.prod()], rtol=1e-5)
    free = closed_forms.two_steps_free(10, 10)
    np.testing.assert_allclose(coefficients(built, 0)[0], [free.A, free.B], rtol=0.03)
    panel = reference_models.two_steps(built, View())
    numbers = [float(number) for number in re.findall(r"\d+\.\d+", panel.title)]
    assert numbers == pytest.approx([rates.sum(), rates.prod(), free.loss], abs=2e-3)
    stars = {trace.name: trace for trace in panel.figure.plotly().data if trace.mode == "markers"}
    assert stars["best two rates: 0.565"].x[0] == pytest.approx(free.A)
    shared = stars["best shared rate: 0.626"]
    assert shared.y[0] == pytest.approx(shared.x[0] ** 2 / 4)
