"""The models and their constructions against plain gradient descent by automatic differentiation,
in float64."""

import numpy as np
import pytest
import torch

from icl_core.papers.gdssm.corrections.run import state_before_the_sum
from icl_core.papers.gdssm.layer.symmetries import compare, quantities
from icl_core.papers.gdssm.shared import any_layer as models
from icl_core.papers.gdssm.shared import (
    closed_forms,
    construction,
    gradient_descent,
    layer_1d,
    layer_nd,
    multi_layer,
)
from icl_core.papers.gdssm.shared.settings import RECURRENCES, Config
from icl_core.papers.gdssm.shared.task import (
    Tasks,
    constructed_tokens,
    interleaved,
    loss,
    sample,
    windows,
)

F = 4
N = 6
EXACT = {"rtol": 1e-10, "atol": 1e-10}


@pytest.fixture(autouse=True)
def double():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def tasks_of(n_o=None, f=F, pairs=N, count=5, seed=9) -> Tasks:
    return sample(f, pairs, count, torch.Generator().manual_seed(seed), n_o)


def windows_of(tasks: Tasks, odd=False):
    return windows(interleaved(tasks), odd)


def descended(tasks: Tasks, eta: float, steps=1, penalty=0.0):
    """What the model after these steps of gradient descent predicts."""
    return gradient_descent.predict(gradient_descent.descend(tasks, eta, steps, penalty)[-1], tasks)


CASES = {
    "1-D scalar": (layer_1d, {"model": "1-D", "recurrence": "scalar"}),
    "1-D row": (layer_1d, {"model": "1-D"}),
    **{f"N-D {r}": (layer_nd, {"recurrence": r, "skip": True}) for r in RECURRENCES},
    **{
        f"{L} layers {r}": (
            multi_layer,
            {"layers": L, "recurrence": r, "skip": L % 2 == 0, "penalty": 0.1 * L},
        )
        for L in (1, 2, 3, 4)
        for r in ("scalar", "row")
    },
}


def initial(case, seeds, f=F, n=N):
    module, changes = CASES[case]
    generators = [torch.Generator().manual_seed(seed) for seed in range(seeds)]
    return module.initialise(Config(f=f, N=n, **changes), generators)


def large_weights(case, seeds=3, f=F, n=N):
    weights = initial(case, seeds, f, n)
    return weights.with_(
        **{name: tensor * 3 for name, tensor in weights.tensors().items() if name[0] in "QqPTb"}
    )


def data(case, f=F, n=N):
    tasks = tasks_of(1 if case.startswith("1-D") else f, f, n)
    return tasks, models.read(initial(case, 1, f, n), tasks)


def by_recurrence(weights, read):
    """The last output of the form that runs over the tokens."""
    modules = {"Layer1D": layer_1d, "LayerND": layer_nd, "MultiLayer": multi_layer}
    last = modules[type(weights).__name__].recurrent(weights, read)[0][-1]
    return last if last.dim() == 3 else last[:, None]


# Constructions and plain gradient descent


def test_the_1d_construction_is_a_step_of_gradient_descent():
    tasks = tasks_of(1)
    weights = construction.layer_1d(F, N, 0.7)
    outputs, states = layer_1d.recurrent(weights, constructed_tokens(tasks))
    torch.testing.assert_close(outputs[-1], descended(tasks, 0.7), **EXACT)
    torch.testing.assert_close(states[:, 0], gradient_descent.accumulated(tasks)[:, 0], **EXACT)


@pytest.mark.parametrize("recurrence", RECURRENCES)
def test_the_nd_construction_is_a_step_of_gradient_descent(recurrence):
    tasks = tasks_of()
    weights = construction.layer_nd(F, N, 0.7, recurrence)
    outputs, states = layer_nd.recurrent(weights, windows_of(tasks))
    torch.testing.assert_close(outputs[-1, 0], descended(tasks, 0.7), **EXACT)
    torch.testing.assert_close(states[:, 0], gradient_descent.accumulated(tasks), **EXACT)
    for t in range(N):  # every output is the prediction from the pairs so far
        M = -0.7 * gradient_descent.gradient(torch.zeros_like(states[t, 0]), tasks, t + 1)
        prefix = Tasks(tasks.x[: t + 2], tasks.y[: t + 2])
        torch.testing.assert_close(outputs[t, 0], gradient_descent.predict(M, prefix), **EXACT)


