"""The one-step memory of Figure 9: what can be recalled after a single gradient step on W_O2 while
attention is uniform.

At a trigger that has come before, x = mean over s <= t of v(z_s), with v(k) = W_V2 w_E(k), and y is
what follows. With mu_k = E[x | y = k] and mu = E[x], output k is recalled if k is the argmax over
k' of v(k')^T (mu_k - mu). As x is a mixture of the v, mu_k - mu = sum_j S[k, j] v(j), where S[k, j]
is how much more often than on average j has occurred when k follows. So S (N x N) holds all that
the data says, whatever the dimension; the reading of k' is sum_j S[k, j] G[k', j] with the Gram
matrix G[k', j] = v(k')^T v(j), here divided by its expectation on the diagonal.

For Gaussian w_E and independent entries of W_V2 with kurtosis c, exactly:

    E G = 1,  Var G[i, j] = rho = (2 d - 2 + c) / d^2,  Var G[i, i] = 2 rho + (c - 1) / d^2,

entries of one row being uncorrelated. So a reading has mean S[k, k'] and variance rho sum_{j != k'}
S[k, j]^2 + (2 rho + (c - 1) / d^2) S[k, k']^2. The recall is then that of independent Gaussians
with these moments, which is not exact.

At the end: what a run says of it and of its curves: the tuned learning rate, when a width arrives,
and theory's contour.
"""

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from icl_core.contract.experiment import Run
from icl_core.contract.statistics import first_crossing
from icl_core.papers.birth.dimension.settings import FACTORS
from icl_core.papers.birth.shared.probes import recalled
from icl_core.papers.birth.shared.task import Batch, Task, sample

SEQUENCES = 32  # a batch, as in Figure 9
KURTOSIS = {"paper": 3.0, "code": 1.8}  # of the entries of W_V2: Gaussian, and uniform
NODES = 40  # of the quadrature over the right reading


def surplus(
    task: Task, numbers: tuple[int, ...], generator: torch.Generator
) -> Float[Tensor, "numbers N N"]:
    """Return S as estimated from each of these numbers of batches, in ascending order. A smaller
    number's batches are the first ones of a larger number's; a row is zero where k never
    followed."""
    sums = torch.zeros(task.N, task.N, dtype=torch.float64)
    counts = torch.zeros(task.N, dtype=torch.float64)
    estimates = []
    for batch in range(1, max(numbers) + 1):
        shares, follows = even_shares(sample(task, SEQUENCES, generator), task.N)
        sums.index_add_(0, follows, shares)
        counts += torch.bincount(follows, minlength=task.N)
        if batch in numbers:
            mean = sums.sum(0) / counts.sum()  # (N,)
            deviations = sums / counts.clamp(min=1)[:, None] - mean  # (N, N)
            estimates.append(deviations * (counts > 0)[:, None])
    return torch.stack(estimates)


def even_shares(batch: Batch, N: int) -> tuple[Float[Tensor, "n N"], Int[Tensor, "n"]]:
    """Return, at the n in-context positions, the share of each character among those up to the
    position, and the character that follows."""
    counts = torch.nn.functional.one_hot(batch.inputs, N).cumsum(1)  # (batch, T, N)
    lengths = torch.arange(1, counts.shape[1] + 1)[:, None]  # (T, 1)
    shares = counts.double() / lengths  # (batch, T, N)
    return shares[batch.in_context], batch.targets[batch.in_context]


def gram(N: int, d: int, scale: str, generator: torch.Generator) -> Float[Tensor, "N N"]:
    """Return G of random embeddings; `scale` says how the entries of W_V2 are drawn, see
    `model.initialise`."""
    w = torch.randn(N, d, generator=generator, dtype=torch.float64)  # (N, d)
    # the entries of V have variance 1
    if scale == "paper":
        V = torch.randn(d, d, generator=generator, dtype=torch.float64)  # (d, d)
    else:
        uniform = torch.rand(d, d, generator=generator, dtype=torch.float64)  # (d, d)
        V = (2 * uniform - 1) * 3**0.5
    v = w @ V.T / d  # (N, d)
    return v @ v.T  # (N, N)


def readings(S: Float[Tensor, "*n N N"], G: Float[Tensor, "N N"]) -> Float[Tensor, "*n N N"]:
    """Return the readings of all inputs for all outputs: at [k, k'] that of input k' for output
    k."""
    return S @ G


def recall(readings: Float[Tensor, "*n N N"]) -> Float[Tensor, "*n"]:
    """Return R_1, the share of outputs whose own input has the largest reading."""
    return recalled(readings, "keys").double().mean(-1)


def moments(
    S: Float[Tensor, "*n N N"], d: int | float, scale: str
) -> tuple[Float[Tensor, "*n N N"], Float[Tensor, "*n N N"]]:
    """Return the exact mean and variance of every reading over random embeddings; see the head of
    this file."""
    c = KURTOSIS[scale]
    rho = (2 * d - 2 + c) / d**2
    squares = S.square()
    others = squares.sum(-1, keepdim=True) - squares  # the sum over j != k'
    return S, rho * others + (2 * rho + (c - 1) / d**2) * squares


