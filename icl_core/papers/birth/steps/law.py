"""The exact expectations over the sequences of Theorem 3's proof (`shared.proof_data`)."""

import torch
from jaxtyping import Float
from torch import Tensor


def answer_probability(N: int, T: int) -> Float[Tensor, "T"]:
    """Return P(z_t = y) at every position: how often the answer itself stands there. Every other
    token has the rest evenly."""
    same = 1 / N  # the probability that output and trigger are one
    t = torch.arange(T)
    # the output's place, where it differs from the trigger
    output = ((t >= 1) & (t <= T - 2)).double() / (T - 2)
    trigger = (t <= T - 3).double() / (T - 2) + (t == T - 1)
    apart = output + (1 - output - trigger) / (N - 1)
    return (1 - same) * apart + same * (t >= T - 2)


def more_often(N: int, T: int) -> Float[Tensor, "T"]:
    """Return a_t of E[1{z_t = j} | y = k] − E[1{z_t = j}] = a_t (1{j = k} − 1 / N)."""
    return (N * answer_probability(N, T) - 1) / (N - 1)


def pairs(
    F: Float[Tensor, "N N"], places: Float[Tensor, "N T"], N: int, T: int
) -> Float[Tensor, "T T N N"]:  # fmt: skip
    """Return E[f_y(z_t, t) 1{z_s = i} 1{q = j}] as [t, s, i, j], with f_y(z, t) = F[y, z] +
    places[y, t], float64."""
    F = F.double()
    places = places.double()
    same = 1 / N  # the probability that output and trigger are one
    expectation = torch.zeros(T, T, N, N, dtype=torch.float64)
    for first in range(T - 2):
        expectation += _apart(F, places, N, T, first)
    expectation *= (1 - same) / (N * (N - 1) * (T - 2))
    return expectation + same / N * _beside(F, places, N, T)


def _elsewhere(N: int) -> Float[Tensor, "N N"]:
    """Return the law of a token in a free place as [i, q]: uniform over all but q."""
    return (1 - torch.eye(N, dtype=torch.float64)) / (N - 1)


def _apart(F: Tensor, places: Tensor, N: int, T: int, first: int) -> Float[Tensor, "T T N N"]:
    """Return the expectation where the trigger stands at `first`, summed over all outputs y that
    are not q."""
    free = _elsewhere(N)
    eye = torch.eye(N, dtype=torch.float64)
    at_free = F @ free  # [y, q]: the mean of F[y, z] over a free place
    f = at_free.repeat(T, 1, 1) + places.T[:, :, None]  # [t, y, q]
    f[[first, T - 1]] += F - at_free
    f[first + 1] += F.diagonal()[:, None] - at_free
    f = f * (1 - eye)  # y is not q
    total = f.sum(1)  # [t, q]
    expectation = total[:, None, None, :] * free  # s free: [t, 1, i, q], the same for every s
    expectation = expectation.repeat(1, T, 1, 1)  # [t, s, i, q]
    expectation[:, [first, T - 1]] = (total[:, None, :] * eye)[:, None]
    expectation[:, first + 1] = f  # z_s is y
    # t = s in a free place: f and the token are not independent
    correction = (F.sum(0)[:, None] - F.T) * free - (at_free * (1 - eye)).sum(0) * free  # [i, q]
    for t in set(range(T)) - {first, first + 1, T - 1}:
        expectation[t, t] += correction
    return expectation


def _beside(F: Tensor, places: Tensor, N: int, T: int) -> Float[Tensor, "T T N N"]:
    """Return the expectation where output and trigger are one, y = q, at T − 1 and T."""
    free = _elsewhere(N)
    eye = torch.eye(N, dtype=torch.float64)
    at_free = (F * free.T).sum(1)  # [q]
    f = at_free.repeat(T, 1) + places.T  # [t, q]
    f[T - 2 :] += F.diagonal() - at_free
    expectation = (f[:, None, None, :] * free).repeat(1, T, 1, 1)  # [t, s, i, q]
    expectation[:, T - 2 :] = (f[:, None, :] * eye)[:, None]
    correction = F.T * free - at_free * free  # [i, q]
    for t in range(T - 2):
        expectation[t, t] += correction
    return expectation
