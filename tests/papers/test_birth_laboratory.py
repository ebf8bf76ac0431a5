"""Memories of random pairs: the formula against simulation, every form recalls what is planted,
learning is descent."""

import math

import numpy as np
import pytest
import torch

from icl_core import registry
from icl_core.contract.experiment import Run
from icl_core.contract.knobs import BadSetting
from icl_core.papers.birth.laboratory import load_run, memory, sweeps
from icl_core.papers.birth.laboratory import run as learning
from icl_core.papers.birth.laboratory.draw import parameterisations
from icl_core.papers.birth.laboratory.run import ratio
from icl_core.papers.birth.laboratory.settings import FORMS, HEADS, Config, View
from icl_core.papers.birth.shared import expected_recall
from tests.cells import shipped
from tests.parameters import first_is_short


@pytest.fixture(scope="module")
def run() -> Run:
    return shipped("birth.laboratory", "classroom")


def planted(count: int = 32, d: int = 256, seed: int = 3):
    U, V = memory.pairs(count, d, seed)
    return U, V, np.arange(count)


def test_inner_products_of_random_and_remapped_vectors_have_variance_one_over_d():
    for d in (32, 128):
        products = memory.near(4096, d, 0)
        exact = {"independent": 1 / d, "other": 1 / d, "remapped": (d + 2) / d**2}
        for name, variance in exact.items():
            assert np.mean(products[name] ** 2) == pytest.approx(variance, rel=0.12), (name, d)
        assert products["norm"].mean() == pytest.approx(1, abs=0.02)
        assert products["norm_remapped"].mean() == pytest.approx(1, abs=0.03)


def test_the_variance_as_printed_is_half_of_it():
    d = 64
    variance = np.mean(memory.near(4096, d, 1)["remapped"] ** 2)
    printed = (3 * d + d * (d - 1) / 2) / d**3
    assert variance / printed == pytest.approx(2 * (d + 2) / (d + 5), rel=0.12)


def test_fewer_pairs_are_the_first_of_more():
    for few, many in zip(memory.pairs(5, 16, 2), memory.pairs(50, 16, 2), strict=True):
        np.testing.assert_array_equal(few, many[:5])


SIZES = [(64, 128), (32, 32), (32, 128), (64, 512), (128, 512)]  # width and pairs


@pytest.mark.parametrize("size", first_is_short(SIZES))
@pytest.mark.parametrize("exponent", [0.0, 1.0])
def test_theory_is_what_simulation_gives_within_its_error(size: tuple[int, int], exponent: float):
    d, count = size
    strengths = np.arange(1, count + 1) ** -exponent
    recalls = []
    for seed in range(12):
        U, V = memory.pairs(count, d, seed)
        W = memory.full(U, V, strengths.astype(np.float32))
        recalls.append(memory.right(U @ W.T, V, np.arange(count)).mean())
    error = np.std(recalls, ddof=1) / len(recalls) ** 0.5
    expected = expected_recall.recalled(d, strengths).mean()
    assert abs(np.mean(recalls) - expected) < 3 * error + 0.004


def test_the_cross_talk_has_the_variance_of_first_order():
    d = 128
    count = 256
    U, V = memory.pairs(count, d, 0)
    readings = V @ memory.full(U, V) @ U.T
    other = readings[~np.eye(count, dtype=bool)]
    assert other.var() == pytest.approx(expected_recall.first_order(d, count), rel=0.1)
    assert readings.diagonal().mean() == pytest.approx(1, abs=0.05)


def test_frequent_pairs_are_recalled_first_by_theory():
    recall = expected_recall.recalled(64, np.arange(1, 257) ** -1.0)
    assert recall[0] > 0.99 and (np.diff(recall) < 1e-9).all() and recall[-1] < 0.05


@pytest.mark.parametrize("form", FORMS)
def test_a_planted_memory_is_recalled_in_every_form(form: str):
    U, V, targets = planted()
    answers = parameterisations.answers(View(width=256, pairs=32, form=form, rank=64), U, U, V, 0)
    assert memory.right(answers, V, targets).mean() == 1


