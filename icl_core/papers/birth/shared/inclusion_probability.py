"""How often a token is among the triggers of a sequence, when they are drawn without
replacement."""

from functools import lru_cache

import torch
from jaxtyping import Float
from torch import Tensor


def inclusion(unigram: Float[Tensor, "N"], K: int) -> Float[Tensor, "N"]:
    """Return the probability of each token to be among K drawn by `unigram` without replacement,
    float64; sums to K.

    Drawing without replacement is a race: token i arrives at an exponential time of rate pi_u(i),
    and the first K are taken. Token i is one if at its time fewer than K others have arrived; the
    number of arrivals by a time s is built up token by token, and s integrated on a logarithmic
    grid, where the rule of trapezoids is exact to about 1e-10. With 256 tokens that takes seconds,
    so the last few are kept.
    """
    if len(unigram) == K:
        return torch.ones(K, dtype=torch.float64)
    return _raced(tuple(unigram.tolist()), K).clone()


@lru_cache(maxsize=8)
def _raced(rates: tuple[float, ...], K: int) -> torch.Tensor:
    N = len(rates)
    unigram = torch.tensor(rates, dtype=torch.float64)
    log_s = torch.linspace(-25, 40, 1000, dtype=torch.float64)
    waited = unigram[:, None] * log_s.exp()  # (N, grid): pi_i s
    arrived = -torch.expm1(-waited)
    # P(k others of i have arrived), k < K
    count = torch.zeros(N, K, len(log_s), dtype=torch.float64)
    count[:, 0] = 1.0
    for j in range(N):
        others = torch.arange(N) != j
        before = count[others]
        after = before * (1 - arrived[j])
        after[:, 1:] += before[:, :-1] * arrived[j]
        count[others] = after
    return torch.trapezoid(waited * (-waited).exp() * count.sum(1), log_s).clamp(max=1)
