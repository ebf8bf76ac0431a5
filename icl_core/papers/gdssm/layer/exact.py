"""What is known of a layer without training it.

**One feature**: the expected loss of the N-D layer, exact, and the weights at its minimum. With f =
1 windows are numbers, C_t = [x_t, w x_t, x_{t+1}], and the prediction is a polynomial in them:

    o = beta sum_t a^(N-t) sum_{j>=k} Q[j, k] C_t[j] C_t[k] sum_l q[l] C_N[l]

So its expected loss is a quadratic form in beta Q[j, k] q[l], whose coefficients are moments of x ~
U(-r, r) and w ~ N(0, 1). Its minimum, searched from the weights that training begins with, is the
construction: that trained weights are off it is no merit of other weights.

**Two steps on scalar labels**: what a second step asks of the 1-D layer's tokens c_t = [x_t y_t,
x_{t+1}] (eq. 14), and what they hold of it. Two steps predict A g·x_q − B gᵀ S x_q with g = ∑ y x
and S = ∑ x xᵀ. No reader of these tokens does exactly that: x_1 stands in them as x_1 y_1 only, so
that (c x_1, y_1 / c) gives the same tokens and another S. Two ways to come near, of many (a reader
that can divide x_t y_t by x_t knows all pairs but the first):

  left out   S without the first pair, as the sum of x_{t+1} x_{t+1}ᵀ over t < N: two heads per
             layer, as in Appendix A.2
  stacked    a second layer of eq. 13 on the first one, which predicts at every token from the pairs
             so far: it adds up (y_t − prediction) x_t, so that every example meets the earlier ones
             alone

The windows of Section 3.2 hold what is needed, with y as [0, …, y]: "the token construction is
identical to that used for N-dimensional linear regression" (Section 4.3). So the 1-D model of
several layers reads these (`multi_layer`).
"""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from icl_core.contract.experiment import Run
from icl_core.papers.gdssm.layer.symmetries import compare, farthest, mean_decay
from icl_core.papers.gdssm.shared import any_layer as models
from icl_core.papers.gdssm.shared import closed_forms, construction
from icl_core.papers.gdssm.shared.layer_nd import LayerND
from icl_core.papers.gdssm.shared.load_run import folded, model_of
from icl_core.papers.gdssm.shared.settings import Config
from icl_core.papers.gdssm.shared.task import Tasks, constructed_tokens

ROWS, COLUMNS = np.tril_indices(3)  # the six entries of Q that act apart
PRODUCTS = len(ROWS) * 3  # of two entries of a window with one of the last
OF_W = np.array([1.0, 0, 1, 0, 3, 0, 15])  # E w^k
STEPS = 500  # of L-BFGS, at most
PRECISE = 1e-13  # a gradient below it, in units of r², ends the search
SIZES = range(2, 41)  # of N: a single pair has several optima, and beyond it takes long


def has_expected_loss(config: Config) -> bool:
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


Tokens = Float[Tensor, "N width tasks"]  # width 2f
Outputs = tuple[Float[Tensor, "tasks"], Float[Tensor, "tasks"]]


def stacked(c: Tokens) -> Outputs:
    """Return, over the tokens: g·x_q, what one layer puts out, and what a second one adds up of its
    predictions, at the query: ∑_t (g_{t-1}·x_t) (x_t·x_q) with g_t of the first t pairs."""
    f = c.shape[1] // 2
    g = torch.zeros_like(c[0, :f])
    curvature = torch.zeros_like(c[0, :f])
    for token in c[:-1]:
        g = g + token[:f]
        x = token[f:]  # x_{t+1}, (f, tasks)
        curvature = curvature + (g * x).sum(0) * x  # the prediction of y_{t+1}, times x_{t+1}
    query = c[-1, f:]
    return ((g + c[-1, :f]) * query).sum(0), (curvature * query).sum(0)


def left_out(c: Tokens) -> Outputs:
    """Return g·x_q and gᵀ S x_q, S without x_1 x_1ᵀ."""
    f = c.shape[1] // 2
    g = c[:, :f].sum(0)  # (f, tasks)
    x = c[:-1, f:]  # (N - 1, f, tasks)
    query = c[-1, f:]  # (f, tasks)
    return (g * query).sum(0), ((g * x).sum(1) * (x * query).sum(1)).sum(0)


def second_step_floors(tasks: Tasks) -> dict[str, float]:
    """Return the least loss on these tasks of A times the first output minus B times the second, of
    both."""
    c = constructed_tokens(tasks)
    label = tasks.y[-1, 0].double().cpu().numpy()
    return {
        name: _least(form(c), label)
        for name, form in (("stacked", stacked), ("left_out", left_out))
    }


def _least(outputs: Outputs, label: np.ndarray) -> float:
    """Return the least loss, by 2 x 2 least squares; each output is in units of its own size, as
    they differ by powers of N."""
    columns = torch.stack(outputs, 1).double().cpu().numpy()  # [tasks, 2]
    columns = columns / np.maximum(np.sqrt((columns**2).mean(0)), 1e-30)
    best = np.linalg.lstsq(columns, label, rcond=None)[0]
    return float(((columns @ best - label) ** 2).mean()) / 2