@pytest.mark.parametrize("make", [memory.shared_heads, memory.split_heads])
def test_a_memory_over_several_heads_is_recalled(make):
    U, V, targets = planted(16, 512)
    heads = make(U, V, HEADS, 0)
    assert all(A.shape == (512, 64) and B.shape == (64, 512) for A, B in heads)
    share = memory.right(memory.answers_of_heads(heads, U).sum(0), V, targets).mean()
    assert share == 1 if make is memory.shared_heads else share > 0.9


def test_heads_that_store_all_are_one_factorised_memory():
    U, V, _ = planted()
    whole = memory.product(memory.factorised(U, V, 256, 5))
    parts = memory.answers_of_heads(memory.shared_heads(U, V, HEADS, 5), U).sum(0) / 2
    np.testing.assert_allclose(parts, U @ whole.T, rtol=1e-3, atol=1e-3)


def test_the_factors_are_those_of_appendix_d():
    """By its own expansion into four terms."""
    U, V, _ = planted(8, 32)
    r = 16
    d = 32
    A, B = memory.factorised(U, V, r, 7)
    B0 = memory.gaussian((r, d), d, 7, d, memory.STARTS, r, 1)
    A0 = A - V.T @ (U @ B0.T)
    y = np.sqrt(d / r) * V @ A0
    x = np.sqrt(d / r) * U @ B0.T
    twice = (
        y @ x.T + (V @ V.T) @ (x @ x.T) + (y @ y.T) @ (U @ U.T) + (V @ V.T) @ (x @ y.T) @ (U @ U.T)
    )
    np.testing.assert_allclose(2 * V @ memory.product((A, B)) @ U.T, twice, rtol=1e-3, atol=1e-3)


def test_no_matrix_of_a_rank_is_nearer_than_the_best():
    U, V, _ = planted(64, 32)
    W = memory.full(U, V)
    left, right = memory.best_factors(W)
    np.testing.assert_allclose(left @ right, W, atol=1e-4)
    values = np.linalg.svd(W, compute_uv=False)
    off = np.linalg.norm(W - left[:, :8] @ right[:8])
    assert off == pytest.approx(math.sqrt((values[8:] ** 2).sum()), rel=1e-4)


def test_layer_norm_evens_out_readings_but_changes_no_winner():
    U, V, targets = planted(32, 256)
    strengths = (np.arange(1, 33) ** -1.0).astype(np.float32)
    plain = U @ memory.full(U, V, strengths).T
    normed = memory.normed(plain)
    assert (memory.right(plain, V, targets) == memory.right(normed, V, targets)).all()
    readings, evened = ((answers * V).sum(1) for answers in (plain, normed))
    assert readings[0] / readings[7] > 2 * evened[0] / evened[7]
    assert memory.normed(np.zeros((1, 4))).tolist() == [[0, 0, 0, 0]]


def test_sets_need_a_threshold_between_what_is_shared_and_all():
    keys, V, which = sweeps.sets_of(2, 256, 0)
    assert len(keys) == 66 and set(which) == set(range(sweeps.ANSWERS))

    def share(threshold: float) -> float:
        return memory.right(memory.mlp(keys, keys, V[which], threshold), V, which).mean()

    assert share(0.7) == 1 and share(0.1) < 0.7 and share(1.5) == 0
    assert memory.right(keys @ memory.full(keys, V[which]).T, V, which).mean() < 0.7


@pytest.mark.parametrize("norm", [False, True])
def test_the_gradient_is_autograds(norm: bool):
    U, V = (vectors.astype(float) for vectors in memory.pairs(12, 16, 0))
    frequencies = memory.zipf(12, 1.0)
    W = memory.gaussian((16, 16), 16, 4).astype(float)
    leaf = torch.tensor(W, requires_grad=True)
    answer = torch.tensor(U) @ leaf.T
    unit = answer / answer.norm(dim=1, keepdim=True) if norm else answer
    logits = unit @ torch.tensor(V).T
    losses = torch.nn.functional.cross_entropy(logits, torch.arange(12), reduction="none")
    (losses @ torch.tensor(frequencies)).backward()
    gradient, _ = learning.gradient(W, U, V, frequencies, norm)
    np.testing.assert_allclose(gradient, leaf.grad, atol=1e-12)


