"""Scalar labels, several layers: the windows with y as [0, …, y], and what the 1-D layer's own
tokens lack."""

import pytest
import torch
from test_gdssm_model import EXACT, F, N, descended

from icl_core.papers.gdssm.layer import exact
from icl_core.papers.gdssm.shared import any_layer as models
from icl_core.papers.gdssm.shared import construction, gradient_descent, multi_layer
from icl_core.papers.gdssm.shared.settings import Config
from icl_core.papers.gdssm.shared.task import Tasks, constructed_tokens, interleaved, loss, sample


@pytest.fixture(autouse=True)
def double():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def tasks_of(count=5, seed=9, f=F) -> Tasks:
    return sample(f, N, count, torch.Generator().manual_seed(seed), 1)


def config(layers, penalty=0.0) -> Config:
    return Config(model="1-D", layers=layers, recurrence="scalar", f=F, N=N, penalty=penalty)


def test_a_scalar_label_stands_behind_zeros():
    tasks = tasks_of()
    tokens = interleaved(tasks)
    assert tokens[1::2, -1].equal(tasks.y[:-1, 0]) and not tokens[1::2, :-1].any()
    assert tokens[0::2].equal(tasks.x)


@pytest.mark.parametrize("penalty", [0.0, 0.3])
@pytest.mark.parametrize("layers", [2, 3])
def test_layers_on_scalar_labels_are_steps_of_gradient_descent(layers, penalty):
    tasks = tasks_of()
    built = models.constructed(config(layers, penalty=penalty), tasks, shared=True)
    expected = descended(tasks, float(built.b[0, 0]) * N, layers, penalty)
    torch.testing.assert_close(models.predict(built, tasks)[0], expected, **EXACT)
    outputs, *_, M = multi_layer.recurrent(built, models.read(built, tasks))
    torch.testing.assert_close(outputs[-1, 0, -1:], expected, **EXACT)
    assert not M[:, -1, 0, :-1].any()  # the rows that nobody asks for


def test_with_free_rates_they_make_the_best_two_steps():
    tasks = tasks_of(4000)
    loss = float(models.losses(models.constructed(config(2), tasks), tasks)[0])
    assert loss == pytest.approx(construction.best_mixture(tasks, 2)[1], rel=1e-8)


def test_both_forms_agree_on_scalar_labels():
    weights = models.initial(config(3, penalty=0.1), [0, 1])
    weights = weights.with_(
        **{name: 3 * tensor for name, tensor in weights.tensors().items() if name[0] in "Qqb"}
    )
    read = models.read(weights, tasks_of())
    recurrence = multi_layer.recurrent(weights, read)[0][-1, :, -1:]
    torch.testing.assert_close(models.forward(weights, read), recurrence)


def test_equal_tokens_need_not_have_equal_second_steps():
    """(c x_1, y_1 / c) leaves every token [x_t y_t, x_{t+1}] as it is, and one step, and changes
    two."""
    c = 1.7
    tasks = tasks_of()
    rescaled = Tasks(tasks.x.clone(), tasks.y.clone())
    rescaled.x[0] *= c
    rescaled.y[0] /= c
    torch.testing.assert_close(constructed_tokens(rescaled), constructed_tokens(tasks), **EXACT)
    torch.testing.assert_close(descended(rescaled, 0.9), descended(tasks, 0.9), **EXACT)
    difference = descended(rescaled, 0.9, 2) - descended(tasks, 0.9, 2)
    assert float(difference.abs().min()) > 1e-3


def test_a_stacked_layer_adds_up_what_the_first_predicts_from_the_pairs_so_far():
    """Against gradient descent by automatic differentiation after every pair."""
    tasks = tasks_of()
    first, second = exact.stacked(constructed_tokens(tasks))
    sums = gradient_descent.accumulated(tasks)[:, 0]  # g_t: (N, f, tasks)
    x = tasks.x
    error = 0.0
    for t in range(1, N):
        error = error + (sums[t - 1] * x[t]).sum(0) * x[t]
    torch.testing.assert_close(first, (sums[-1] * x[-1]).sum(0), **EXACT)
    torch.testing.assert_close(second, (error * x[-1]).sum(0), **EXACT)


def test_without_its_first_example_the_curvature_is_what_the_tokens_hold():
    tasks = tasks_of()
    first, second = exact.left_out(constructed_tokens(tasks))
    x = tasks.x
    g = gradient_descent.accumulated(tasks)[-1, 0]
    S = torch.einsum("nit,njt->ijt", x[1:-1], x[1:-1])
    torch.testing.assert_close(first, (g * x[-1]).sum(0), **EXACT)
    torch.testing.assert_close(second, torch.einsum("it,ijt,jt->t", g, S, x[-1]), **EXACT)


def test_on_the_tokens_two_layers_do_less_than_two_steps_and_more_than_one():
    tasks = sample(10, 10, 20_000, torch.Generator().manual_seed(1), 1)
    floors = exact.second_step_floors(tasks)
    one, two = (construction.best_mixture(tasks, steps)[1] for steps in (1, 2))
    assert two < floors["left_out"] < floors["stacked"] < one
    assert (floors["left_out"] - two) / (one - two) == pytest.approx(0.25, abs=0.02)
    assert (floors["stacked"] - two) / (one - two) == pytest.approx(0.40, abs=0.02)
    c = construction.best_mixture(tasks, 1)[0]
    first = c[0] * exact.stacked(constructed_tokens(tasks))[0][None]
    assert float(loss(first, tasks.y[-1])) == pytest.approx(one)
