"""The example of Section 6: y is to be predicted from x = w_E(y) + p_t, the position being noise,
after one gradient step from zero. Signal and noise of that step, for infinitely many inputs, for a
batch, and for one input a character.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from icl_core.papers.birth.shared.accuracy import hits
from icl_core.papers.birth.shared.model import Weights

KNOWN = ("exact", "batch", "one")  # how many inputs: infinitely many, a batch, one a character


class Step(NamedTuple):
    """What the matrix says after one step of size N, so that a right answer reads about one."""

    tokens: Float[Tensor, "N N"]  # w_U(k)^T W_1 w_E(j): the signal on its diagonal
    places: Float[Tensor, "N T"]  # w_U(k)^T W_1 p_t: the noise

    @property
    def signal(self) -> float:
        """Return the mean reading of a right answer."""
        return float(self.tokens.diagonal().mean())

    @property
    def noise(self) -> float:
        """Return the root mean square reading of a position."""
        return float(self.places.square().mean().sqrt())

    @property
    def accuracy(self) -> float:
        """Return the share of right answers over all characters at all positions."""
        logits = self.tokens.T[:, None] + self.places.T  # [y, t, k]
        return float(hits(logits, torch.arange(len(self.tokens))[:, None]).double().mean())


def step(weights: Weights, variant: str, batch: int, generator: torch.Generator) -> Step:
    """Take one step from zero; with infinitely many inputs by eq. 12.

    variant    how many inputs there are, one of KNOWN
    batch      their number, if they are a batch
    generator  draws them
    """
    E, P, U = (vectors.double() for vectors in (weights.W_E, weights.P, weights.W_U))
    N = len(E)
    T = len(P)
    if variant == "exact":
        W = U.T @ (E - E.mean(0))
    else:
        y = torch.arange(N)
        if variant == "batch":
            y = torch.randint(N, (batch,), generator=generator)
        t = torch.randint(T, (len(y),), generator=generator)
        # how often each answer came with each token and position
        counts = torch.zeros(N, N + T, dtype=torch.float64)
        counts.index_put_((y, y), torch.ones(()).double(), accumulate=True)
        counts.index_put_((y, N + t), torch.ones(()).double(), accumulate=True)
        W = N / len(y) * U.T @ (counts - counts.mean(0)) @ torch.cat([E, P])  # 1{y = k} − 1 / N
    return Step(U @ W @ E.T, U @ W @ P.T)
