"""Layers that share their weights, layers that begin at the construction, and labels that are
shorter than x."""

import numpy as np
import pytest
import torch
from test_gdssm_model import F, N, descended

from icl_core.contract.knobs import BadSetting
from icl_core.papers.gdssm.layer.symmetries import two_layers
from icl_core.papers.gdssm.shared import any_layer as models
from icl_core.papers.gdssm.shared import construction, gradient_descent, multi_layer, train
from icl_core.papers.gdssm.shared.settings import Config
from icl_core.papers.gdssm.shared.task import Tasks, interleaved, loss, sample, windows


def tasks_of(n_o: int | None = None, count: int = 3000) -> Tasks:
    return sample(F, N, count, torch.Generator().manual_seed(9), n_o).to(torch.float64)


@pytest.mark.parametrize("loops", [2, 3, 4])
def test_looped_layers_are_layers_of_equal_weights(loops):
    """Both forms, against layers that are written out."""
    config = Config(layers=loops, tied=True, f=F, N=N)
    tied = models.initial(config, [3, 4]).to(torch.float64)
    assert tied.Q.shape == (2, 1, 3, 3) and tied.layers == loops
    weights = {
        name: torch.cat([getattr(tied, name)] * (loops - name.endswith("tilde")), 1)
        for name in ("a", "a_tilde", "Q", "Q_tilde", "b")
    }
    apart = models.initial(Config(layers=loops, f=F, N=N), [3, 4]).to(torch.float64)
    apart = apart.with_(q=tied.q, **weights)
    C = windows(interleaved(tasks_of(count=7)))
    expected = multi_layer.attention(apart, C)
    torch.testing.assert_close(multi_layer.attention(tied, C), expected)
    torch.testing.assert_close(multi_layer.recurrent(tied, C)[0][-1], expected)
    torch.testing.assert_close(tied.unrolled().unrolled().Q, apart.Q)


@pytest.mark.parametrize("loops", [2, 3])
def test_the_best_looped_layer_is_a_recursion_with_two_numbers(loops):
    """M <- M - h (M S - rho G) on every task, and no pair of numbers nearby is better."""
    tasks = tasks_of()
    eta, share = construction.best_looped(tasks, loops)
    G, S = (torch.einsum("nit,njt->ijt", rows[:-1], tasks.x[:-1]) for rows in (tasks.y, tasks.x))

    def predicted(eta: float, share: float) -> torch.Tensor:
        M = torch.zeros_like(G)
        for _ in range(loops):
            M = M - eta / N * (torch.einsum("ijt,jkt->ikt", M, S) - share * G)
        return gradient_descent.predict(M, tasks)

    config = Config(layers=loops, tied=True, f=F, N=N)
    built = models.constructed(config, tasks).to(torch.float64)
    computed = models.predict(built, tasks)[0]
    torch.testing.assert_close(computed, predicted(eta, share), atol=1e-6, rtol=1e-6)
    best = float(loss(predicted(eta, share), tasks.y[-1]))
    for off in (0.97, 1.03):
        assert float(loss(predicted(off * eta, share), tasks.y[-1])) > best
        assert float(loss(predicted(eta, off * share), tasks.y[-1])) > best


def test_two_loops_lose_nothing_and_three_do():
    """Two numbers are what two free steps have; three free steps have three."""
    tasks = tasks_of()

    def losses(steps: int) -> list[float]:
        eta, share = construction.best_looped(tasks, steps)
        c = share * construction.shared_mixture(np.array(eta), N, steps)
        shared = construction.best_shared_eta(tasks, steps)
        one_rate = construction.shared_mixture(np.array(shared), N, steps)
        inner = construction.inner(tasks, steps)
        floor = construction.best_mixture(tasks, steps)[1]
        return [floor, float(inner.loss(c)), float(inner.loss(one_rate))]

    floor, looped, one_rate = losses(2)
    assert looped == pytest.approx(floor, rel=1e-6) and one_rate > 1.02 * floor
    floor, looped, one_rate = losses(3)
    assert 1.02 * floor < looped < one_rate


def test_a_looped_layer_reaches_any_pair_of_two_steps():
    """Z = s G, Z~ = c S: A = 2 b s and B = b^2 s c."""
    built = construction.multi_layer(F, N, [0.7 * N] * 2)
    looped = two_layers(built.with_(Q=3.0 * built.Q, Q_tilde=0.4 * built.Q_tilde), N)
    assert float(looped["A"]) == pytest.approx(2 * 0.7 * 3, rel=1e-6)
    assert float(looped["B"]) == pytest.approx(0.7**2 * 3 * 0.4, rel=1e-6)


def test_training_may_begin_at_the_construction_of_one_rate(monkeypatch):
    monkeypatch.setattr(train, "TEST_SET", (2**10, 2**20))
    config = Config(layers=2, recurrence="scalar", f=F, N=N, start="construction")
    tasks = train.held_out(config)
    eta = construction.best_shared_eta(tasks, 2)
    expected = descended(tasks, eta, 2)
    computed = models.predict(train.initial(config), tasks)[0]
    torch.testing.assert_close(computed, expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("n_o", [1, 2, F])
@pytest.mark.parametrize("layers", [1, 2])
def test_short_labels_are_padded_and_still_make_gradient_descent(n_o, layers):
    """The state then has rows of zeros, and the prediction is read from the others."""
    config = Config(recurrence="scalar", f=F, N=N, n_o=n_o, layers=layers)
    tasks = tasks_of(n_o)
    assert config.labels == n_o and tasks.y.shape[1] == n_o
    tokens = interleaved(tasks)
    assert (tokens[1::2, : F - n_o] == 0).all() and (tokens[1::2, F - n_o :] == tasks.y[:-1]).all()
    built = models.constructed(config, tasks, shared=True).to(torch.float64)
    eta = construction.best_shared_eta(tasks, layers)
    expected = descended(tasks, eta, layers)
    torch.testing.assert_close(models.predict(built, tasks)[0], expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_o": 3, "f": 2, "recurrence": "scalar"}, "n_o must be at most f = 2, got 3"),
        ({"n_o": 1}, "recurrence must be scalar where n_o < f, got row"),
        ({"n_o": 1, "model": "1-D"}, "n_o must be 0 with scalar labels, got 1"),
        ({"start": "construction", "seeds": 2}, "seeds must be 1 from the construction"),
        (
            {"start": "construction", "tied": True, "layers": 2},
            "start must be random with looped layers",
        ),
    ],
)
def test_settings_that_cannot_be_are_refused(changes, message):
    with pytest.raises(BadSetting, match=message):
        Config(**changes)


def test_one_layer_has_no_loops():
    assert not Config(tied=True).tied
