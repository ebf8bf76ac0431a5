"""The weights written down instead of learned, and the learning rates they need.

Where this departs from the paper's formulas (each departure has a test): Q = e_2 e_1^T, as C Q C^T
must be y x^T. Where it takes them one way: beta is +eta / N, as the state accumulates +y x^T; t
counts pairs, so that only windows that begin at an x are read.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from icl_core.papers.gdssm.shared.layer_1d import Layer1D
from icl_core.papers.gdssm.shared.layer_nd import LayerND, decay_shape
from icl_core.papers.gdssm.shared.multi_layer import MultiLayer
from icl_core.papers.gdssm.shared.task import Tasks


def layer_1d(f: int, N: int, eta: float) -> Layer1D:
    """Return A = I, Psi = [I 0], Theta = [0 I], beta = eta / N: one step of rate eta. One seed, on
    the CPU."""
    eye = torch.eye(f)
    nothing = torch.zeros(f, f)
    Psi = torch.cat((eye, nothing), 1)
    Theta = torch.cat((nothing, eye), 1)
    return Layer1D(torch.ones(1, f), Psi[None], Theta[None], torch.full((1,), eta / N))


def layer_nd(f: int, N: int, eta: float, recurrence: str = "row") -> LayerND:
    """Return A = 1, Q = e_2 e_1^T, q = e_3, beta = eta / N: one step of rate eta. One seed, on the
    CPU."""
    a = torch.ones(1, *decay_shape(f, recurrence))
    beta = torch.full((1,), eta / N)
    return LayerND(a, unit(1, 0)[None], torch.eye(3)[2:], beta)


def multi_layer(
    f: int, N: int, etas: Sequence[float], penalty: float = 0.0, recurrence: str = "row"
) -> MultiLayer:
    """Return layers that take a step of rate etas[l - 1] in layer l, on the loss with that L2
    penalty. One seed, on the CPU."""
    L = len(etas)
    a = torch.ones(1, L, *decay_shape(f, recurrence))
    Q = unit(1, 0).repeat(1, L, 1, 1)
    Q_tilde = unit(0, 0).repeat(1, L - 1, 1, 1)
    return MultiLayer(
        a, a[:, 1:].clone(), Q, Q_tilde, torch.eye(3)[2:], torch.tensor([etas]) / N, None, penalty
    )


def unit(row: int, column: int) -> Tensor:
    """Return the 3 x 3 matrix with a single 1: (1, 0) makes C Q C^T = y x^T, (0, 0) makes x x^T."""
    return torch.outer(torch.eye(3)[row], torch.eye(3)[column])


@dataclass(frozen=True, eq=False)
class Inner:
    """Inner products over tasks, float64, of the label y and the predictions K_k = G S^k x_q with G
    = sum y x^T and S = sum x x^T: whatever k steps of gradient descent predict is a mixture of
    them."""

    labels: float  # <y, y> / 2 a coordinate
    along: np.ndarray  # (steps,): <y, K_k>
    gram: np.ndarray  # (steps, steps): <K_j, K_k>

    def loss(self, c: np.ndarray) -> np.ndarray:
        """Return the loss [...] of the predictions sum_k c_k K_k; c is (..., steps)."""
        return self.labels - c @ self.along + ((c @ self.gram) * c).sum(-1) / 2


def inner(tasks: Tasks, steps: int) -> Inner:
    """Return the inner products on these tasks."""
    x = tasks.x[:-1]
    y = tasks.y[:-1]
    u = tasks.x[-1]
    K = []
    for _ in range(steps):
        along = (x * u).sum(1, keepdim=True)  # x_n . S^k x_q: (N, 1, tasks)
        K.append((y * along).sum(0).flatten().double())  # G S^k x_q: (n_o tasks)
        u = (x * along).sum(0)  # (f, tasks)
    rows = torch.stack(K)
    label = tasks.y[-1].flatten().double()
    count = len(label)
    gram = (rows @ rows.T / count).cpu().numpy()
    along = (rows @ label / count).cpu().numpy()
    return Inner(float(label @ label) / count / 2, along, gram)


def best_eta(tasks: Tasks) -> float:
    """Return N <y, g> / <g, g>: the prediction is linear in the rate, so the best one on these
    tasks needs no search."""
    products = inner(tasks, 1)
    return tasks.N * float(products.along[0] / products.gram[0, 0])


def best_mixture(tasks: Tasks, steps: int) -> tuple[np.ndarray, float]:
    """Return the best c of sum_k c_k G S^k x_q on these tasks, and its loss; with two steps c = (A,
    -B), 2 x 2 least squares.

    No choice of scales in that many layers does better: the floor of `multi_layer`.
    """
    products = inner(tasks, steps)
    scale = 1 / np.sqrt(products.gram.diagonal())  # the K_k differ by powers of N
    gram = products.gram * scale[:, None] * scale  # [steps, steps], its diagonal 1
    c = scale * np.linalg.lstsq(gram, products.along * scale, rcond=None)[0]
    return c, float(products.loss(c))


def best_rates(tasks: Tasks, steps: int) -> list[float]:
    """Return the rates, one a step and largest first, whose steps without penalty make the best
    mixture.

    1 - sum_k c_k s^(k+1) = prod_l (1 - eta_l s / N). In expectation its roots are real, as those of
    orthogonal polynomials are; where too few tasks make a pair complex, the real parts are taken.
    """
    c, _ = best_mixture(tasks, steps)
    roots = np.roots([1.0, *(-c)])  # of the reversed polynomial: the eta_l / N themselves
    return sorted((tasks.N * roots.real).tolist(), reverse=True)


def shared_mixture(eta: np.ndarray, N: int, steps: int, penalty: float = 0.0) -> np.ndarray:
    """Return the c, (..., steps), that `steps` steps of one rate eta predict by, from M_l = M_{l-1}
    (keep - h S) + h G."""
    h = eta / N
    keep = 1 - eta * penalty
    columns = [
        h * (-h) ** k * sum(math.comb(j, k) * keep ** (j - k) for j in range(k, steps))
        for k in range(steps)
    ]
    return np.stack(columns, -1)


def best_looped(tasks: Tasks, steps: int) -> tuple[float, float]:
    """Return the rate eta and the share rho of one layer that is looped, with the least loss on
    these tasks: the first head holds rho times as much as the second one, rho G beside S.

    Loop by loop M <- M (1 - h S) + rho h G with h = eta / N, so that the prediction is rho times
    that of as many steps of one rate: the loss is a parabola in rho, and eta is searched by zooming
    in.
    """
    products = inner(tasks, steps)
    N = tasks.N

    def loss(eta: np.ndarray) -> np.ndarray:
        c = shared_mixture(eta, N, steps)
        return products.loss(_best_share(products, c)[..., None] * c)

    best = zoomed(loss, 3 * best_eta(tasks))
    return best, float(_best_share(products, shared_mixture(np.array([best]), N, steps))[0])


def _best_share(products: Inner, c: np.ndarray) -> np.ndarray:
    """Return the best factor (...,) on the prediction sum_k c_k K_k; 0 for a prediction of zero."""
    size = ((c @ products.gram) * c).sum(-1)
    return np.where(size > 0, c @ products.along / np.where(size > 0, size, 1.0), 0.0)


def best_shared_eta(tasks: Tasks, steps: int, penalty: float = 0.0) -> float:
    """Return the one rate for all steps with the least loss on these tasks: a polynomial, searched
    by zooming in."""
    products = inner(tasks, steps)
    return zoomed(
        lambda eta: products.loss(shared_mixture(eta, tasks.N, steps, penalty)),
        3 * best_eta(tasks),
    )


def zoomed(loss: Callable[[np.ndarray], np.ndarray], top: float) -> float:
    """Return the rate between 0 and `top` with the least loss, a function of many rates at once."""
    best = 0.0
    low = 0.0
    high = top
    for _ in range(16):
        rates = np.linspace(low, high, 201)
        best = float(rates[loss(rates).argmin()])
        reach = 2 * (high - low) / 200
        low = max(0.0, best - reach)
        high = min(top, best + reach)
    return best
