"""One feature: the expected loss of the N-D layer, exact, and the weights at its minimum.

With f = 1 windows are numbers, C_t = [x_t, w x_t, x_{t+1}], and the prediction is a polynomial in
them:

    o = beta sum_t a^(N-t) sum_{j>=k} Q[j, k] C_t[j] C_t[k] sum_l q[l] C_N[l]

So its expected loss is a quadratic form in beta Q[j, k] q[l], whose coefficients are moments of x ~
U(-r, r) and w ~ N(0, 1). Its minimum, searched from the weights that training begins with, is the
construction: that trained weights are off it is no merit of other weights.
"""

import numpy as np
import torch
from torch import Tensor

from icl_core.contract.experiment import Run
from icl_core.papers.gdssm.layer.symmetries import compare, farthest, mean_decay
from icl_core.papers.gdssm.shared import any_layer as models
from icl_core.papers.gdssm.shared import closed_forms, construction
from icl_core.papers.gdssm.shared.layer_nd import LayerND
from icl_core.papers.gdssm.shared.load_run import folded, model_of
from icl_core.papers.gdssm.shared.settings import Config

ROWS, COLUMNS = np.tril_indices(3)  # the six entries of Q that act apart
PRODUCTS = len(ROWS) * 3  # of two entries of a window with one of the last
OF_W = np.array([1.0, 0, 1, 0, 3, 0, 15])  # E w^k
STEPS = 500  # of L-BFGS, at most
PRECISE = 1e-13  # a gradient below it, in units of r², ends the search
SIZES = range(2, 41)  # of N: a single pair has several optima, and beyond it takes long


def applies(config: Config) -> bool:
    """Return whether the expected loss is known: one N-D layer of one feature."""
    return (
        config.model == "N-D"
        and config.layers == 1
        and config.f == 1
        and config.N in SIZES
        and not config.skip
    )


def optimum(config: Config) -> LayerND:
    """Return the weights of least expected loss, by L-BFGS from those that training begins with;
    float64, one seed."""
    start = models.initial(config, [config.seed]).to(torch.float64)
    r = config.r
    assert isinstance(start, LayerND)
    along, squares = moments(config.N, r)
    leaves = {
        name: start.tensors()[name].clone().requires_grad_() for name in ("a", "Q", "q")
    }  # beta is their scale
    search = torch.optim.LBFGS(
        list(leaves.values()), max_iter=STEPS, tolerance_grad=PRECISE * r**2, tolerance_change=0.0,
        history_size=20, line_search_fn="strong_wolfe",
    )  # fmt: skip

    def closure() -> Tensor:
        search.zero_grad()
        loss = expected_loss(start.with_(**leaves), along, squares, r)
        loss.backward()
        return loss

    search.step(closure)
    return start.with_(**{name: leaf.detach() for name, leaf in leaves.items()})


def expected_loss(weights: LayerND, along: Tensor, squares: Tensor, r: float = 1.0) -> Tensor:
    """Return the mean loss over all tasks of a layer of one seed, given the `moments`."""
    N = len(along)
    shares = weights.a[0, 0, 0] ** torch.arange(N - 1, -1, -1)  # (N,)
    twice = torch.tensor(np.where(ROWS == COLUMNS, 2.0, 1.0))  # the diagonal counts once
    folded = (weights.Q[0] + weights.Q[0].mT)[ROWS, COLUMNS] / twice  # (6,)
    theta = weights.beta[0] * (folded[:, None] * weights.q[0]).flatten()  # (PRODUCTS,)
    form = torch.einsum("tpuq,t,u->pq", squares, shares, shares)
    return closed_forms.variance(r) / 2 - theta @ (shares @ along) + theta @ form @ theta / 2


def moments(N: int, r: float = 1.0) -> tuple[Tensor, Tensor]:
    """Return E y phi (N, PRODUCTS) and E phi phi' (N, PRODUCTS, N, PRODUCTS) of the products phi of
    windows; float64."""
    of_w, of_x = _exponents(N)
    label = np.zeros(N + 1, int)
    label[N] = 1  # y = w x_{N+1}
    along = _mean(of_w + 1, of_x + label, r)
    squares = np.stack(
        [_mean(of_w[t, :, None, None] + of_w, of_x[t, :, None, None] + of_x, r) for t in range(N)]
    )
    return torch.tensor(along), torch.tensor(squares)


def _exponents(N: int) -> tuple[np.ndarray, np.ndarray]:
    """Return of every product C_t[j] C_t[k] C_N[l] the power of w [N, PRODUCTS], and that of every
    x [N, PRODUCTS, N + 1]."""
    token = np.zeros((N, 3, N + 1), int)  # which x stands where in a window
    for t in range(N):
        token[t, [0, 1], t] = token[t, 2, t + 1] = 1
    label = np.array([0, 1, 0])  # which has w
    pairs = token[:, ROWS] + token[:, COLUMNS]  # [N, 6, N + 1]
    of_x = pairs[:, :, None] + token[N - 1][None, None]  # [N, 6, 3, N + 1]
    of_w = np.broadcast_to((label[ROWS] + label[COLUMNS])[:, None] + label, (N, len(ROWS), 3))
    return of_w.reshape(N, PRODUCTS), of_x.reshape(N, PRODUCTS, N + 1)


def _mean(of_w: np.ndarray, of_x: np.ndarray, r: float) -> np.ndarray:
    """Return E w^k times the product of E x^e = r^e / (e + 1) over all x, odd powers being
    nothing."""
    powers = np.arange(7)
    table = np.where(powers % 2, 0.0, r**powers / (powers + 1))
    return OF_W[of_w] * table[of_x].prod(-1)


def population_distance(run: Run, prefix: str = "population/") -> float:
    """Return how far weights are from the construction at the best expected rate, at the farthest
    of their parts and seeds."""
    config = run.config
    exact = construction.layer_nd(
        config.f, config.N, config.N * closed_forms.best_beta(config.f, config.N, config.r)
    )
    weights = folded(model_of(config, run.tensors, prefix), config.f)
    decay = float((mean_decay(weights.tensors()["a"], config.N) - 1).abs().max())
    return max(decay, *map(farthest, compare(weights, exact, config.N)))
