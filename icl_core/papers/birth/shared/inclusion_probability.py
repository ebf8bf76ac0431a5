"""How often a token is among the triggers of a sequence, when they are drawn without
replacement."""

from functools import lru_cache

import torch
from jaxtyping import Float
from torch import Tensor


def inclusion(unigram: Float[Tensor, "N"], K: int) -> Float[Tensor, "N"]:
    """Return the probability of each token to be among K drawn by `unigram` without replacement,
    float64; the sum is K.

    Drawing without replacement is a race: token i arrives at an exponential time of rate pi_u(i),
    and the first K are taken. Token i is one of them if at its time fewer than K others have
    arrived. The distribution of the number of arrivals by a time s is built up token by token.
    The integral over s is on a logarithmic grid, where the rule of trapezoids is exact to about
    1e-10. With 256 tokens that takes seconds, so the last few results are kept.
    """
    if len(unigram) == K:
        return torch.ones(K, dtype=torch.float64)
    return _raced(tuple(unigram.tolist()), K).clone()


@lru_cache(maxsize=8)
def _raced(rates: tuple[float, ...], K: int) -> Float[Tensor, "N"]:
    """Return `inclusion` for fewer than all tokens; not to be changed, as it is kept."""
    N = len(rates)
    unigram = torch.tensor(rates, dtype=torch.float64)
    log_s = torch.linspace(-25, 40, 1000, dtype=torch.float64)  # (grid)
    expected = unigram[:, None] * log_s.exp()  # (N, grid): pi_i s
    arrived = -torch.expm1(-expected)  # (N, grid): probability of token i to have arrived
    # probability that k others of token i have arrived, for k < K
    count = torch.zeros(N, K, len(log_s), dtype=torch.float64)
    count[:, 0] = 1.0
    for j in range(N):
        others = torch.arange(N) != j
        before = count[others]  # (N - 1, K, grid)
        after = before * (1 - arrived[j])
        after[:, 1:] += before[:, :-1] * arrived[j]
        count[others] = after
    # the density of token i's arrival, pi_i exp(-pi_i s), times ds = s d log s
    return torch.trapezoid(expected * (-expected).exp() * count.sum(1), log_s).clamp(max=1)