@pytest.mark.parametrize("penalty", [0.0, 0.3])
@pytest.mark.parametrize("steps", [1, 2, 3, 4])
def test_the_layers_are_steps_of_gradient_descent(steps, penalty):
    tasks = tasks_of()
    weights = construction.multi_layer(F, N, [0.7] * steps, penalty)
    outputs, Z, _, iterates = multi_layer.recurrent(weights, windows_of(tasks))
    M = gradient_descent.descend(tasks, 0.7, steps, penalty)
    torch.testing.assert_close(iterates[:, -1, 0], M, **EXACT)
    torch.testing.assert_close(outputs[-1, 0], gradient_descent.predict(M[-1], tasks), **EXACT)
    torch.testing.assert_close(Z[0, :, 0], gradient_descent.accumulated(tasks), **EXACT)
    c = construction.shared_mixture(np.float64(0.7), N, steps, penalty)
    wide = tasks_of(count=200)
    expected = float(loss(descended(wide, 0.7, steps, penalty), wide.y[-1]))
    assert float(construction.inner(wide, steps).loss(c)) == pytest.approx(expected, rel=1e-10)


def test_layers_of_the_best_rates_make_the_best_mixture():
    tasks = tasks_of(f=5, pairs=8, count=4000)
    for steps in (1, 2, 3, 4):
        rates = construction.best_rates(tasks, steps)
        weights = construction.multi_layer(5, 8, rates)
        reached = float(loss(models.predict(weights, tasks), tasks.y[-1]))
        assert reached == pytest.approx(construction.best_mixture(tasks, steps)[1], rel=1e-8)


def test_the_best_rate_is_the_best():
    tasks = tasks_of(count=500)
    eta = construction.best_eta(tasks)
    for steps, best in ((1, eta), (3, construction.best_shared_eta(tasks, 3, 0.1))):
        losses = [
            float(loss(descended(tasks, rate, steps, 0.1), tasks.y[-1]))
            for rate in (0.99 * best, best, 1.01 * best)
        ]
        assert losses[1] == min(losses)
    assert construction.best_shared_eta(tasks, 1) == pytest.approx(eta, rel=1e-6)
    without_penalty = construction.best_shared_eta(tasks, 3, penalty=0.0)
    assert construction.best_shared_eta(tasks, 3) == without_penalty


# The paper's formulas as printed, and what gives gradient descent


def test_correction_1_the_papers_sign_descends_backwards():
    tasks = tasks_of()
    weights = construction.layer_nd(F, N, 0.7)
    output = layer_nd.attention(weights.with_(beta=-weights.beta), windows_of(tasks))[0]
    torch.testing.assert_close(output, -descended(tasks, 0.7), **EXACT)
    scalar = tasks_of(1)
    weights = construction.layer_1d(F, N, 0.7)
    output = layer_1d.attention(weights.with_(beta=-weights.beta), constructed_tokens(scalar))
    torch.testing.assert_close(output, -descended(scalar, 0.7), **EXACT)


def test_correction_2_the_papers_Q_learns_next_to_nothing():
    """With Q = e_1 e_2^T the state holds x y^T, which even at its best rate gains a hundredth, 1 /
    f^2, as much."""
    tasks = tasks_of(f=10, pairs=10, count=20_000)
    weights = construction.layer_nd(10, 10, 10.0)  # beta = 1
    learns, not_so = (
        models.predict(weights.with_(Q=construction.unit(*at)[None]), tasks)[0]
        for at in ((1, 0), (0, 1))
    )
    label = tasks.y[-1]
    gain = [
        float((label * g).sum() ** 2 / (g * g).sum() / (label * label).sum())
        for g in (learns, not_so)
    ]
    # the best rate removes this share of the zero loss
    assert gain[0] == pytest.approx(10 / 19.8, abs=0.01)
    assert gain[1] / gain[0] == pytest.approx(1 / 100, abs=0.005)


