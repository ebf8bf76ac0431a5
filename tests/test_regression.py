"""In-context regression against oracles that share none of its code (numpy, scipy, torch's
optimisers, loops), and against the exact expectations known for the standard setting."""

import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from scipy import optimize
from scipy.sparse import linalg as sparse

from icl_core.in_context_regression import (
    Covariance,
    best_momentum,
    best_nesterov,
    best_rate,
    coloured,
    conjugate_gradient,
    covariates,
    error_maps,
    evaluate,
    expected_loss,
    floors,
    geometric,
    gradient_descent,
    gram,
    grams,
    momentum,
    nesterov,
    parse_eigenvalues,
    rotation,
    sampled_loss,
)
from icl_core.in_context_regression.solvers import mean_and_error

D = parse_eigenvalues("1, 1, 1/4, 1/16, 1", 5)
f64 = torch.float64


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def pool(prompts: int, d: int = 5, n: int = 20, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Whitened S and S of the eigenvalues D, float64."""
    white = grams(d, n, prompts, generator(seed), f64)
    return white, coloured(white, D) if d == len(D) else white


def targets(
    d: int, prompts: int, source: torch.Generator, eigenvalues=None, dtype=torch.float32
) -> torch.Tensor:
    """True weights w* ~ N(0, Sigma^-1) in the eigenbasis of Sigma; N(0, I), the whitened ones,
    without eigenvalues."""
    white = torch.randn(d, prompts, generator=source, dtype=dtype)
    return white if eigenvalues is None else white * eigenvalues.to(white).rsqrt()[:, None]


def best_polynomial(S, eigenvalues, degree):
    return floors(S, eigenvalues, [degree])[0]


def log_loss(losses: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The natural log of the mean over prompts and its standard error by the delta method."""
    mean, error = mean_and_error(losses)
    return mean.log(), error / mean


# covariance


def test_the_matrices_of_a_covariance():
    sigma = Covariance(D, rotation(5, generator(0)))
    matrix = sigma.root @ sigma.root
    torch.testing.assert_close(sigma.inverse_root @ sigma.inverse_root, sigma.inverse)
    torch.testing.assert_close(sigma.inverse, torch.linalg.inv(matrix))
    # the rows of the rotation are eigenvectors
    torch.testing.assert_close(sigma.rotation @ matrix @ sigma.rotation.T, torch.diag(D))
    torch.testing.assert_close(sigma.root, sigma.root.T)


def test_covariance_refuses_what_is_none():
    with pytest.raises(ValueError, match="must be positive"):
        Covariance(torch.tensor([1.0, 0.0]), torch.eye(2))
    with pytest.raises(ValueError, match="must have shape"):
        Covariance(torch.ones(3), torch.eye(2))


@pytest.mark.parametrize("d", [1, 2, 5])
def test_rotations_are_orthogonal_and_prefer_no_direction(d):
    source = generator(1)
    draws = 2000
    U = torch.stack([rotation(d, source) for _ in range(draws)])
    torch.testing.assert_close(U @ U.mT, torch.eye(d, dtype=f64).expand(draws, d, d))
    # entries have mean 0 and variance 1 / d
    assert (U.mean(0) * math.sqrt(draws * d)).abs().max() < 4.5
    assert ((U.square().mean(0) - 1 / d) * math.sqrt(draws) * d).abs().max() < 6
    assert abs(U.det().mean()) < 0.1


def test_geometric_eigenvalues():
    torch.testing.assert_close(
        geometric(4, 8.0, 1.0), torch.tensor([1, 0.5, 0.25, 0.125], dtype=f64)
    )
    assert geometric(1, 100.0, 2.0).tolist() == [1.0]
    steep, even, flat = (geometric(9, 100.0, decay) for decay in (0.3, 1.0, 3.0))
    assert (steep[1:-1] < even[1:-1]).all() and (even[1:-1] < flat[1:-1]).all()
    assert steep[-1] == flat[-1] == pytest.approx(0.01)


@pytest.mark.parametrize(
    "wrong", [(0, 2.0, 1.0), (3, 0.5, 1.0), (3, math.nan, 1.0), (3, 1e7, 1.0), (3, 2.0, 0.0)]
)
def test_geometric_refuses(wrong):
    with pytest.raises(ValueError, match="must be"):
        geometric(*wrong)


def test_typed_eigenvalues():
    assert D.tolist() == [1, 1, 0.25, 0.0625, 1]
    assert parse_eigenvalues(" 1 / 2;3e-1  .5, ", 3).tolist() == [0.5, 0.3, 0.5]
    assert parse_eigenvalues("1e-3, 1e3", 2).tolist() == [1e-3, 1e3]


@pytest.mark.parametrize(
    "text, says",
    [
        ("", "must be 2 numbers, got 0"),
        ("1, 2, 3", "must be 2 numbers, got 3"),
        ("1, x", "must be numbers from 1e-06 to 1e.06, got 'x'"),
        ("1, 1/2/3", "got '1/2/3'"),
        ("1, 0", "got '0'"),
        ("1, 0/3", "got '0/3'"),
        ("1, 1/0", "got '1/0'"),
        ("1, -2", "got '-2'"),
        ("1, nan", "got 'nan'"),
        ("1, inf", "got 'inf'"),
        ("1e-4, 1e4", "must be from 1 to 1000000, got 1e"),
    ],
)
def test_typed_eigenvalues_that_are_none(text, says):
    with pytest.raises(ValueError, match=says):
        parse_eigenvalues(text, 2)


# prompts


def test_second_and_fourth_moments_of_the_samples():
    n = 7
    S = grams(3, n, 40000, generator(0), f64)
    torch.testing.assert_close(S.mean(-1), torch.eye(3, dtype=f64), atol=0.02, rtol=0)
    expected = (torch.ones(3, 3, dtype=f64) + torch.eye(3)) / n  # 1/n, on the diagonal 2/n
    torch.testing.assert_close(S.var(-1), expected, atol=0, rtol=0.05)


@pytest.mark.parametrize("dtype, tolerance", [(torch.float32, 1e-6), (f64, 1e-14)])
def test_gram_is_the_product_of_each_prompt(dtype, tolerance):
    U = covariates(4, 6, 9, generator(0), dtype)
    S = gram(U)
    assert S.dtype == dtype
    for p in range(9):
        torch.testing.assert_close(
            S[:, :, p], U[:, :, p] @ U[:, :, p].T / 6, atol=tolerance, rtol=tolerance
        )
    eigenvalues = D[:4]
    torch.testing.assert_close(
        coloured(S, eigenvalues), gram(U * eigenvalues.to(dtype).sqrt()[:, None, None])
    )


def test_grams_in_chunks_and_from_a_seed():
    one, two = (grams(20, 100, 700, generator(0)) for _ in range(2))  # 262 prompts a chunk
    assert one.equal(two) and one.shape == (20, 20, 700) and one.dtype == torch.float32
    assert (one[..., 262] != one[..., 0]).any()
    with pytest.raises(ValueError, match="prompts must be at least 1"):
        grams(2, 3, 0, generator(0))


# solvers


def test_gradient_descent_is_descent_on_R():
    S = pool(4)[0]
    target = targets(5, 4, generator(1), dtype=f64)
    iterates = gradient_descent(S, target, 3, 0.4)
    w = torch.zeros(5, 4, dtype=f64, requires_grad=True)
    for step in range(4):
        torch.testing.assert_close(iterates[step], w.detach())
        error = w - target
        R = torch.einsum("ip,ijp,jp->", error, S, error) / 2
        w = (w - 0.4 * torch.autograd.grad(R, w)[0]).detach().requires_grad_()


@pytest.mark.parametrize("look_ahead", [False, True])
def test_momentum_and_nesterov_are_those_of_torch(look_ahead):
    rate = 0.3
    beta = 0.8
    steps = 5
    S = pool(3)[0]
    target = targets(5, 3, generator(1), dtype=f64)
    iterates = (nesterov if look_ahead else momentum)(S, target, steps, rate, beta)
    theta = torch.zeros(5, 3, dtype=f64, requires_grad=True)
    optimiser = torch.optim.SGD([theta], lr=rate, momentum=beta, nesterov=look_ahead)
    for step in range(1, steps + 1):
        theta.grad = torch.einsum("ijp,jp->ip", S, theta.detach() - target)
        optimiser.step()
        # torch's theta is the look-ahead point w + beta v, with v = -rate * buffer
        back = beta * rate * optimiser.state[theta]["momentum_buffer"] if look_ahead else 0.0
        torch.testing.assert_close(iterates[step], theta.detach() + back)


def scipy_iterates(
    S: np.ndarray, b: np.ndarray, steps: int, M: np.ndarray | None = None
) -> np.ndarray:
    seen: list[np.ndarray] = []
    sparse.cg(S, b, rtol=0, atol=0, maxiter=steps, M=M, callback=lambda x: seen.append(x.copy()))
    return np.array(seen)


def test_conjugate_gradient_is_scipys_and_ends_after_d_steps():
    S = pool(8)[1]
    target = targets(5, 8, generator(1), D, f64)
    solution = conjugate_gradient(S, target, 8)
    for p in range(8):
        A = S[..., p].numpy()
        expected = scipy_iterates(A, A @ target[:, p].numpy(), 4)
        np.testing.assert_allclose(solution.iterates[1:5, :, p], expected, rtol=0, atol=1e-10)
    for end in (5, 6, 8):
        torch.testing.assert_close(solution.iterates[end], target, atol=1e-10, rtol=0)
    assert (solution.gamma[0] == 0).all() and (solution.alpha[:4] > 0).all()


def test_alpha_and_gamma_rebuild_the_iterates():
    S = pool(6)[1]
    target = targets(5, 6, generator(1), D, f64)
    solution = conjugate_gradient(S, target, 4)
    w = torch.zeros(5, 6, dtype=f64)
    s = torch.zeros(5, 6, dtype=f64)
    for k in range(4):
        s = torch.einsum("ijp,jp->ip", S, target - w) + solution.gamma[k] * s
        w = w + solution.alpha[k] * s
        torch.testing.assert_close(solution.iterates[k + 1], w)


def test_preconditioned_conjugate_gradient_is_the_whitened_one():
    U = rotation(5, generator(3))
    sigma = Covariance(D, U)
    X = torch.einsum("ij,jnp->inp", sigma.root, covariates(5, 20, 6, generator(4), f64))
    S = gram(X)
    target = sigma.inverse_root @ targets(5, 6, generator(5), dtype=f64)
    white = torch.einsum("ij,jkp,kl->ilp", sigma.inverse_root, S, sigma.inverse_root)
    iterates = sigma.inverse_root @ conjugate_gradient(white, sigma.root @ target, 4).iterates
    for p in range(6):
        A = S[..., p].numpy()
        expected = scipy_iterates(A, A @ target[:, p].numpy(), 4, sigma.inverse.numpy())
        np.testing.assert_allclose(iterates[1:, :, p], expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("dtype, tolerance", [(torch.float32, 1e-2), (f64, 1e-9)])
@pytest.mark.parametrize("n", [1, 2, 4])
def test_conjugate_gradient_on_fewer_examples_than_dimensions(dtype, tolerance, n):
    X = covariates(5, n, 200, generator(n), dtype)
    target = targets(5, 200, generator(6), dtype=dtype)
    target[:, :3] = 0.0
    solution = conjugate_gradient(gram(X), target, 30)
    for tensor in (solution.iterates, solution.alpha, solution.gamma):
        assert torch.isfinite(tensor).all()
    assert (solution.iterates[:, :, :3] == 0).all() and (solution.alpha[:, :3] == 0).all()
    # all have stopped
    assert (solution.alpha[-1] == 0).all() and solution.iterates[-1].equal(solution.iterates[-2])
    y = torch.einsum("dnp,dp->pn", X, target)
    # of all weights that fit those of least norm
    least = torch.einsum("pdn,pn->dp", torch.linalg.pinv(X.permute(2, 1, 0)), y)
    spread = torch.linalg.eigvalsh(gram(X).permute(2, 0, 1))[:, -n]
    well = spread > 0.02  # of the rest rounding leaves little
    torch.testing.assert_close(
        solution.iterates[-1][:, well], least[:, well], atol=tolerance, rtol=0
    )


def test_no_steps_give_the_start():
    S = pool(3)[0]
    target = torch.ones(5, 3, dtype=f64)
    solution = conjugate_gradient(S, target, 0)
    assert solution.iterates.shape == (1, 5, 3) and solution.alpha.shape == (0, 3)
    assert gradient_descent(S, target, 0, 1.0).shape == (1, 5, 3)


# losses


def test_the_identity_as_target_shows_the_error_of_any_target():
    S = pool(4)[1]
    target = targets(5, 4, generator(1), D, f64)
    cases = ((gradient_descent, (0.7,)), (momentum, (0.3, 0.6)), (nesterov, (0.4, 0.9)))
    for method, settings in cases:
        C = error_maps(method, S, 3, *settings)  # [iterates, d, d, prompts]
        error = torch.einsum("lijp,jp->lip", C, target)
        torch.testing.assert_close(method(S, target, 3, *settings), target - error)


def test_expected_loss_is_the_trace_in_any_rotation():
    sigma = Covariance(D, rotation(5, generator(0)))
    C = torch.randn(5, 5, generator=generator(1), dtype=f64)
    trace = torch.trace(sigma.root @ sigma.root @ C @ sigma.inverse @ C.T)
    turned = sigma.rotation @ C @ sigma.rotation.T
    torch.testing.assert_close(expected_loss(turned[..., None], D)[0], trace)
    torch.testing.assert_close(expected_loss(C[..., None], None)[0], C.square().sum())


def test_expected_loss_is_the_mean_over_targets_and_queries():
    C = torch.randn(5, 5, generator=generator(1), dtype=f64)
    prompts = 200000
    error = C @ targets(5, prompts, generator(2), D, f64)
    mean, spread = mean_and_error(sampled_loss(error, D))
    assert abs(mean - expected_loss(C[..., None], D)[0]) < 4 * spread
    queries = torch.randn(5, prompts, generator=generator(3), dtype=f64) * D.sqrt()[:, None]
    mean, spread = mean_and_error((queries * error).sum(0).square())
    assert abs(mean - expected_loss(C[..., None], D)[0]) < 4 * spread


def test_mean_and_error():
    losses = torch.tensor([[1.0, 3.0], [2.0, 2.0]])
    mean, error = mean_and_error(losses)
    assert mean.tolist() == [2, 2] and error.tolist() == [1, 0] and mean.dtype == f64
    assert mean_and_error(torch.ones(1))[1].isnan()


# the best polynomial


def test_degree_one_of_scalars_has_a_closed_form():
    S = pool(500, d=1)[0]
    first = float(S.mean())
    second = float(S.square().mean())
    best = best_polynomial(S, None, 1)
    assert best.loss == pytest.approx(1 - first**2 / second, rel=1e-10)
    assert best.roots.tolist() == pytest.approx([second / first], rel=1e-10)
    assert best_polynomial(S, None, 0).loss == 1.0


@pytest.mark.parametrize("degree", [2, 3])
@pytest.mark.parametrize("white", [False, True])
def test_the_floor_is_what_a_direct_minimisation_finds(degree, white):
    S, eigenvalues = (pool(200)[0], None) if white else (pool(200)[1], D)
    single = S.permute(2, 0, 1)
    powers = torch.stack([torch.linalg.matrix_power(single, k) for k in range(degree + 1)])
    weights = torch.ones(5, 5, dtype=f64) if white else D[:, None] / D

    def loss(a: np.ndarray) -> tuple[float, np.ndarray]:
        at = torch.tensor(a, requires_grad=True)
        C = powers[0] + torch.tensordot(at, powers[1:], 1)
        value = (C.square() * weights).sum((1, 2)).mean()
        return value.item(), torch.autograd.grad(value, at)[0].numpy()

    minimum = optimize.minimize(
        loss, np.zeros(degree), jac=True, method="BFGS", options={"gtol": 1e-11, "maxiter": 500}
    )
    assert best_polynomial(S, eigenvalues, degree).loss == pytest.approx(minimum.fun, rel=1e-8)


@pytest.mark.parametrize("white", [False, True])
def test_floors_fall_and_their_roots_make_layers(white):
    S, eigenvalues = (pool(2000)[0], None) if white else (pool(2000)[1], D)
    best = floors(S, eigenvalues, range(11))
    losses = [polynomial.loss for polynomial in best]
    assert losses[0] == pytest.approx(5.0)
    assert all(math.isfinite(loss) and loss > 0 for loss in losses)
    assert all(after < before for before, after in pairwise(losses))
    assert losses[3] == pytest.approx(best_polynomial(S, eigenvalues, 3).loss, rel=1e-9)
    for degree, polynomial in enumerate(best):
        roots = polynomial.roots
        assert roots.shape == (degree,) and not roots.is_complex() and (roots > 0).all()
        C = evaluate(polynomial, S)
        eye = layers = torch.eye(5, dtype=f64)  # of every prompt
        for root in roots:
            layers = layers @ (eye - S.permute(2, 0, 1) / root)
        torch.testing.assert_close(layers.expand(2000, 5, 5).permute(1, 2, 0), C, atol=1e-9, rtol=0)
        mean, error = mean_and_error(expected_loss(C, eigenvalues))
        assert float(mean) == pytest.approx(polynomial.loss, rel=1e-6)
        assert float(error) == pytest.approx(polynomial.error, rel=1e-6)


def test_one_prompt_has_a_floor_near_zero_and_no_nan():
    best = best_polynomial(pool(1, d=2)[0], None, 6)
    assert 0 <= best.loss < 1e-8 and torch.isfinite(best.coefficients).all()


def test_roots_can_be_complex_unless_whitened():
    white = grams(20, 10, 400, generator(0), f64)  # fewer examples than dimensions
    eigenvalues = geometric(20, 100.0, 1.0)
    assert best_polynomial(coloured(white, eigenvalues), eigenvalues, 4).roots.is_complex()
    assert not best_polynomial(white, None, 4).roots.is_complex()


# the tuned methods


def mean_loss(method, S: torch.Tensor, steps: int, *settings: float) -> float:
    return float(expected_loss(error_maps(method, S, steps, *settings)[-1], D).mean())


@pytest.mark.parametrize("steps", [1, 2, 4])
def test_tuned_methods_lie_between_the_floor_and_gradient_descent(steps):
    S = pool(2000)[1]
    rate = best_rate(S, D, steps)
    plain = mean_loss(gradient_descent, S, steps, rate)
    floor = best_polynomial(S, D, steps).loss
    tuned = [best_momentum(S, D, steps), best_nesterov(S, D, steps)]
    losses = [
        mean_loss(method, S, steps, *settings)
        for method, settings in zip((momentum, nesterov), tuned, strict=True)
    ]
    assert all(floor - 1e-12 <= loss <= plain + 1e-12 for loss in losses)
    # one step: all are the same method
    assert steps > 1 or losses == pytest.approx([floor, floor], rel=1e-10)
    assert all(0 <= beta <= 0.999 for _, beta in tuned)


def test_tuned_settings_are_what_a_direct_minimisation_finds():
    S = pool(300)[1]
    steps = 4
    for method, tuned in (
        (momentum, best_momentum(S, D, steps)),
        (nesterov, best_nesterov(S, D, steps)),
    ):

        def loss(settings: np.ndarray, method=method) -> float:
            return mean_loss(method, S, steps, *map(float, settings))

        polished = optimize.minimize(
            loss, tuned, method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-12}
        )
        assert loss(np.array(tuned)) <= polished.fun * (1 + 1e-9)
        grid = min(
            loss(np.array([rate, beta]))
            for rate in (0.2, 0.4, 0.6, 0.8, 1.0, 1.2)
            for beta in (0, 0.3, 0.6, 0.9)
        )
        assert loss(np.array(tuned)) < grid
    rate = best_rate(S, D, steps)
    line = optimize.minimize_scalar(
        lambda r: mean_loss(gradient_descent, S, steps, float(r)), bounds=(0.5, 1.2)
    )
    assert mean_loss(gradient_descent, S, steps, rate) <= line.fun * (1 + 1e-9)


def test_steps_are_checked():
    with pytest.raises(ValueError, match="steps must be at least 1"):
        best_rate(pool(10)[1], D, 0)


# the standard setting: d = 5, n = 20, eigenvalues D; natural log of the loss after L = 1..4

EXPECTED = {
    "A = a I": (0.810, 0.444, 0.152, -0.145),
    "A = a Sigma^-1": (0.143, -1.018, -2.01, -2.90),
    "conjugate gradient": (0.687, 0.147, -0.607, -1.603),
    "preconditioned": (-0.10, -1.78, -3.76, -6.39),
    # Their rates are the authors' 0.03 and 0.005 for gradients summed, not averaged, over all 20
    # examples.
    "nesterov": (0.90, 0.47, 0.22, 0.01),
    "momentum": (1.48, 1.24, 0.96, 0.75),
}


@pytest.fixture(scope="module")
def measured() -> dict[str, tuple[torch.Tensor, torch.Tensor]]:
    source = generator(0)
    white = grams(5, 20, 65536, source)
    S = coloured(white, D)
    log_losses = {}
    for name, matrices, eigenvalues in (("A = a I", S, D), ("A = a Sigma^-1", white, None)):
        best = floors(matrices, eigenvalues, (1, 2, 3, 4))
        loss, error = torch.tensor([(b.loss, b.error) for b in best], dtype=f64).T
        log_losses[name] = loss.log(), error / loss
    cases = (("conjugate gradient", S, D), ("preconditioned", white, None))
    for name, matrices, eigenvalues in cases:
        target = targets(5, 65536, source, eigenvalues)
        iterates = conjugate_gradient(matrices, target, 4).iterates[1:]
        log_losses[name] = log_loss(sampled_loss(iterates - target, eigenvalues))
    for method, rate in ((nesterov, 20 * 0.03), (momentum, 20 * 0.005)):
        log_losses[method.__name__] = log_loss(
            expected_loss(error_maps(method, S, 4, rate, 0.9)[1:], D)
        )
    return log_losses


@pytest.mark.parametrize("name", EXPECTED)
def test_the_known_expectations(measured, name):
    log, error = measured[name]
    difference = (log - torch.tensor(EXPECTED[name], dtype=f64)).abs()
    assert (difference < 3 * error + 0.005).all(), (log, error)


def test_no_linear_method_is_below_its_floor_and_conjugate_gradient_is(measured):
    floor = measured["A = a I"][0]
    assert (measured["nesterov"][0] > floor).all() and (measured["momentum"][0] > floor).all()
    assert (measured["conjugate gradient"][0] < floor).all()  # it is not linear in y
    assert (measured["preconditioned"][0] < measured["A = a Sigma^-1"][0]).all()
