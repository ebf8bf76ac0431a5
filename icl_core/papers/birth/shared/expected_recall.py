"""What a memory of P random pairs recalls in d dimensions, from its statistics alone.

Asked with u_i, W answers w = sum_k c_k v_k with c_i = a_i |u_i|^2 and all other c_k = a_k u_k^T
u_i, which are Gaussian with variance a_k^2 |u_i|^2 / d. Given C = sum_k c_k^2, the answer's length
is |w|^2 = C q, where d q has a chi-squared distribution, and given w the outputs are Gaussian
around c_k w / C with variance 1 / d. So the scores v_k^T w are

    of the right output    c_i q + e,  e ~ N(0, R q / d),  R = C - c_i^2
    of another, k          c_k (q - c_i e / R) + N(0, C q / d - c_k^2 C q / (d R))

since the c_k v_k must add up to w. The pair is recalled if the first is larger than all others,
which are taken to be independent given the first, and c_k in them is Gaussian. With all strengths 1
the signal is about 1 and the cross-talk's variance about 2 / d + P / d^2.
"""

from functools import cache
from itertools import pairwise

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

# points of the four random numbers: |u|^2, q, the rest of C, the right score's own noise
DRAWS = 1024
BINS = 16  # groups of ranks, at most, that count as equally strong


@cache
def _normals(count: int = DRAWS, numbers: int = 4) -> Float[Tensor, "count numbers"]:
    """Return normal numbers spread evenly: a Kronecker sequence through the inverse normal
    distribution."""
    root = 2.0  # becomes the root of x^(numbers + 1) = 1 + x
    for _ in range(60):
        root = (1 + root) ** (1 / (numbers + 1))
    steps = torch.tensor([root ** -(index + 1) for index in range(numbers)], dtype=torch.float64)
    # (count, numbers)
    return torch.special.ndtri((0.5 + torch.arange(1, count + 1)[:, None] * steps) % 1)


def _chi(z: Tensor, freedom: float | Tensor) -> Tensor:
    """Return a chi-squared number over its degrees of freedom, by Wilson and Hilferty's cube of a
    normal number z."""
    c = 2 / (9 * torch.as_tensor(freedom, dtype=torch.float64))
    return (1 - c + z * c.sqrt()).clamp(min=0.05) ** 3


def _grouped(strengths: Float[np.ndarray, "P"]) -> tuple[Tensor, Tensor, Tensor]:
    """Return the sizes of groups of neighbouring ranks, and the means of a^2 and a^4 in each,
    [groups]."""
    P = len(strengths)
    edges = np.unique(np.geomspace(1, P + 1, BINS + 1).round().astype(int)) - 1
    edges = np.array([0, P]) if np.ptp(strengths) == 0 else edges
    groups = [strengths[low:high] for low, high in pairwise(edges)]
    counts = torch.tensor([len(group) for group in groups], dtype=torch.float64)
    squares = torch.tensor([(group**2).mean() for group in groups], dtype=torch.float64)
    fourths = torch.tensor([(group**4).mean() for group in groups], dtype=torch.float64)
    return counts, squares, fourths


def recalled(d: int, strengths: Float[np.ndarray, "P"]) -> Float[np.ndarray, "P"]:
    """Return the probability that each pair is recalled in d dimensions, the strongest first.

    `strengths` are the a_k, in descending order.
    """
    count, a2, a4 = _grouped(strengths)  # (groups) each
    rest = ((a2 * count).sum() - a2).clamp(min=1e-300)  # (groups): sum of the other a_k^2
    rest4 = ((a4 * count).sum() - a4).clamp(min=1e-300)  # (groups): sum of the other a_k^4
    freedom = (rest**2 / rest4).clamp(min=1e-3)  # of the sum of the other c_k^2
    u, q, more, own = _normals().unsqueeze(-1).unbind(1)  # (draws, 1) each
    norm = _chi(u, float(d))  # (draws, 1): |u|^2
    q = _chi(q, float(d))  # (draws, 1)
    others = norm * rest / d * _chi(more, freedom)  # (draws, groups): C - c_i^2
    c = a2.sqrt() * norm  # (draws, groups)
    noise = (others * q / d).sqrt() * own  # (draws, groups)
    length = q * (c**2 + others)  # (draws, groups): |w|^2
    # the factor of c_k^2 in the variance of another output's score
    leaning = (q - c * noise / others) ** 2 - length / (d * others)  # (draws, groups)
    # the variance of that score: (draws, group asked, group of the other)
    spread = (length / d)[:, :, None] + leaning[:, :, None] * (a2 * norm / d)[:, None, :]
    top = c * q + noise  # (draws, groups): the right score
    # log probability that one other score is smaller: (draws, group asked, group of the other)
    below = torch.special.log_ndtr(top[:, :, None] / spread.clamp(min=1e-12).sqrt())
    competitors = (count - torch.eye(len(count))).clamp(min=0)  # (group asked, group of the other)
    probability = (below * competitors).sum(-1).exp().mean(0)  # (groups)
    return np.repeat(probability.numpy(), count.int().numpy())  # (P)


def first_order(d: int, P: int) -> float:
    """Return the variance of the cross-talk in one reading of P pairs, each of strength 1, where it
    is small."""
    return 2 / d + P / d**2