def test_correction_3_odd_windows_cost_their_share_of_the_gain():
    """N (N - 2 + kappa + f) + (N - 1) f is what the output's square grows to, from its
    first term."""
    tasks = tasks_of(f=10, pairs=10, count=20_000)
    weights = construction.layer_nd(10, 10, 10.0)
    label = tasks.y[-1]
    gains = []
    for odd in (False, True):
        parts = [tasks.part(i, i + 1000) for i in range(0, 20_000, 1000)]
        g = torch.cat([layer_nd.attention(weights, windows_of(part, odd))[0] for part in parts], -1)
        gains.append(float((label * g).sum() ** 2 / (g * g).sum() / (label * label).sum()))
    assert 1 - gains[1] / gains[0] == pytest.approx(90 / (198 + 90), abs=0.01)


def test_correction_4_factors():
    """Psi and Theta are f x 2f; a gradient of eq. 22 has no factor 2 (A.1); the penalty enters as N
    penalty W (A.4)."""
    weights = construction.layer_1d(F, N, 0.7)
    assert weights.Psi.shape == weights.Theta.shape == (1, F, 2 * F)
    tasks = tasks_of()
    M = torch.randn(F, F, 5, generator=torch.Generator().manual_seed(1))
    residual = torch.einsum("oft,nft->not", M, tasks.x[:-1]) - tasks.y[:-1]
    expected = torch.einsum("not,nft->oft", residual, tasks.x[:-1]) / N
    torch.testing.assert_close(gradient_descent.gradient(M, tasks), expected, **EXACT)
    penalised = gradient_descent.gradient(M, tasks, penalty=2.0)  # |W|^2 of A.4
    torch.testing.assert_close(penalised, expected + 2 * M, **EXACT)
    right, printed = (
        multi_layer.attention(construction.multi_layer(F, N, [0.3] * 2, p), windows_of(tasks))[0]
        for p in (2.0, 1 / N)  # what A.4 prints lacks a factor 2 N
    )
    expected = descended(tasks, 0.3, 2, 2.0)
    torch.testing.assert_close(right, expected, **EXACT)
    assert float((printed - expected).abs().max()) > 0.1


def test_correction_5_the_layers_carry_the_transpose_of_W():
    tasks = tasks_of()
    eta = 0.7
    weights = construction.multi_layer(F, N, [eta] * 2)
    _, Z, Z_tilde, M = multi_layer.recurrent(weights, windows_of(tasks))
    M_1 = M[1, -1, 0]
    expected = gradient_descent.descend(tasks, eta, 2)[-1]

    def step(first):
        curvature = torch.einsum("ijt,jkt->ikt", first, Z_tilde[0, -1, 0])
        return M_1 - eta / N * (curvature - Z[1, -1, 0])

    torch.testing.assert_close(step(M_1), expected, **EXACT)
    assert float((step(M_1.transpose(0, 1)) - expected).abs().max()) > 0.1


