"""Classical solvers of least squares, for many prompts at once.

They minimise R(w) = 1/2 (w - w*)^T S (w - w*), whose gradient is S (w - w*). All start at w = 0 and
return every iterate. A target w* is [d, prompts], or [d, m, prompts] for m problems with the same
S; with the identity as target, the iterates determine what the method does to any target (see
`linear`). `rate` and `beta` are numbers, or tensors that broadcast against the target.
"""

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
