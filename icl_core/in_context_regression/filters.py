"""What a learner keeps of w* along each direction of a prompt.

With S = ∑ λ_i v_i v_iᵀ the filter of weights ŵ is ⟨v_i, ŵ⟩ / ⟨v_i, w*⟩ at λ_i. Of a method with
fixed coefficients and without noise it is one function of λ for every prompt: a polynomial of
degree L that is 0 at 0 for L steps, λ / (λ + r) for ridge. Conjugate gradient chooses its
polynomial anew for every prompt.
"""

from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor

from icl_core.in_context_regression.home import Home
from icl_core.in_context_regression.solvers import Grams
from icl_core.in_context_regression.untrained import Learner, Settings, conjugate_iterates

Grid = Float[Tensor, "points"]
ROUNDING = 1e-12  # below this share of its length a component of w* is zero


def has_curve(learner: Learner, home: Home) -> bool:
    """Return whether a learner's filter is one function of λ for every prompt of home."""
    if learner.whitens or not learner.linear:
        return False
    if learner.id == "bayes":
        return home.target == "white"
    return learner.method is not None or learner.id == "sum"


def curve(learner: Learner, settings: Settings, home: Home, steps: int, grid: Grid) -> Grid:
    """Return the filter of such a learner at eigenvalues λ: what it makes of one feature whose
    S is λ and whose w* is 1."""
    if learner.method is None:
        return home.n * settings["rate"] * grid
    one_feature = replace(home, d=1, covariance="isotropic")
    S = grid[None, None]  # [1, 1, points]
    return learner.method(S, S, settings, one_feature, steps)[0, 0]


def conjugate_curve(S: Grams, b: Float[Tensor, "d 1"], steps: int, grid: Grid) -> Grid:
    """Return the filter that conjugate gradient takes for one prompt, S [d, d, 1], at eigenvalues
    λ: its steps with the α and γ of that prompt."""
    own = conjugate_iterates(S, b[:, None], steps)
    w = torch.zeros_like(grid)
    direction = torch.zeros_like(grid)
    for alpha, gamma in zip(own.alpha[:, 0], own.gamma[:, 0], strict=True):
        direction = grid * (1 - w) + gamma * direction
        w = w + alpha * direction
    return w


def along_eigenvectors(
    weights: Float[Tensor, "d"], w: Float[Tensor, "d"], S: Float[Tensor, "d d"]
) -> tuple[Float[Tensor, "d"], Float[Tensor, "d"]]:
    """Return the eigenvalues of S, ascending, and the filter of weights at each; NaN where w* has
    nothing but rounding along the eigenvector."""
    eigenvalues, vectors = torch.linalg.eigh(S)
    target = vectors.T @ w
    ratio = (vectors.T @ weights) / target
    return eigenvalues, torch.where(target.abs() > ROUNDING * w.norm(), ratio, torch.nan)
