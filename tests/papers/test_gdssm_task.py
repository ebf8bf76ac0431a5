"""The tasks, their tokens, and the closed forms against Monte Carlo."""

import math

import numpy as np
import pytest
import torch

from icl_core.papers.gdssm.shared import closed_forms, construction
from icl_core.papers.gdssm.shared.task import (
    apply,
    constructed_tokens,
    interleaved,
    loss,
    sample,
    sample_sine,
    windows,
)


@pytest.fixture(autouse=True)
def double():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def assert_near(values: torch.Tensor, expected: float) -> None:
    """Within 4 standard errors."""
    mean = float(values.double().mean())
    error = float(values.double().std() / math.sqrt(len(values)))
    assert abs(mean - expected) < 4 * error, (mean, expected, error)


def labelling(tasks):
    """W of y = W x by least squares over the pairs and the query, (n_o, f, tasks)."""
    x, y = (rows.permute(2, 0, 1) for rows in (tasks.x, tasks.y))
    return torch.linalg.lstsq(x, y).solution.permute(2, 1, 0)


def test_moments_of_the_sampler():
    tasks = sample(4, 3, 40_000, generator(), r=2.0)
    assert tasks.x.shape == tasks.y.shape == (4, 4, 40_000)
    assert tasks.x.abs().max() <= 2
    for x in tasks.x.flatten(0, 1):
        assert_near(x, 0)
        assert_near(x**2, closed_forms.variance(2.0))
        assert_near(x**4, closed_forms.KAPPA * closed_forms.variance(2.0) ** 2)
    W = labelling(tasks)
    for w in W.flatten(0, 1):
        assert_near(w, 0)
        assert_near(w**2, 1)
    assert_near(tasks.x[0, 1] * tasks.x[2, 1], 0)
    assert_near(W[0, 1] * W[2, 1], 0)


@pytest.mark.parametrize("n_o", [1, 5])
def test_labels_are_linear(n_o):
    tasks = sample(5, 8, 7, generator(), n_o)
    linear = torch.einsum("oft,nft->not", labelling(tasks), tasks.x)  # nine pairs of five features
    torch.testing.assert_close(tasks.y, linear)
    assert len(tasks.part(2, 5)) == 3
    assert tasks.part(2, 5).y.equal(tasks.y[..., 2:5])


@pytest.mark.parametrize(
    "sizes, message", [((0, 1, 1), "f must"), ((1, 0, 1), "N must"), ((1, 1, 0), "tasks must")]
)
def test_sizes_below_one_are_refused(sizes, message):
    with pytest.raises(ValueError, match=f"{message} be at least 1, got 0"):
        sample(*sizes, generator())
    with pytest.raises(ValueError, match="r must be positive, got -1"):
        sample(1, 1, 1, generator(), r=-1.0)
    with pytest.raises(ValueError, match="N must be at least 1, got 0"):
        sample_sine(0, 1, generator())


def test_tokens_and_windows():
    tasks = sample(3, 4, 2, generator())
    E = interleaved(tasks)
    C = windows(E)
    every = windows(E, odd=True)
    assert C.shape == (4, 3, 3, 2)
    assert every.shape == (7, 3, 3, 2)
    assert every[::2].equal(C)
    for t in range(4):
        assert C[t].equal(torch.stack((tasks.x[t], tasks.y[t], tasks.x[t + 1])))
    for t in range(3):
        assert every[2 * t + 1].equal(torch.stack((tasks.y[t], tasks.x[t + 1], tasks.y[t + 1])))
    scalar = sample(3, 4, 2, generator(), 1)
    c = constructed_tokens(scalar)
    assert c[1].equal(torch.cat((scalar.x[1] * scalar.y[1], scalar.x[2])))
    with pytest.raises(ValueError, match="y must have 1 coordinate"):
        constructed_tokens(tasks)
    with pytest.raises(ValueError, match="y must have at most f = 3 coordinates, got 4"):
        interleaved(sample(3, 4, 2, generator(), 4))


def test_sine_tasks():
    tasks = sample_sine(10, 40_000, generator())
    assert 4.9 < tasks.x.abs().max() <= 5
    assert tasks.y.abs().max() <= 0.5
    # E amplitude^2 / 4, the phase all but averaged over x
    assert_near(tasks.y[-1, 0].square() / 2, 0.31 / 12)
    assert float(tasks.y.square().mean()) / 2 == pytest.approx(0.0265, abs=0.0012)


def per_task(prediction, tasks):
    return (prediction - tasks.y[-1]).square().mean(0) / 2


def one_step(tasks, beta):
    return beta * (tasks.y[:-1] * (tasks.x[:-1] * tasks.x[-1]).sum(1, keepdim=True)).sum(0)