@pytest.mark.parametrize("seed", [0, 1])
def test_correction_6_with_the_non_linearity_before_the_sum_the_state_is_the_gradient(seed):
    """Proposition 4's statement, at any w_0: against how much the loss grows when a weight is moved
    a little."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(N, F, 5, generator=generator)
    w = torch.randn(F, 5, generator=generator)
    y = torch.rand(N, 5, generator=generator)

    def cost(w):
        return (torch.special.expit((w * x).sum(1)) - y).square().sum(0) / 2  # (tasks,)

    little = 1e-5 * torch.eye(F)[:, :, None]
    slopes = [(cost(w + change) - cost(w - change)) / 2e-5 for change in little]
    expected = torch.stack(slopes)  # (f, tasks)
    torch.testing.assert_close(state_before_the_sum(x, y, w), expected, rtol=1e-7, atol=1e-9)


def test_correction_6_no_map_of_the_state_gives_the_gradient_of_a_nonlinear_model():
    """Its proof: two contexts with the same state of A.3, sum (w_0 x - y) x, and gradients of (g(w
    x) - y)^2 / 2."""
    states = []
    gradients = []
    for x, y in ((1.0, 1.0), (2.0, 0.5)):
        w = torch.zeros((), requires_grad=True)
        states.append(float((w.detach() * x - y) * x))
        gradients.append(float(torch.autograd.grad((torch.sigmoid(w * x) - y) ** 2 / 2, w)[0]))
    assert states == [-1.0, -1.0]
    assert gradients == [-0.125, 0.0]


# Both forms of every model


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("sizes", [(F, N), (1, 1), (3, 1), (1, 5)])
def test_both_forms_agree(case, sizes):
    weights = large_weights(case, 3, *sizes)
    _, read = data(case, *sizes)
    expected = by_recurrence(weights, read)
    assert bool(expected.isfinite().all())
    torch.testing.assert_close(models.forward(weights, read), expected, **EXACT)
    single = models.forward(weights.to(torch.float32), read.float())
    torch.testing.assert_close(single, expected.float(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("negative", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_gradients_of_both_forms_agree(case, negative):
    weights = large_weights(case)
    tasks, read = data(case)
    if negative:
        weights = weights.with_(a=-weights.a)
    gradients = []
    for form in (models.forward, by_recurrence):
        leaves = {
            name: tensor.clone().requires_grad_()
            for name, tensor in weights.tensors().items()
            if tensor.numel()
        }
        losses = loss(form(weights.with_(**leaves), read), tasks.y[-1])
        gradients.append(torch.autograd.grad(losses.sum(), list(leaves.values())))
    for attention, recurrence in zip(*gradients, strict=True):
        assert bool(attention.isfinite().all())
        torch.testing.assert_close(attention, recurrence, **EXACT)


@pytest.mark.parametrize("case", CASES)
def test_seeds_do_not_mix(case):
    weights = large_weights(case)
    _, read = data(case)
    together = models.forward(weights, read)
    for seed in range(3):
        alone = weights.with_(
            **{name: tensor[seed : seed + 1] for name, tensor in weights.tensors().items()}
        )
        torch.testing.assert_close(models.forward(alone, read)[0], together[seed], **EXACT)


@pytest.mark.parametrize("case", ["1-D row", "N-D row", "N-D full", "2 layers row"])
def test_sensitivity_equals_autograd(case):
    weights = large_weights(case, 2)
    tasks, _ = data(case)
    computed = models.sensitivity(weights, tasks)  # (seeds, n_o, f, tasks)
    query = tasks.x[-1].clone().requires_grad_()
    watched = Tasks(torch.cat((tasks.x[:-1], query[None])), tasks.y)
    output = models.forward(weights, models.read(weights, watched))
    for seed in range(2):
        for row in range(output.shape[1]):
            expected = torch.autograd.grad(output[seed, row].sum(), query, retain_graph=True)[0]
            torch.testing.assert_close(computed[seed, row], expected, **EXACT)


@pytest.mark.parametrize("case", ["1-D row", "N-D row", "N-D full", "2 layers row"])
def test_predictions_grow_with_the_cube_of_the_scale_where_that_is_said(case):
    weights = large_weights(case, 2)
    tasks, _ = data(case)
    without_skip = [] if case == "1-D row" else [weights.with_(skip=None)]
    for model in (weights, *without_skip):
        scaled = models.predict(model, tasks.times(1.5))
        grown = 1.5**3 * models.predict(model, tasks)
        assert torch.allclose(scaled, grown) == models.is_cubic(model)
    assert any(map(models.is_cubic, without_skip)) == case.startswith("N-D")


def test_sensitivity_of_the_construction_is_the_model_after_a_step():
    tasks = tasks_of()
    computed = models.sensitivity(construction.layer_nd(F, N, 0.7), tasks)
    torch.testing.assert_close(computed[0], gradient_descent.descend(tasks, 0.7, 1)[-1], **EXACT)


# Symmetries


def random(*shape, seed=3):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def acted_on(case):
    """Random weights and what a random symmetry makes of them."""
    weights = large_weights(case)
    c, d = random(2, 3) * 2
    if case == "1-D scalar":
        G = random(3, F, F)
        return weights, weights.with_(
            Psi=G @ weights.Psi, Theta=torch.linalg.inv(G).mT @ weights.Theta
        )
    if case == "1-D row":
        order = torch.tensor([2, 0, 3, 1])
        scale = random(3, F, 1)
        turned = {
            "Psi": (scale * weights.Psi)[:, order],
            "Theta": (weights.Theta / scale)[:, order],
        }
        return weights, weights.with_(a=weights.a[:, order], **turned)
    if case.startswith("N-D"):
        Q = c[:, None, None] * weights.Q
        return weights, weights.with_(Q=Q, q=d[:, None] * weights.q, beta=weights.beta / c / d)
    weights = weights.with_(a=weights.a[:, :1].expand(-1, 2, -1, -1), penalty=0.0)
    ratio = (weights.b[:, 0] / weights.b[:, 1])[:, None, None]
    C = c[:, None, None]
    D = d[:, None]
    Q_2 = weights.Q[:, 1] + (1 - C) * ratio * weights.Q[:, 0]
    Q = torch.stack((C * weights.Q[:, 0], Q_2), 1)
    return weights, weights.with_(
        Q=Q / D[..., None, None], q=D * weights.q, Q_tilde=weights.Q_tilde / C[:, None]
    )


@pytest.mark.parametrize(
    "case", ["1-D scalar", "1-D row", "N-D scalar", "N-D row", "N-D full", "2 layers scalar"]
)
def test_normalisation_removes_exactly_the_symmetries(case):
    weights, turned = acted_on(case)
    _, read = data(case)
    before = models.forward(weights, read)
    torch.testing.assert_close(models.forward(turned, read), before, rtol=1e-8, atol=1e-8)
    normalised = quantities(weights, N)
    for name, quantity in quantities(turned, N).items():
        torch.testing.assert_close(quantity, normalised[name], rtol=1e-7, atol=1e-7)
    # and nothing more: what acts otherwise looks otherwise
    name = "Psi" if case.startswith("1-D") else "Q"
    tensor = weights.tensors()[name]
    bent = weights.with_(**{name: tensor + 0.1 * random(*tensor.shape, seed=8)})
    assert float((models.forward(bent, read) - before).abs().max()) > 1e-4
    differences = [q - normalised[name] for name, q in quantities(bent, N).items()]
    assert any(float(difference.abs().max()) > 1e-3 for difference in differences)


def test_the_constructions_in_comparable_units():
    one = compare(*[construction.layer_1d(F, N, 0.7)] * 2, N)[0]
    eye = torch.eye(F)
    zero = torch.zeros(F, F)
    expected = 0.7 / N * torch.cat((torch.cat((zero, eye), 1), torch.cat((zero, zero), 1)))
    torch.testing.assert_close(one.constructed, expected)
    assert one.unit == pytest.approx(0.7 / N)
    assert one.farthest.tolist() == [0.0]
    nd = {c.name: c for c in compare(*[construction.layer_nd(F, N, 0.7)] * 2, N)}
    assert nd["Q"].constructed.equal(construction.unit(1, 0))
    assert float(nd["rate"].constructed[0, 0]) == pytest.approx(0.7 / N)
    free = closed_forms.two_steps_free(F, N)
    root = (free.A**2 - 4 * free.B) ** 0.5
    two = construction.multi_layer(F, N, [N * (free.A + root) / 2, N * (free.A - root) / 2])
    compared = {c.name: c for c in compare(two, two, N)}
    assert float(compared["A"].constructed) == pytest.approx(free.A)
    assert float(compared["B"].constructed) == pytest.approx(free.B)
    with pytest.raises(ValueError, match="layers must be 2"):
        compare(*[construction.multi_layer(F, N, [1.0] * 3)] * 2, N)
    message = "constructed must be a MultiLayer as trained is, got a LayerND"
    with pytest.raises(ValueError, match=message):
        compare(two, construction.layer_nd(F, N, 0.7), N)
