"""One layer of linear attention on prompts of k training tasks, in closed form and fitted.

The layer answers ŷ = ⟨x, Γ b⟩ with b = 1/n ∑ y_t x_t and a matrix Γ that is all it learns. With
x ~ N(0, I) and noise of variance τ², for a task w

    E b = w,  E b bᵀ = (1 + 1/n) w wᵀ + (|w|² + τ²) / n I,

so that over training tasks with C = 1/k ∑ w wᵀ the mean squared error is least at

    Γ = C ((1 + 1/n) C + (tr C + τ²) / n I)⁻¹.

It has the rank of C: with fewer tasks than features it answers nothing outside of their span.
"""

import torch
from jaxtyping import Float
from torch import Tensor

Tasks = Float[Tensor, "tasks d"]
Matrix = Float[Tensor, "d d"]


def optimum(tasks: Tasks, n: int, noise: float) -> Matrix:
    """Return the Γ with the least error on prompts of these tasks."""
    C = tasks.T @ tasks / len(tasks)
    return C @ torch.linalg.inv(_mean_square(C, n, noise))


def limit(d: int, n: int, noise: float) -> float:
    """Return the multiple of I that the optimum becomes with ever more tasks w ~ N(0, I)."""
    return 1 / (1 + (1 + d + noise**2) / n)


def error_on(tasks: Tasks, gamma: Matrix, n: int, noise: float) -> float:
    """Return the mean of E |Γ b − w|² over these tasks: the error of a fresh label without its
    noise."""
    C = tasks.T @ tasks / len(tasks)
    return error_over(C, gamma, n, noise)


def error_over(C: Matrix, gamma: Matrix, n: int, noise: float) -> float:
    """Return the same over tasks whose mean square ∑ w wᵀ / k is C; I for fresh tasks."""
    reached = torch.trace(gamma @ _mean_square(C, n, noise) @ gamma.T)
    return float(reached - 2 * torch.trace(gamma @ C) + torch.trace(C))


def _mean_square(C: Matrix, n: int, noise: float) -> Matrix:
    """Return E b bᵀ."""
    one = torch.eye(len(C), dtype=C.dtype)
    return (1 + 1 / n) * C + (torch.trace(C) + noise**2) / n * one


def fitted(b: Float[Tensor, "prompts d"], x: Tensor, y: Float[Tensor, "prompts"]) -> Matrix:
    """Return the Γ of least squares of labels y at queries x [prompts, d] on what prompts have
    summed to: the d² products of x and b are its features."""
    features = (x[:, :, None] * b[:, None]).flatten(1)  # [prompts, d d]
    # With fewer prompts than features of Γ the shortest solution is taken.
    inverse = torch.linalg.pinv(features.T @ features, hermitian=True, rtol=1e-10)
    return (inverse @ (features.T @ y)).reshape(x.shape[1], b.shape[1])
