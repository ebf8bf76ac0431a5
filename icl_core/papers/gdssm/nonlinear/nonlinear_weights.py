"""The weights of the models of sines, as `nonlinear_model` uses them: what they are, and how they begin."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from icl_core.papers.gdssm.nonlinear.settings import Config, Variant
from icl_core.papers.gdssm.shared import construction
from icl_core.papers.gdssm.shared.weights import decays, normal
from icl_core.training.weights import Weights


@dataclass(frozen=True, eq=False)
class Model(Weights):
    """All weights; None for what a variant does not have."""

    W: Tensor  # (seeds, m, h), or (seeds, m, f) of a linear embedding
    c: Tensor  # (seeds, m)
    b: Tensor  # (seeds, L)
    a: Tensor  # (seeds, L, 1)
    a_tilde: Tensor  # (seeds, L - 1, 1)
    Q: Tensor  # (seeds, L, 3, 3)
    Q_tilde: Tensor  # (seeds, L - 1, 3, 3)
    q: Tensor  # (seeds, 3)
    W_1: Tensor | None = None  # (seeds, h, f)
    c_1: Tensor | None = None  # (seeds, h)
    G: Tensor | None = None  # (seeds, L, m, m)
    g: Tensor | None = None  # (seeds, L, m)
    k: Tensor | None = None  # (seeds, L)
    v: Tensor | None = None  # (seeds, m)
    r: Tensor | None = None  # (seeds, m)
    S_1: Tensor | None = None  # (seeds, h, m)
    s_1: Tensor | None = None  # (seeds, h)
    S_2: Tensor | None = None  # (seeds, m, h)
    s_2: Tensor | None = None  # (seeds, m)


OPEN = 2.0  # g at first: gates that begin half shut, at 0, spoil what several layers add up
RECURRENT = ("a", "a_tilde", "Q", "Q_tilde", "q")  # what the construction gives


def frozen(config: Config, variant: Variant) -> tuple[str, ...]:
    """The weights that are not trained; a single layer has no second head."""
    if config.ssm == "construction" or variant.state:
        return RECURRENT
    return ("a_tilde", "Q_tilde") if config.layers == 1 else ()


def initial(config: Config, variant: Variant, seeds: Sequence[int]) -> Model:
    """The weights before training, on the CPU; a seed's are the same whatever else trains beside it."""
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]
    m, h, L = config.features, config.hidden, config.layers

    def near_first() -> Tensor:  # e_1, and a little of all
        return normal(generators, m) + torch.eye(m)[0]

    # |phi|^2 is about 1, so that steps of rate 1 do not go astray; 3 wakes layers whose random Q and q are small
    square, constructed = (2 / h if variant.mlp else 0.1) / m, frozen(config, variant) == RECURRENT
    W = normal(generators, m, h if variant.mlp else 1, std=math.sqrt(square if constructed else 3 * square))
    rates = W.new_full((len(seeds), L), 1 / config.N)
    made = Model(W, normal(generators, m), rates, *_layers(generators, L, constructed))
    if variant.mlp:
        made = made.with_(W_1=normal(generators, h, 1, std=1.0), c_1=normal(generators, h, std=2.0))
    if variant.gate:
        G, g = normal(generators, L, m, m, std=0.3), torch.full((len(seeds), L, m), OPEN)
        made = made.with_(G=G, g=g, k=torch.zeros_like(rates), v=near_first(), r=near_first())
    if variant.state:
        S_1, S_2 = normal(generators, h, m, std=1 / math.sqrt(m)), normal(generators, m, h, std=1 / math.sqrt(h))
        made = made.with_(S_1=S_1, s_1=normal(generators, h), S_2=S_2, s_2=normal(generators, m))
    return made


def _layers(generators: Sequence[torch.Generator], L: int, constructed: bool) -> tuple[Tensor, ...]:
    """a, a_tilde, Q, Q_tilde and q."""
    if not constructed:
        Q, Q_tilde = normal(generators, L, 3, 3), normal(generators, L - 1, 3, 3)
        return decays(generators, L, 1), decays(generators, L - 1, 1), Q, Q_tilde, normal(generators, 3)
    ones = torch.ones(len(generators), L, 1)
    G, S = construction.unit(1, 0), construction.unit(0, 0)
    Q, Q_tilde = (each.expand(len(ones), count, 3, 3).clone() for each, count in ((G, L), (S, L - 1)))
    return ones, ones[:, 1:].clone(), Q, Q_tilde, torch.tensor([[0.0, 0.0, 1.0]]).repeat(len(ones), 1)