def test_strengths_are_read_off_the_matrix_and_begin_with_the_closed_form():
    U, V = (vectors.astype(float) for vectors in memory.pairs(16, 32, 0))
    frequencies = memory.zipf(16, 1.0)
    trained = learning.train(np.zeros((32, 32)), U, V, frequencies, 10.0, 40, norm=False)
    assert not trained.right[0].any() and np.abs(trained.strength[0]).max() == 0
    np.testing.assert_allclose(trained.strength[1], learning.one_step(frequencies, 10.0), rtol=1e-9)
    assert trained.right[-1].all() and trained.strength.shape == (41, 16)


def test_with_orthonormal_vectors_strengths_follow_the_flow():
    frequencies = memory.zipf(8, 1.0)
    trained = learning.train(
        np.zeros((8, 8)), np.eye(8), np.eye(8), frequencies, 0.05, 2000, norm=False
    )
    expected = learning.without_cross_talk(frequencies, 0.05, 2000)
    np.testing.assert_allclose(trained.strength[-1], expected, rtol=0.01)
    np.testing.assert_allclose(
        learning.learned_at(trained.sure), learning.half_at(frequencies, 0.05), rtol=0.02
    )


def test_when_a_pair_is_learned_is_the_step_from_which_on_it_stays():
    sure = np.array([[0, 0, 0.5, 0], [1, 0, 1, 0], [0, 0.6, 1, 0], [1, 1, 0.9, 0.4]], float)
    *learned, never = learning.learned_at(sure)
    assert learned == [3, 2, 0] and np.isnan(never)


def test_the_ratio_is_of_the_most_frequent_quarter_to_the_rarest():
    reading = np.array([[4.0, 1, 1, 2], [4, 1, 1, -1]])
    assert ratio(reading)[0] == 2 and np.isnan(ratio(reading)[1])


def test_more_pairs_than_dimensions_cannot_be_learned_here():
    with pytest.raises(BadSetting, match="N must be at most d = 32"):
        Config(N=48, d=32)


def test_one_concrete_memory_is_the_first_of_the_sweep(run: Run):
    """The same vectors, so the same recall as the first seed's."""
    for width, pairs in ((64, 256), (128, 1024)):
        U, V = memory.pairs(pairs, width, run.config.seed)
        inputs = sweeps.asked_of(pairs)
        share = memory.right(U[inputs] @ memory.full(U, V).T, V, inputs).mean()
        expected = load_run.at(run, "capacity/equal", width=width, capacity=pairs)[0]
        assert share == pytest.approx(expected, abs=0.01)


def test_the_shipped_sweep_follows_the_formula_at_every_width(run: Run):
    difference = run["capacity/equal"].mean(0) - run["theory/equal"]
    assert np.abs(difference).max() < 0.06 and load_run.off_theory(run) < 0.02


def test_half_is_recalled_of_ever_more_pairs(run: Run):
    counts = load_run.halves(run)
    assert (np.diff(counts) > 0).all() and run["axis/width"][2] == 64 and 200 < counts[2] < 500


def test_the_inner_width_shown_is_no_more_than_there_are_dimensions():
    assert parameterisations.inner(View(width=16, rank=256)) == 16
    assert parameterisations.inner(View(width=64, rank=8)) == 8


def test_every_slider_of_the_view_draws_at_its_ends(run: Run):
    experiment = registry.experiment("birth.laboratory")
    for view in (
        View(width=16, pairs=4, rank=256, taken=7, members=1, threshold=0.0, form="norm"),
        View(width=256, pairs=1024, rank=4, taken=0, members=3, threshold=1.2, form="factorised"),
    ):
        for drawing in experiment.drawings:
            panel = drawing.draw(run, view)
            assert "nan" not in panel.title and panel.figure is not None, drawing.name
