"""The weights of a model of sines before training, and which of them training leaves as
they are."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from icl_core.papers.gdssm.nonlinear.model import Model
from icl_core.papers.gdssm.nonlinear.settings import Config, Variant
from icl_core.papers.gdssm.shared import construction
from icl_core.papers.gdssm.shared.weights import decays, normal

OPEN = 2.0  # g at first: gates that begin half shut, at 0, spoil what several layers add up
RECURRENT = ("a", "a_tilde", "Q", "Q_tilde", "q")  # what the construction gives


def frozen(config: Config, variant: Variant) -> tuple[str, ...]:
    """Return the names of the weights that are not trained; a single layer has no second head."""
    if (variant.layers or config.ssm) == "construction":
        return RECURRENT
    return ("a_tilde", "Q_tilde") if config.layers == 1 else ()


def initial(config: Config, variant: Variant, seeds: Sequence[int]) -> Model:
    """Draw the weights before training, on the CPU; a seed's are the same whatever else trains
    beside it."""
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]
    m = config.features
    h = config.hidden
    L = config.layers
    # |phi|^2 is about 1, so that steps of rate 1 do not go astray; 3 wakes layers whose random Q
    # and q are small
    square = (2 / h if variant.mlp else 0.1) / m
    constructed = frozen(config, variant) == RECURRENT
    std = math.sqrt(square if constructed else 3 * square)
    W = normal(generators, m, h if variant.mlp else 1, std=std)
    rates = W.new_full((len(seeds), L), 1 / config.N)
    model = Model(W, normal(generators, m), rates, *_layers(generators, L, constructed))
    if variant.mlp:
        model = model.with_(
            W_1=normal(generators, h, 1, std=1.0), c_1=normal(generators, h, std=2.0)
        )
    if variant.gate:
        G = normal(generators, L, m, m, std=0.3)
        first = torch.eye(m)[0]
        model = model.with_(G=G, g=torch.full((len(seeds), L, m), OPEN), k=torch.zeros_like(rates))
        model = model.with_(v=normal(generators, m) + first, r=normal(generators, m) + first)
    if variant.state:
        S_1 = normal(generators, h, m, std=1 / math.sqrt(m))
        S_2 = normal(generators, m, h, std=1 / math.sqrt(h))
        model = model.with_(S_1=S_1, s_1=normal(generators, h), S_2=S_2, s_2=normal(generators, m))
    return model


def _layers(generators: Sequence[torch.Generator], L: int, constructed: bool) -> tuple[Tensor, ...]:
    """Return a, a_tilde, Q, Q_tilde and q: the construction's, or random ones."""
    if constructed:
        layers = construction.multi_layer(1, 1, [1.0] * L)
        parts = layers.a[..., 0], layers.a_tilde[..., 0], layers.Q, layers.Q_tilde, layers.q
        return tuple(torch.cat([part] * len(generators)) for part in parts)
    Q = normal(generators, L, 3, 3)
    Q_tilde = normal(generators, L - 1, 3, 3)
    return decays(generators, L, 1), decays(generators, L - 1, 1), Q, Q_tilde, normal(generators, 3)