def aside(squares: Float[Tensor, "*n N N"]) -> Float[Tensor, "*n"]:
    """Return the mean over all readings except the right ones, the diagonal."""
    N = squares.shape[-1]
    right = squares.diagonal(dim1=-2, dim2=-1).sum(-1)  # (*n)
    return (squares.sum((-2, -1)) - right) / (N * (N - 1))


def noise(S: Float[Tensor, "*n N N"], d: int | float, scale: str) -> Float[Tensor, "*n"]:
    """Return the exact expectation of the squared noise, the mean square of all readings except the
    right ones."""
    mean, variance = moments(S, d, scale)
    return aside(mean.square() + variance)


def expected_recall(S: Float[Tensor, "*n N N"], d: int | float, scale: str) -> Float[Tensor, "*n"]:
    """Return R_1 of independent Gaussian readings with the exact moments, by quadrature over the
    right reading."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    mean, variance = moments(S, d, scale)
    deviation = variance.clamp(min=1e-30).sqrt()  # (*n, N, N)
    right_mean = mean.diagonal(dim1=-2, dim2=-1)[..., None]  # (*n, N, 1)
    right_deviation = deviation.diagonal(dim1=-2, dim2=-1)[..., None]  # (*n, N, 1)
    others = 1 - torch.eye(S.shape[-1], dtype=S.dtype)  # (N, N)
    shares = weights / weights.sum()
    probability = torch.zeros(S.shape[:-1], dtype=S.dtype)  # (*n, N): that k is recalled
    for node, share in zip(nodes.tolist(), shares.tolist(), strict=True):
        right = right_mean + right_deviation * node  # (*n, N, 1)
        # the logarithm of the probability that a reading is below the right one
        below = torch.special.log_ndtr((right - mean) / deviation)  # (*n, N, N)
        probability += share * (below * others).sum(-1).exp()
    return probability.mean(-1)


def largest(count: int) -> float:
    """Return the expectation of the largest of `count` independent normal variables."""
    x = torch.linspace(-8, 8, 4001, dtype=torch.float64)
    middles = (x[1:] + x[:-1]) / 2
    probabilities = (torch.special.ndtr(x) ** count).diff()  # of the intervals of x
    return float((middles * probabilities).sum())


HALF = 0.5  # of the pairs
FIXED = FACTORS.index(1.0)  # the index of the fixed learning rate
FROM = 64  # the least width at which theory's recall is compared with simulation


def over_training(run: Run) -> np.ndarray:
    """Return the mean recall over the training, [seeds, widths, rates]: learning rates are tuned
    for it."""
    steps = run["curve/step"]
    return np.trapezoid(run["curve/recall"], steps, axis=-1) / (steps[-1] - steps[0])


def tuned(run: Run) -> np.ndarray:
    """Return the index of the best learning rate of each width, by the mean over seeds,
    [widths]."""
    recalls = np.nan_to_num(over_training(run)).mean(0)  # (widths, rates)
    return recalls.argmax(-1)


def at_rates(values: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """Return `values` [seeds, widths, rates, …] at one rate of each width, [seeds, widths, …].

    `rates` [widths] holds the index of each width's rate.
    """
    return np.stack([values[:, width, rate] for width, rate in enumerate(rates)], 1)


def fixed(run: Run) -> np.ndarray:
    """Return the index of the fixed learning rate once for each width, [widths]."""
    return np.full(len(run["task/widths"]), FIXED)


def halves(run: Run, rates: np.ndarray) -> np.ndarray:
    """Return the training step at which each seed recalls half of the pairs, [seeds, widths], at
    the rates of these indices [widths]; infinite where it never does."""
    steps = run["curve/step"]
    arrivals = []
    for curves in at_rates(run["curve/recall"], rates):  # (widths, evaluations), of a seed
        arrivals.append([first_crossing(steps, curve, HALF) for curve in curves])
    return np.array(arrivals)


def contour(run: Run, level: float) -> np.ndarray:
    """Return the width at which theory's recall, the mean over seeds, passes a level, for each
    number of batches, [numbers]; NaN where it does not between the ends of `theory/fine`."""
    log_widths = np.log(run["theory/fine"])  # (fine,)
    recall = run["theory/recall"].mean(0)  # (numbers, fine)
    crossings = np.array([first_crossing(log_widths, row, level) for row in recall])
    inside = np.isfinite(crossings) & (crossings > log_widths[0])
    return np.where(inside, np.exp(crossings), np.nan)


def at_widths(run: Run) -> np.ndarray:
    """Return theory's recall at the widths of the run, the mean over seeds, [numbers, widths]; it
    is interpolated over the logarithm of the width."""
    log_fine = np.log(run["theory/fine"])  # (fine,)
    log_widths = np.log(run["task/widths"])  # (widths,)
    recall = run["theory/recall"].mean(0)  # (numbers, fine)
    return np.array([np.interp(log_widths, log_fine, row) for row in recall])