@pytest.mark.parametrize("f, N, r", [(10, 10, 1.0), (3, 20, 0.5), (1, 1, 2.0)])
def test_one_step_against_monte_carlo(f, N, r):
    tasks = sample(f, N, 20_000, generator(1), r=r)
    beta = closed_forms.best_beta(f, N, r)
    assert_near(per_task(torch.zeros_like(tasks.y[-1]), tasks), closed_forms.zero_loss(f, r))
    assert_near(per_task(one_step(tasks, beta), tasks), closed_forms.best_loss(f, N, r))
    assert construction.best_eta(tasks) == pytest.approx(N * beta, rel=0.05)
    for scale in (0.5, 1.0, 1.4, 2.0):  # trained on scale r, tested on another
        scaled = sample(f, N, 20_000, generator(2), r=scale * r)
        expected = closed_forms.one_step_loss(beta, f, N, scale * r)
        assert_near(per_task(one_step(scaled, beta), scaled), expected)


def test_numbers_of_one_step_at_the_papers_size():
    assert 10 * closed_forms.best_beta(10, 10) == pytest.approx(1.515, abs=5e-4)
    assert closed_forms.best_loss(10, 10) == pytest.approx(0.8249, abs=5e-5)
    beta = closed_forms.best_beta(10, 10)
    assert closed_forms.one_step_loss(beta, 10, 10) == pytest.approx(closed_forms.best_loss(10, 10))
    for scale, worse in ((1.41, False), (1.42, True)):  # than zero, beyond sqrt 2
        loss = closed_forms.one_step_loss(beta, 10, 10, scale)
        assert (loss > closed_forms.zero_loss(10, scale)) == worse


@pytest.mark.parametrize("f, N, r", [(10, 10, 1.0), (2, 5, 0.5), (1, 1, 1.0), (3, 1, 1.0)])
def test_moments_of_the_gram_matrix_against_monte_carlo(f, N, r):
    x = sample(f, N, 20_000, generator(3), r=r).x[:-1]
    S = torch.einsum("nit,njt->tij", x, x)
    for k, expected in enumerate(closed_forms.moments(f, N, r), 1):
        assert_near(torch.linalg.matrix_power(S, k).diagonal(dim1=1, dim2=2).sum(1), expected)


def test_two_steps_against_monte_carlo_and_the_known_numbers():
    tasks = sample(10, 10, 20_000, generator(4))
    along = apply(torch.einsum("nit,njt->ijt", tasks.x[:-1], tasks.x[:-1]), tasks.x[-1:])[0]
    first = one_step(tasks, 1.0)
    second = (tasks.y[:-1] * (tasks.x[:-1] * along).sum(1, keepdim=True)).sum(0)
    free = closed_forms.two_steps_free(10, 10)
    shared = closed_forms.two_steps_shared(10, 10)
    for steps in (free, shared):
        assert_near(per_task(steps.A * first - steps.B * second, tasks), steps.loss)
    assert free.loss == pytest.approx(0.564, abs=0.0015)
    assert shared.loss == pytest.approx(0.627, abs=0.0015)
    assert abs(shared.B - (shared.A / 2) ** 2) < 1e-12
    c, least = construction.best_mixture(tasks, 2)
    assert least == pytest.approx(free.loss, rel=0.02)
    assert [c[0], -c[1]] == pytest.approx([free.A, free.B], rel=0.02)
    eta = construction.best_shared_eta(tasks, 2)
    assert eta == pytest.approx(10 * shared.A / 2, rel=0.02)


@pytest.mark.parametrize("f, N", [(10, 10), (1, 1), (4, 30)])
def test_the_two_step_optima_are_optima(f, N):
    free = closed_forms.two_steps_free(f, N)
    shared = closed_forms.two_steps_shared(f, N)
    assert free.loss < shared.loss < closed_forms.best_loss(f, N)
    for change in (0.99, 1.01):
        assert closed_forms.two_step_loss(free.A * change, free.B, f, N) > free.loss
        assert closed_forms.two_step_loss(free.A, free.B * change, f, N) > free.loss
        h = change * shared.A / 2
        assert closed_forms.two_step_loss(2 * h, h**2, f, N) > shared.loss


def test_inner_products_give_the_loss_of_any_mixture():
    tasks = sample(3, 6, 50, generator(5))
    inner = construction.inner(tasks, 1)
    for beta in (0.0, 0.1, -1.0):
        expected = float(loss(one_step(tasks, beta), tasks.y[-1]))
        assert float(inner.loss(np.array([beta]))) == pytest.approx(expected)
