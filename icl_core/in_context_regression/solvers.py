"""Classical solvers of least squares, for many prompts at once, and the loss of a method on a
prompt, with the query and the target integrated out.

They minimise R(w) = 1/2 (w - w*)^T S (w - w*), whose gradient is S (w - w*). All start at w = 0 and
return every iterate. A target w* is [d, prompts], or [d, m, prompts] for m problems with the same
S; with the identity as target, the iterates determine what the method does to any target (see
`error_maps`). `rate` and `beta` are numbers, or tensors that broadcast against the target.

After L steps, a method that is linear in the labels y has

    w_L - w* = -C w*

with a matrix C [d, d] that depends on the prompt's Gram matrix S only. For a query x ~ N(0, Sigma)
and a target w* ~ N(0, Sigma^-1) the expected squared error of the query's label is then exactly

    E = tr(Sigma C Sigma^-1 C^T).

If the labels have noise, y_i = <w*, x_i> + e_i with e_i ~ N(0, v), the least-squares solution is
off w* by S^-1 X e / n, and the loss also holds

    v / n tr(Sigma (I - C) S^-1 (I - C)^T).

All is computed in the eigenbasis of Sigma = diag(eigenvalues) or, where eigenvalues are None, in
whitened coordinates. The loss is heavy-tailed over prompts: avoid sampled queries and targets where
possible, and state the error of the mean.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

Grams = Float[Tensor, "d d prompts"]
Targets = Float[Tensor, "d ... prompts"]
Iterates = Float[Tensor, "iterates d ... prompts"]  # steps + 1 of them
Setting = float | Tensor


def product(S: Grams, v: Targets) -> Targets:
    """Return S v of every prompt, for a vector v or a matrix of vectors."""
    if v.dim() > S.dim() - 1:
        S = S[:, :, None]  # [d, d, 1, prompts]
    result = S[:, 0] * v[0]
    for k in range(1, len(v)):
        result.addcmul_(S[:, k], v[k])
    return result


def gradient_descent(S: Grams, target: Targets, steps: int, rate: Setting) -> Iterates:
    """Iterate gradient descent: w_{l+1} = w_l - rate grad R(w_l), l = 0..steps - 1."""
    return _descend(S, target, steps, rate, 0.0, look_ahead=False)


def momentum(S: Grams, target: Targets, steps: int, rate: Setting, beta: Setting) -> Iterates:
    """Iterate the heavy-ball method (Polyak 1964): v_{l+1} = beta v_l - rate grad R(w_l) and
    w_{l+1} = w_l + v_{l+1}, with v_0 = 0."""
    return _descend(S, target, steps, rate, beta, look_ahead=False)


def nesterov(S: Grams, target: Targets, steps: int, rate: Setting, beta: Setting) -> Iterates:
    """Iterate as `momentum`, with the gradient at the look-ahead point w_l + beta v_l (Nesterov
    1983, with constant beta).

    The iterates are the w_l; `torch.optim.SGD(nesterov=True)` stores the look-ahead points instead.
    """
    return _descend(S, target, steps, rate, beta, look_ahead=True)


def _descend(
    S: Grams, target: Targets, steps: int, rate: Setting, beta: Setting, look_ahead: bool
) -> Iterates:
    w = torch.zeros_like(target)
    velocity = w
    iterates = [w]
    for _ in range(steps):
        point = w + beta * velocity if look_ahead else w
        velocity = beta * velocity - rate * product(S, point - target)
        w = w + velocity
        iterates.append(w)
    return torch.stack(iterates)  # [steps + 1, *target.shape]


@dataclass(frozen=True, eq=False)
class Conjugate:
    """The steps of conjugate gradient: w_{k+1} = w_k + alpha_k s_k with the direction
    s_k = r_k + gamma_k s_{k-1} and the residual r_k = -grad R(w_k).

    iterates  w_0..w_steps
    alpha     the step sizes, by exact line search; 0 once a prompt is solved
    gamma     |r_k|^2 / |r_{k-1}|^2, with gamma_0 = 0; 0 once a prompt is solved
    """

    iterates: Float[Tensor, "iterates d prompts"]
    alpha: Float[Tensor, "steps prompts"]
    gamma: Float[Tensor, "steps prompts"]


def conjugate_gradient(S: Grams, target: Float[Tensor, "d prompts"], steps: int) -> Conjugate:
    """Iterate conjugate gradient (Hestenes, Stiefel 1952; Fletcher, Reeves 1964), each prompt with
    its own alpha and gamma.

    To precondition by Sigma^-1, use whitened coordinates: pass the whitened S and Sigma^(1/2) w*;
    Sigma^(-1/2) times the iterates are those in the original coordinates.

    A prompt stops once its residual, relative to the first, or the curvature along its direction is
    zero to rounding. So a singular S (n < d) or a zero target never gives NaN.
    """
    rounding = torch.finfo(S.dtype).eps
    # relative to the largest variance
    least_curvature = rounding * S.diagonal().amax(-1)  # [prompts]
    w = torch.zeros_like(target)  # [d, prompts]
    residual = product(S, target)  # [d, prompts]
    direction = torch.zeros_like(residual)
    norm = residual.square().sum(0)  # |r_k|^2, [prompts]
    previous_norm = torch.ones_like(norm)
    solved_norm = norm * (8 * len(S) * rounding) ** 2
    active = norm > 0  # [prompts]
    iterates = [w]
    alpha = norm.new_zeros(steps, len(norm))
    gamma = norm.new_zeros(steps, len(norm))
    for step in range(steps):
        ratio = torch.where(active & (step > 0), norm / previous_norm, 0.0)
        direction = residual + ratio * direction
        image = product(S, direction)  # S s_k, [d, prompts]
        curvature = (direction * image).sum(0)
        curved = curvature > least_curvature * direction.square().sum(0)
        active = active & (norm > solved_norm) & curved
        alpha[step] = torch.where(active, norm, 0.0) / torch.where(active, curvature, 1.0)
        gamma[step] = torch.where(active, ratio, 0.0)
        w = w + alpha[step] * direction
        residual = residual - alpha[step] * image
        previous_norm = torch.where(active, norm, 1.0)
        norm = residual.square().sum(0)
        iterates.append(w)
    return Conjugate(torch.stack(iterates), alpha, gamma)


Eigenvalues = Float[Tensor, "d"]
Losses = Float[Tensor, "... prompts"]


def identity(S: Grams) -> Grams:
    """Return the identity for every prompt of S, as a view that takes no memory of its own."""
    eye = torch.eye(len(S), dtype=S.dtype, device=S.device)  # [d, d]
    return eye[:, :, None].expand_as(S)  # [d, d, prompts]


def error_maps(method: Callable[..., Tensor], S: Grams, steps: int, *settings: Setting) -> Tensor:
    """Return C after 0 to `steps` steps, [steps + 1, d, d, prompts], of a function of `solvers`
    with its further `settings`."""
    target = identity(S)
    return target - method(S, target, steps, *settings)


def expected_loss(C: Float[Tensor, "... d d prompts"], eigenvalues: Eigenvalues | None) -> Losses:
    """Return the expected squared error of the query's label, sum_ij D_i / D_j C_ij^2; it is d for
    C = I."""
    squares = C.square()
    if eigenvalues is not None:
        squares = squares * weight(eigenvalues).to(C)[:, :, None]
    return squares.sum((-3, -2))  # [..., prompts]


def noise_loss(
    C: Float[Tensor, "... d d prompts"], S: Grams, eigenvalues: Eigenvalues | None, share: float
) -> Losses:
    """Return what noise in the labels adds to the expected loss; `share` is v / n, S invertible."""
    factor = inverse_factor(S)  # [d, d, prompts]
    reached = identity(S) - C
    product = torch.einsum("...ikp,kjp->...ijp", reached, factor.to(reached))
    squares = product.square()
    if eigenvalues is not None:
        squares = squares * eigenvalues.to(squares)[:, None, None]
    return share * squares.sum((-3, -2))  # [..., prompts]


def inverse_factor(S: Grams) -> Float[Tensor, "d d prompts"]:
    """Return a matrix F of every prompt with F F^T = S^-1, in float64; S = L L^T, F = L^-T."""
    lower = torch.linalg.cholesky(S.permute(2, 0, 1).double())  # [prompts, d, d]
    one = torch.eye(len(S), dtype=lower.dtype, device=lower.device)
    return torch.linalg.solve_triangular(lower.mT, one, upper=True).permute(1, 2, 0)


def weight(eigenvalues: Eigenvalues) -> Float[Tensor, "d d"]:
    """Return the matrix of D_i / D_j in float64."""
    D = eigenvalues.double()
    return D[:, None] / D


def sampled_loss(error: Float[Tensor, "... d prompts"], eigenvalues: Eigenvalues | None) -> Losses:
    """Return e^T Sigma e for the error e = w - w* of a sampled w*, the query integrated out: the
    loss of methods that are not linear in y."""
    squares = error.square()
    if eigenvalues is not None:
        squares = squares * eigenvalues.to(error)[:, None]
    return squares.sum(-2)  # [..., prompts]


def mean_and_error(losses: Losses) -> tuple[Float[Tensor, "..."], Float[Tensor, "..."]]:
    """Return the mean over prompts and its standard error, in float64; the error of a single prompt
    is NaN."""
    losses = losses.double()
    mean = losses.mean(-1)
    prompts = losses.shape[-1]
    variance = (losses - mean[..., None]).square().sum(-1) / (prompts - 1)
    return mean, (variance / prompts).sqrt()
