"""The N-D layer on the plain sequence x_1, y_1, x_2, y_2, … (Section 3.2, Appendix A.1), vector
labels.

    Z_t = A * Z_{t-1} + C_t Q C_t^T       C_t = [x_t, y_t, x_{t+1}],  A one number, one a row, or
                                          one an entry
    o_t = beta Z_t C_t q + C_t skip       the prediction of y_{t+1}

q is what Figure 3 C shows as skip weights: the authors' D, a vector of 3 that reads the window. The
skip here is ours and optional.

`recurrent` runs over the windows and shows every state; `attention` gives the last output without
forming a state, beta sum_t a^(N-t) C_t Q (C_t^T C_N q), and is what trains. Tasks are the last
axis, seeds the first of every weight.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

import torch
from jaxtyping import Float
from torch import Tensor

from icl_core.papers.gdssm.shared.settings import Config
from icl_core.papers.gdssm.shared.weights import decays, normal, powers
from icl_core.training.weights import Weights

Windows = Float[Tensor, "windows 3 f tasks"]  # C_t, every t
Vectors = Float[Tensor, "seeds f tasks"]
Scores = Float[Tensor, "seeds 3 windows tasks"]  # C_t^T u of a vector u


@dataclass(frozen=True, eq=False)
class LayerND(Weights):
    """All weights of the layer. a's shape says which recurrence it is; it is broadcast against the
    state."""

    a: Tensor  # (seeds, 1, 1) one number, (seeds, f, 1) one a row, (seeds, f, f) one an entry
    Q: Tensor  # (seeds, 3, 3)
    q: Tensor  # (seeds, 3)
    beta: Tensor  # (seeds,)
    skip: Tensor | None = None  # (seeds, 3)
    runs: int = 1  # whose seeds stand one after the other
    labels: int = 0  # how many of the output's last entries are predicted; all if 0


def decay_shape(f: int, recurrence: str) -> tuple[int, int]:
    """Return the shape of what a state of f x f is multiplied with, entry by entry: one number, one
    a row or one an entry."""
    return {"scalar": (1, 1), "row": (f, 1), "full": (f, f)}[recurrence]


def initialise(config: Config, generators: Sequence[torch.Generator]) -> LayerND:
    """Draw random weights, one model for every generator; beta starts at 1 / N. Float32, where the
    generators live."""
    a = decays(generators, *decay_shape(config.f, config.recurrence))
    Q = normal(generators, 3, 3)
    q = normal(generators, 3)
    beta = q.new_full((len(generators),), 1 / config.N)
    skip = normal(generators, 3) if config.skip else None
    return LayerND(a, Q, q, beta, skip, labels=config.labels)


def states(a: Tensor, Q: Tensor, C: Windows) -> Float[Tensor, "windows seeds f f tasks"]:
    """Return Z_t after every window, from Z_0 = 0."""
    f, tasks = C.shape[2:]
    Z = C.new_zeros(len(Q), f, f, tasks)
    history = []
    for window in C:  # (3, f, tasks)
        left = torch.einsum("kit,skl->slit", window, Q)  # C Q: (seeds, 3, f, tasks)
        added = sum(left[:, k, :, None] * window[k] for k in range(3))  # (seeds, f, f, tasks)
        Z = a[..., None] * Z + added
        history.append(Z)
    return torch.stack(history)


def recurrent(weights: LayerND, C: Windows) -> tuple[Tensor, Tensor]:
    """Return outputs (windows, seeds, f, tasks) and states (windows, seeds, f, f, tasks) after
    every window."""
    Z = states(weights.a, weights.Q, C)
    outputs = weights.beta[:, None, None] * (Z * read_all(C, weights.q)[:, :, None]).sum(3)
    return (outputs if weights.skip is None else outputs + read_all(C, weights.skip)), Z


def attention(weights: LayerND, C: Windows) -> Vectors:
    """Return the last output, by linear attention."""
    if weights.a.shape[2] == 1:
        applied = attend(C, scores_of_query(C, weights.q, weights.runs), weights.a, weights.Q)
    else:
        applied = attend_by_entry(C, read(C, weights.q, weights.runs), weights.a, weights.Q)
    output = weights.beta[:, None, None] * applied
    return output if weights.skip is None else output + read(C, weights.skip, weights.runs)


def sensitivity(weights: LayerND, C: Windows) -> Float[Tensor, "seeds f f tasks"]:
    """Return the derivative of the last output by the query x_{N+1}, which is in the last window
    alone: beta (q_3 Z_N + (Q C_N^T u)_3 I + (C_N Q)_3 u^T) + skip_3 I with u = C_N q.

    Seeds are multiplied entry by entry: no digit of one depends on how many others there are.
    """
    u = read(C, weights.q, weights.runs)
    Q = weights.Q[..., None, None]  # (seeds, 3, 3, 1, 1)
    left = [_sum(Q[:, k, j, None] * C[:, k] for k in range(3)) for j in range(3)]  # C Q
    seeds, f, tasks = u.shape
    Z = C.new_zeros(seeds, f, f, tasks)
    for t, window in enumerate(C):
        Z = weights.a[..., None] * Z
        for j in range(3):
            Z.addcmul_(left[j][:, t, :, None], window[j])
    scores = [(C[-1, k] * u).sum(1, keepdim=True) for k in range(3)]  # (seeds, 1, tasks) each
    beta = weights.beta[:, None, None]
    diagonal = beta * _sum(Q[:, 2, k] * scores[k] for k in range(3))
    if weights.skip is not None:
        diagonal = diagonal + weights.skip[:, 2:, None]
    moved = weights.q[:, 2, None, None, None] * Z + left[2][:, -1, :, None] * u[:, None]
    derivative = beta[..., None] * moved
    derivative.diagonal(dim1=1, dim2=2).add_(diagonal.mT)  # a view, (seeds, tasks, f)
    return derivative


def _sum(parts: Iterable[Tensor]) -> Tensor:
    """Return the sum of some tensors, added up in their order."""
    return reduce(torch.add, parts)


def read_all(C: Windows, q: Float[Tensor, "seeds k"]) -> Float[Tensor, "windows seeds f tasks"]:
    """Return C_t q: what every window gives to its k first weights."""
    return torch.einsum("wkit,sk->wsit", C[:, : q.shape[1]], q)


def read(C: Windows, q: Float[Tensor, "seeds k"], runs: int = 1) -> Vectors:
    """Return C_N q: what the last window gives to its k first weights."""
    return _on_all(q, C[-1, : q.shape[1]].flatten(1), runs).unflatten(1, C.shape[2:])


def _on_all(q: Float[Tensor, "seeds k"], tokens: Tensor, runs: int) -> Tensor:
    """Return q times what all seeds read, (k, …). The seeds of each run by themselves: how a
    product's gradient is added up depends on its size, and no digit of a run shall depend on its
    company."""
    if runs == 1:
        return q @ tokens
    return torch.bmm(q.view(runs, -1, q.shape[1]), tokens.expand(runs, *tokens.shape)).flatten(0, 1)


def scores_of_query(C: Windows, q: Float[Tensor, "seeds 3"], runs: int = 1) -> Scores:
    """Return C_t^T C_N q. The products of tokens are the same for all seeds: seeds after the first
    cost little."""
    last = C[-1]  # (3, f, tasks)
    # (3 of the query, 3, windows, tasks)
    products = last[:, None, None, 0] * C[:, :, 0].movedim(1, 0)
    for j in range(1, C.shape[2]):
        products = products.addcmul_(last[:, None, None, j], C[:, :, j].movedim(1, 0))
    return _on_all(q, products.flatten(1), runs).view(len(q), *products.shape[1:])


def scores(C: Windows, u: Vectors) -> Scores:
    """Return C_t^T u for any u."""
    return (C.transpose(0, 1) * u[:, None, None]).sum(3)


def attend(
    C: Windows, scores: Scores, a: Float[Tensor, "seeds rows 1"], Q: Float[Tensor, "seeds 3 3"]
) -> Vectors:
    """Return Z_N u from the scores C_t^T u: sum_t a^(N-t) C_t Q scores_t."""
    mixed = (Q @ scores.flatten(2)).view(scores.shape)  # (seeds, 3, windows, tasks)
    mixed = mixed[:, :, :, None]  # (seeds, 3, windows, 1, tasks)
    values = C[:, 0] * mixed[:, 0]  # (seeds, windows, f, tasks)
    for k in (1, 2):  # of all three at once most would leave the cache before they are added up
        values = values + C[:, k] * mixed[:, k]
    return (powers(a, len(C)) * values).sum(1)


def attend_by_entry(
    C: Windows, u: Vectors, a: Float[Tensor, "seeds f f"], Q: Float[Tensor, "seeds 3 3"]
) -> Vectors:
    """Return Z_N u where every entry of the state has its own decay: the scores then differ from
    row to row of the output."""
    seeds, f, tasks = u.shape
    weighted = C.transpose(1, 2) * u[:, None, :, None]  # (seeds, windows, f, 3, tasks)
    by_row = (powers(a, len(C)) @ weighted.flatten(3)).view(seeds, len(C), f, 3, tasks)
    left = torch.einsum("wkit,skl->swilt", C, Q)  # C Q: (seeds, windows, f, 3, tasks)
    return (left * by_row).sum((1, 3))
