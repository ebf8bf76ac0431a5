"""Several layers, a step of gradient descent each (Section 3.3, Appendix A.2), on the windows of
the N-D layer.

    Z^(l)  = sum_t a^(N-t) C_t Q_l C_t^T        first head of a layer: accumulates y x^T
    Z~^(l) = sum_t a~^(N-t) C_t Q~_l C_t^T      second head: accumulates x x^T
    M_l    = M_{l-1} - b_l (M_{l-1} Z~^(l) - Z^(l) + N penalty M_{l-1}),  M_0 = 0
    o      = M_L C_N q

M is W^T of the paper, which mixes the two; b = eta / N. The first layer has no second head, as M_0
= 0 hides it. The optional skip, which is ours, adds the last window's x and y, not the raw query,
which would cost sigma^2 / 2. `attention` applies the layers from the last to the first to the
vector C_N q and forms neither Z nor M. Scalar labels are read as [0, …, y] (Section 3.1), and
predicted by the output's last entry.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from icl_core.papers.gdssm.shared import layer_nd as nd
from icl_core.papers.gdssm.shared.layer_nd import Vectors, Windows
from icl_core.papers.gdssm.shared.settings import Config
from icl_core.papers.gdssm.shared.weights import decays, normal
from icl_core.training.weights import Weights


@dataclass(frozen=True, eq=False)
class MultiLayer(Weights):
    """All weights of L layers."""

    a: Tensor  # (seeds, L, 1, 1) or one a row, (seeds, L, f, 1)
    # (seeds, L - 1, 1, 1) or (seeds, L - 1, f, 1); entry l - 2 belongs to layer l, as in Q_tilde
    a_tilde: Tensor
    Q: Tensor  # (seeds, L, 3, 3)
    Q_tilde: Tensor  # (seeds, L - 1, 3, 3)
    q: Tensor  # (seeds, 3)
    b: Tensor  # (seeds, L)
    skip: Tensor | None = None  # (seeds, 2), of x_N and y_N
    penalty: float = 0.0  # lambda of lambda / 2 |M|^2; given, not learned
    runs: int = 1  # whose seeds stand one after the other
    labels: int = 0  # how many of the output's last entries are predicted; all if 0
    loops: int = 0  # the layers that share the weights of one; their axis then has one entry

    @property
    def layers(self) -> int:
        """The number of layers, looped or not."""
        return self.loops or self.Q.shape[1]

    def unrolled(self) -> "MultiLayer":
        """Return the same model with weights for every layer, also where these are shared."""
        if not self.loops:
            return self
        L = self.loops
        first = {name: self._repeated(name, L) for name in ("a", "Q", "b")}
        second = {name: self._repeated(name, L - 1) for name in ("a_tilde", "Q_tilde")}
        return replace(self, **first, **second, loops=0)

    def _repeated(self, name: str, count: int) -> Tensor:
        """Return a part of (seeds, 1, ...) or (seeds, count, ...) as (seeds, count, ...)."""
        tensor = getattr(self, name)
        return tensor.expand(len(tensor), count, *tensor.shape[2:])


def initialise(config: Config, generators: Sequence[torch.Generator]) -> MultiLayer:
    """Draw random weights, one model for every generator; every b starts at 1 / N. Float32, where
    the generators live."""
    rows = nd.decay_shape(config.f, config.recurrence)
    first = 1 if config.tied else config.layers  # of as many layers there are weights
    second = 1 if config.tied else config.layers - 1
    a = decays(generators, first, *rows)
    a_tilde = decays(generators, second, *rows)
    Q = normal(generators, first, 3, 3)
    Q_tilde = normal(generators, second, 3, 3)
    q = normal(generators, 3)
    b = q.new_full((len(generators), first), 1 / config.N)
    skip = normal(generators, 2) if config.skip else None
    loops = config.layers if config.tied else 0
    return MultiLayer(
        a, a_tilde, Q, Q_tilde, q, b, skip, config.penalty, labels=config.labels, loops=loops
    )


def recurrent(weights: MultiLayer, C: Windows) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return outputs (windows, seeds, f, tasks) after every window; the states Z of all layers, the
    states Z~ of all but the first, and the implicit models M_0..M_L, (layers, windows, seeds, f, f,
    tasks)."""
    weights = weights.unrolled()
    Z = torch.stack([nd.states(weights.a[:, i], weights.Q[:, i], C) for i in range(weights.layers)])
    tilde = [
        nd.states(weights.a_tilde[:, i], weights.Q_tilde[:, i], C)
        for i in range(weights.layers - 1)
    ]
    Z_tilde = torch.stack(tilde) if tilde else Z[:0]
    M = [torch.zeros_like(Z[0])]  # (windows, seeds, f, f, tasks)
    for i in range(weights.layers):
        gradient = -Z[i] + len(C) * weights.penalty * M[-1]
        if i > 0:
            gradient = gradient + torch.einsum("wsijt,wsjkt->wsikt", M[-1], Z_tilde[i - 1])
        M.append(M[-1] - weights.b[:, i, None, None, None] * gradient)
    outputs = (M[-1] * nd.read_all(C, weights.q)[:, :, None]).sum(3)
    if weights.skip is not None:
        outputs = outputs + nd.read_all(C, weights.skip)
    return outputs, Z, Z_tilde, torch.stack(M)


def attention(weights: MultiLayer, C: Windows) -> Vectors:
    """Return the last output: M_l u = M_{l-1} u' + b_l Z^(l) u with u' = (1 - b_l N penalty) u -
    b_l Z~^(l) u."""
    weights = weights.unrolled()
    u = nd.read(C, weights.q, weights.runs)
    scores = nd.scores_of_query(C, weights.q, weights.runs)
    output = torch.zeros_like(u) if weights.skip is None else nd.read(C, weights.skip, weights.runs)
    for i in reversed(range(weights.layers)):
        b = weights.b[:, i, None, None]
        output = output + b * nd.attend(C, scores, weights.a[:, i], weights.Q[:, i])
        if i > 0:
            towards = nd.attend(C, scores, weights.a_tilde[:, i - 1], weights.Q_tilde[:, i - 1])
            u = (1 - b * len(C) * weights.penalty) * u - b * towards
            scores = nd.scores(C, u)
    return output
