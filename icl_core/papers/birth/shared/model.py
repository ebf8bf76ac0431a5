"""The simplified two-layer transformer of Section 4.2, in full: one head a layer, W_Q = I, linear
feed-forward.

    x_t = w_E(z_t) + p_t
    h_t = x_t + R1 sum_s A1[t, s] x_s          A1 = softmax(x_t^T W_K1 x_s / sqrt d) over s <= t,
                                               R1 = W_O1 W_V1
    g_t = h_t + W_O2 V2 sum_s A2[t, s] h_s     A2 = softmax(h_t^T W_K2 h_s / sqrt d) over s <= t,
                                               V2 = W_V2
    logits_t = W_U (g_t + W_F g_t)

This is the readable form and the oracle of `gradient.py`, which trains the same model several times
faster.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from icl_core.training.weights import Weights as NamedWeights

TRAINED = ("W_K1", "W_K2", "W_O2", "W_F")


@dataclass(frozen=True, eq=False)
class Weights(NamedWeights):
    """All matrices. Embeddings are rows; matrices act on columns, so a row x becomes x W^T.

    W_E, P, W_U, R1 and V2 are frozen.
    """

    W_E: Float[Tensor, "N d"]
    P: Float[Tensor, "T d"]
    W_U: Float[Tensor, "N d"]
    R1: Float[Tensor, "d d"]  # W_O1 W_V1: what layer 1 makes of the token it attends to
    V2: Float[Tensor, "d d"]
    W_K1: Float[Tensor, "d d"]  # score of query x_t and key x_s: x_t^T W_K1 x_s
    W_K2: Float[Tensor, "d d"]
    W_O2: Float[Tensor, "d d"]
    W_F: Float[Tensor, "d d"] | None = None  # None: no feed-forward layer

    @property
    def d(self) -> int:
        """Return the width."""
        return self.W_E.shape[1]

    def __getitem__(self, name: str) -> Tensor:
        """Return a matrix by name."""
        return self.tensors()[name]

    def trained(self) -> dict[str, Tensor]:
        """Return the matrices that training may change, by name."""
        return {name: tensor for name, tensor in self.tensors().items() if name in TRAINED}


def initialise(
    N: int,
    d: int,
    T: int,
    generator: torch.Generator,
    scale: str = "paper",
    with_F: bool = True,
    embeddings: str = "random",
) -> Weights:
    """Return random weights, float32, on the generator's device.

    scale       "paper": every entry of every matrix is N(0, 1/d) (Section 4.1), also of W_U.
                "code": the authors' defaults, W_E and P are N(0, 1), W_U and the layers' matrices
                uniform on +-1/sqrt d
    with_F      whether there is a feed-forward layer
    embeddings  "random": of that scale. "orthonormal": the rows of W_E, P and W_U are orthonormal
                together, which needs d >= 2 N + T

    Raises `ValueError` for other words, and where orthonormal rows do not fit.
    """
    if scale not in ("paper", "code"):
        raise ValueError(f"scale must be paper or code, got {scale!r}")
    if embeddings not in ("random", "orthonormal"):
        raise ValueError(f"embeddings must be random or orthonormal, got {embeddings!r}")

    def normal(rows: int, std: float) -> Float[Tensor, "rows d"]:
        return std * torch.randn(rows, d, generator=generator, device=generator.device)

    def layer(rows: int) -> Float[Tensor, "rows d"]:
        if scale == "paper":
            return normal(rows, d**-0.5)
        return (2 * torch.rand(rows, d, generator=generator, device=generator.device) - 1) * d**-0.5

    if embeddings == "orthonormal":
        W_E, P, W_U = _orthonormal(N, d, T, generator)
    else:
        std = d**-0.5 if scale == "paper" else 1.0
        W_E = normal(N, std)
        P = normal(T, std)
        W_U = layer(N)
    R1 = layer(d) @ layer(d)
    V2 = layer(d)
    W_K1 = layer(d)
    W_K2 = layer(d)
    W_O2 = layer(d)
    W_F = layer(d) if with_F else None
    return Weights(W_E, P, W_U, R1, V2, W_K1, W_K2, W_O2, W_F)


def _orthonormal(
    N: int, d: int, T: int, generator: torch.Generator
) -> tuple[Float[Tensor, "N d"], Float[Tensor, "T d"], Float[Tensor, "N d"]]:
    """Return W_E, P and W_U, whose rows are orthonormal together."""
    if d < 2 * N + T:
        raise ValueError(
            f"d must be at least 2 N + T = {2 * N + T} for orthonormal embeddings, got {d}"
        )
    gaussian = torch.randn(d, 2 * N + T, generator=generator, device=generator.device)
    rows = torch.linalg.qr(gaussian).Q.T.contiguous()  # (2 N + T, d)
    return rows[:N].clone(), rows[N : N + T].clone(), rows[N + T :].clone()


def attend(
    x: Float[Tensor, "batch T d"], W_K: Float[Tensor, "d d"]
) -> tuple[Float[Tensor, "batch T d"], Float[Tensor, "batch T T"]]:
    """Return the attended mixture of the x_s and the map of one causal attention head with W_Q = I
    and no values."""
    T, d = x.shape[-2:]
    scores = x @ W_K @ x.mT / math.sqrt(d)  # (batch, T, T), queries are rows
    future = torch.ones(T, T, dtype=torch.bool, device=x.device).triu(1)
    attention = scores.masked_fill(future, -torch.inf).softmax(-1)
    return attention @ x, attention


def forward(
    weights: Weights, tokens: Int[Tensor, "batch T"], layers: int = 2
) -> tuple[
    Float[Tensor, "batch T N"], Float[Tensor, "batch T T"] | None, Float[Tensor, "batch T T"]
]:
    """Return the logits of the next token at every position, and both attention maps, whose rows
    are queries.

    `layers` = 1 leaves out layer 1, so that h = x: this is the baseline that cannot solve the task,
    and the map of layer 1 is None. The sequences may be shorter than the T positions that the
    weights hold.
    """
    x = weights.W_E[tokens] + weights.P[: tokens.shape[1]]  # (batch, T, d)
    h = x
    attention1 = None
    if layers == 2:
        mixed, attention1 = attend(x, weights.W_K1)  # (batch, T, d), (batch, T, T)
        h = x + mixed @ weights.R1.T
    mixed, attention2 = attend(h, weights.W_K2)  # (batch, T, d), (batch, T, T)
    g = h + mixed @ weights.V2.T @ weights.W_O2.T
    if weights.W_F is not None:
        g = g + g @ weights.W_F.T
    return g @ weights.W_U.T, attention1, attention2  # logits (batch, T, N)
