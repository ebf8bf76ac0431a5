"""Weights compared up to what the models cannot tell apart. Each comparison holds the trained
model's numbers, a row a seed, beside the construction's, in the same units.

N-D         scale and sign pass freely among Q, q and beta; the skip, of its own scale, is compared
            as it is
1-D         Psi -> G Psi, Theta -> G^-T Theta: any invertible G if all decays are equal, else scales
            of the state's
            coordinates and their order. Never compare entry by entry
two layers  moreover c Q_1, Q~_2 / c and Q_2 + (1 - c) (b_1 / b_2) Q_1 act alike: S = b_1 Q_1 + b_2
            Q_2 is what counts
A decay a counts as the mean of a^(N-t) over the context, a head being a sum of as many terms.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from icl_core.papers.gdssm.shared.any_layer import Model
from icl_core.papers.gdssm.shared.layer_1d import Layer1D
from icl_core.papers.gdssm.shared.layer_nd import LayerND
from icl_core.papers.gdssm.shared.multi_layer import MultiLayer
from icl_core.papers.gdssm.shared.weights import powers


@dataclass(frozen=True, eq=False)
class Comparison:
    """One quantity of both models. `unit` is what it is a multiple of in the construction: 1, or
    eta / N."""

    name: str
    trained: Tensor  # (seeds, ...)
    constructed: Tensor  # (...)
    unit: float = 1.0

    @property
    def farthest(self) -> Tensor:
        """(seeds,): the largest difference of an entry, in units."""
        gap = (self.trained - self.constructed).abs() / self.unit
        return gap.reshape(len(gap), -1).amax(1)


def compare(trained: Model, constructed: Model, N: int) -> list[Comparison]:
    """Every quantity that the models can be compared in. `ValueError` for more than two layers or
    unlike models."""
    if type(trained) is not type(constructed):
        wanted, got = type(trained).__name__, type(constructed).__name__
        raise ValueError(f"constructed must be a {wanted} as trained is, got a {got}")
    ours, theirs = quantities(trained, N), quantities(constructed, N)
    return [
        Comparison(name, ours[name], value[0], float(value.abs().max()) if name in RATES else 1.0)
        for name, value in theirs.items()
    ]


RATES = ("M", "rate", "A", "B")


def quantities(weights: Model, N: int) -> dict[str, Tensor]:
    """What a model's behaviour consists of, by name, the seeds first: the same for all weights that
    act alike."""
    if isinstance(weights, Layer1D):
        return {"M": product(weights, N)}
    found = one_layer(weights, N) if isinstance(weights, LayerND) else two_layers(weights, N)
    return found if weights.skip is None else {**found, "skip": weights.skip}


def mean_decay(a: Tensor, N: int) -> Tensor:
    """The mean of a^(N-t) over t = 1..N, entry by entry."""
    return powers(a, N).mean(1)


def product(weights: Layer1D, N: int) -> Tensor:
    """M = beta Psi^T diag(mean a^(N-t)) Theta, (seeds, 2f, 2f); (eta / N) [[0, I], [0, 0]] in the
    construction."""
    decayed = mean_decay(weights.a, N)[..., None] * weights.Theta  # (seeds, f, 2f)
    return weights.beta[:, None, None] * weights.Psi.mT @ decayed


def one_layer(weights: LayerND, N: int) -> dict[str, Tensor]:
    """Q / Q[1, 0], q / q[2], and the rate: beta Q[1, 0] q[2] times the mean decays, in the shape of
    a."""
    Q, q = weights.Q[:, 1, 0], weights.q[:, 2]
    rate = (weights.beta * Q * q)[:, None, None] * mean_decay(weights.a, N)
    return {"Q": weights.Q / Q[:, None, None], "q": weights.q / q[:, None], "rate": rate}


def shared_as(constructed: Model, trained: Model, N: int) -> Model:
    """A construction of two layers that acts as before, and in which the first layer has the same
    share of A = b_1 Q_1 + b_2 Q_2 as in the trained model; any other as it is. Both in the units
    Q_1[1, 0] = q[2] = 1."""
    if (
        not isinstance(constructed, MultiLayer)
        or not isinstance(trained, MultiLayer)
        or constructed.layers != 2
    ):
        return constructed
    ours, theirs = two_layers(trained, N), two_layers(constructed, N)
    keep = [1 - each.b[:, 1] * N * each.penalty for each in (trained, constructed)]
    first = (
        keep[0] * trained.b[:, 0] * mean_decay(trained.a[:, 0], N).mean((-2, -1)) / ours["A"]
    )  # (1,), the share
    rate = first * theirs["A"] / keep[1]  # the new b_1
    second = (
        theirs["B"] / rate if constructed.penalty == 0 else constructed.b[:, 1]
    )  # a penalty fixes b_2
    inner = (1 - first) * theirs["A"] / second
    tilde = theirs["B"] / (rate * second)
    changed = (rate, second, inner, tilde)
    if not all(
        bool(each.isfinite().all()) for each in changed
    ):  # the trained first layer does nothing, or A is 0
        return constructed
    Q, Q_tilde = constructed.Q.clone(), constructed.Q_tilde.clone()
    Q[:, 1, 1, 0], Q_tilde[:, 0, 0, 0] = inner, tilde
    return constructed.with_(Q=Q, Q_tilde=Q_tilde, b=torch.stack((rate, second), 1))


def two_layers(weights: MultiLayer, N: int) -> dict[str, Tensor]:
    """S / S[1, 0], Q_1 / Q_1[1, 0], Q~_2 / Q~_2[0, 0], q / q[2] and (A, B) of the prediction A G
    x_q - B G S x_q.

    Rows with decays of their own are averaged; the penalty's shrinking of layer 1 counts to b_1
    Q_1.
    """
    if weights.layers != 2:
        raise ValueError(f"layers must be 2 for this comparison, got {weights.layers}")
    decay = mean_decay(weights.a, N).mean((-2, -1))  # (seeds, 2)
    decay_tilde = mean_decay(weights.a_tilde, N).mean((-2, -1))[:, 0]  # (seeds,)
    keep = 1 - weights.b[:, 1] * N * weights.penalty
    first, second = (weights.b[:, i] * decay[:, i] for i in range(2))
    S = (keep * first)[:, None, None] * weights.Q[:, 0] + second[:, None, None] * weights.Q[:, 1]
    Q_1, Q_tilde, q = weights.Q[:, 0], weights.Q_tilde[:, 0], weights.q
    both = first * Q_1[:, 1, 0] * weights.b[:, 1] * decay_tilde * Q_tilde[:, 0, 0]
    return {
        "S": S / S[:, 1:2, 0:1],
        "Q_1": Q_1 / Q_1[:, 1:2, 0:1],
        "Q_tilde": Q_tilde / Q_tilde[:, 0:1, 0:1],
        "q": q / q[:, 2:],
        "A": S[:, 1, 0] * q[:, 2],
        "B": both * q[:, 2],
    }
