"""Classical solvers of R(w) = 1/2 (w - w*)^T S (w - w*), whose gradient is S (w - w*), many prompts at once.

All start at w = 0 and return every iterate. A target [d, m, prompts] holds m problems with the same S; with the
identity as target the iterates show what the method does to any target (see `linear`). The solvers stay differentiable
in the rate and beta, which may be tensors that broadcast against the target.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor


def product(S: Float[Tensor, "d d prompts"], v: Float[Tensor, "d ... prompts"]) -> Float[Tensor, "d ... prompts"]:
    """S v of every prompt, for one vector or for a matrix of them."""
    if v.dim() > S.dim() - 1:
        S = S[:, :, None]  # [d, d, 1, prompts]
    result = S[:, 0] * v[0]
    for k in range(1, len(v)):
        result.addcmul_(S[:, k], v[k])
    return result


def gradient_descent(
    S: Float[Tensor, "d d prompts"], target: Float[Tensor, "d ... prompts"], steps: int, rate: float | Tensor
) -> Float[Tensor, "iterates d ... prompts"]:
    """w_{l+1} = w_l - rate grad R(w_l), l = 0..steps - 1; steps + 1 iterates."""
    return _descend(S, target, steps, rate, 0.0, look_ahead=False)


def momentum(
    S: Float[Tensor, "d d prompts"],
    target: Float[Tensor, "d ... prompts"],
    steps: int,
    rate: float | Tensor,
    beta: float | Tensor,
) -> Float[Tensor, "iterates d ... prompts"]:
    """Heavy ball (Polyak 1964): v_{l+1} = beta v_l - rate grad R(w_l), w_{l+1} = w_l + v_{l+1}, from v_0 = 0."""
    return _descend(S, target, steps, rate, beta, look_ahead=False)


def nesterov(
    S: Float[Tensor, "d d prompts"],
    target: Float[Tensor, "d ... prompts"],
    steps: int,
    rate: float | Tensor,
    beta: float | Tensor,
) -> Float[Tensor, "iterates d ... prompts"]:
    """As `momentum` with the gradient at the look-ahead point w_l + beta v_l (Nesterov 1983, constant beta).

    The iterates are the w_l; `torch.optim.SGD(nesterov=True)` stores the look-ahead points w_l + beta v_l instead.
    """
    return _descend(S, target, steps, rate, beta, look_ahead=True)


def _descend(
    S: Tensor, target: Tensor, steps: int, rate: float | Tensor, beta: float | Tensor, look_ahead: bool
) -> Tensor:
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
    """What conjugate gradient did: w_{k+1} = w_k + alpha_k s_k with s_k = r_k + gamma_k s_{k-1}, r = -grad R."""

    iterates: Float[Tensor, "iterates d prompts"]
    alpha: Float[Tensor, "steps prompts"]  # exact line search; 0 once a prompt is solved
    gamma: Float[Tensor, "steps prompts"]  # |r_k|^2 / |r_{k-1}|^2, gamma_0 = 0; 0 once a prompt is solved


def conjugate_gradient(S: Float[Tensor, "d d prompts"], target: Float[Tensor, "d prompts"], steps: int) -> Conjugate:
    """Conjugate gradient (Hestenes, Stiefel 1952; Fletcher, Reeves 1964), each prompt with its own alpha and gamma.

    Preconditioned by Sigma^-1 it is this same method in whitened coordinates: pass the whitened S and
    Sigma^(1/2) w*, and Sigma^(-1/2) times the iterates are those in the original coordinates.

    A prompt stays where it is once its residual is zero to rounding, relative to its start, or the curvature along
    its direction is: singular S (n < d) and zero targets never give NaN.
    """
    rounding = torch.finfo(S.dtype).eps
    least_curvature = rounding * S.diagonal().amax(-1)  # [prompts]; relative to the largest variance
    w, r = torch.zeros_like(target), product(S, target)
    direction, norm = torch.zeros_like(r), r.square().sum(0)
    solved_at, before = norm * (8 * len(S) * rounding) ** 2, torch.ones_like(norm)
    active = norm > 0
    iterates, alphas, gammas = [w], [], []
    for step in range(steps):
        gamma = torch.where(active & (step > 0), norm / before, 0.0)
        direction = r + gamma * direction
        towards = product(S, direction)
        curvature = (direction * towards).sum(0)
        active = active & (norm > solved_at) & (curvature > least_curvature * direction.square().sum(0))
        alpha = torch.where(active, norm, 0.0) / torch.where(active, curvature, 1.0)
        w, r = w + alpha * direction, r - alpha * towards
        before, norm = torch.where(active, norm, 1.0), r.square().sum(0)
        iterates.append(w)
        alphas.append(alpha)
        gammas.append(torch.where(active, gamma, 0.0))
    empty = norm.new_zeros(0, len(norm))
    return Conjugate(
        torch.stack(iterates),
        torch.stack(alphas) if alphas else empty,
        torch.stack(gammas) if gammas else empty,
    )


def least_squares(X: Float[Tensor, "d n prompts"], y: Float[Tensor, "n prompts"]) -> Float[Tensor, "d prompts"]:
    """The least-squares weights of y = X^T w; of all such weights those of least norm (n < d leaves many)."""
    inverse = torch.linalg.pinv(X.permute(2, 1, 0)).permute(1, 2, 0)  # [d, n, prompts]
    return (inverse * y).sum(1)


def ridge(
    S: Float[Tensor, "d d prompts"], b: Float[Tensor, "d prompts"], strength: float
) -> Float[Tensor, "d prompts"]:
    """(S + strength I)^-1 b with b = X y / n = S w*: least mean squared error / 2 plus strength / 2 times |w|^2.

    `ValueError` unless `strength` is positive; `least_squares` is its limit at zero.
    """
    if not strength > 0:
        raise ValueError(f"strength must be positive, got {strength}")
    raised = S.permute(2, 0, 1) + strength * torch.eye(len(S), dtype=S.dtype, device=S.device)  # [prompts, d, d]
    return torch.linalg.solve(raised, b.T).T
