"""Classical solvers of R(w) = 1/2 (w - w*)^T S (w - w*), whose gradient is S (w - w*), many prompts
at once.

All start at w = 0 and return every iterate. A target [d, m, prompts] holds m problems with the same
S; with the identity as target the iterates show what the method does to any target (see `linear`).
The rate and beta may be tensors that broadcast against the target.
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
    """S v of every prompt, for one vector or for a matrix of them."""
    if v.dim() > S.dim() - 1:
        S = S[:, :, None]  # [d, d, 1, prompts]
    result = S[:, 0] * v[0]
    for k in range(1, len(v)):
        result.addcmul_(S[:, k], v[k])
    return result


def gradient_descent(S: Grams, target: Targets, steps: int, rate: Setting) -> Iterates:
    """w_{l+1} = w_l - rate grad R(w_l), l = 0..steps - 1."""
    return _descend(S, target, steps, rate, 0.0, look_ahead=False)


def momentum(S: Grams, target: Targets, steps: int, rate: Setting, beta: Setting) -> Iterates:
    """Heavy ball (Polyak 1964): v_{l+1} = beta v_l - rate grad R(w_l), w_{l+1} = w_l + v_{l+1},
    from v_0 = 0."""
    return _descend(S, target, steps, rate, beta, look_ahead=False)


def nesterov(S: Grams, target: Targets, steps: int, rate: Setting, beta: Setting) -> Iterates:
    """As `momentum` with the gradient at the look-ahead point w_l + beta v_l (Nesterov 1983,
    constant beta).

    The iterates are the w_l; `torch.optim.SGD(nesterov=True)` stores the look-ahead points w_l +
    beta v_l instead.
    """
    return _descend(S, target, steps, rate, beta, look_ahead=True)


def _descend(
    S: Grams, target: Targets, steps: int, rate: Setting, beta: Setting, look_ahead: bool
) -> Iterates:
    w = velocity = torch.zeros_like(target)
    iterates = [w]
    for _ in range(steps):
        at = w + beta * velocity if look_ahead else w
        velocity = beta * velocity - rate * product(S, at - target)
        w = w + velocity
        iterates.append(w)
    return torch.stack(iterates)


@dataclass(frozen=True, eq=False)
class Conjugate:
    """What conjugate gradient did: w_{k+1} = w_k + alpha_k s_k with s_k = r_k + gamma_k s_{k-1}, r
    = -grad R."""

    iterates: Float[Tensor, "iterates d prompts"]
    alpha: Float[Tensor, "steps prompts"]  # exact line search; 0 once a prompt is solved
    gamma: Float[
        Tensor, "steps prompts"
    ]  # |r_k|^2 / |r_{k-1}|^2, gamma_0 = 0; 0 once a prompt is solved


def conjugate_gradient(S: Grams, target: Float[Tensor, "d prompts"], steps: int) -> Conjugate:
    """Conjugate gradient (Hestenes, Stiefel 1952; Fletcher, Reeves 1964), each prompt with its own
    alpha and gamma.

    Preconditioned by Sigma^-1 it is this same method in whitened coordinates: pass the whitened S
    and Sigma^(1/2) w*, and Sigma^(-1/2) times the iterates are those in the original coordinates.

    A prompt stays where it is once its residual is zero to rounding, relative to its start, or the
    curvature along its direction is: singular S (n < d) and zero targets never give NaN.
    """
    rounding = torch.finfo(S.dtype).eps
    least_curvature = rounding * S.diagonal().amax(
        -1
    )  # [prompts]; relative to the largest variance
    w, r = torch.zeros_like(target), product(S, target)
    direction, norm = torch.zeros_like(r), r.square().sum(0)
    solved_at, before = norm * (8 * len(S) * rounding) ** 2, torch.ones_like(norm)
    active = norm > 0
    iterates, alpha, gamma = [w], *norm.new_zeros(2, steps, len(norm))
    for step in range(steps):
        kept = torch.where(active & (step > 0), norm / before, 0.0)
        direction = r + kept * direction
        towards = product(S, direction)
        curvature = (direction * towards).sum(0)
        active = (
            active & (norm > solved_at) & (curvature > least_curvature * direction.square().sum(0))
        )
        alpha[step] = torch.where(active, norm, 0.0) / torch.where(active, curvature, 1.0)
        gamma[step] = torch.where(active, kept, 0.0)
        w, r = w + alpha[step] * direction, r - alpha[step] * towards
        before, norm = torch.where(active, norm, 1.0), r.square().sum(0)
        iterates.append(w)
    return Conjugate(torch.stack(iterates), alpha, gamma)
