"""An embedding of x, GD-SSM layers on features and scalar labels, and the weighted sigmoid gated
unit; its weights before training, and which of them training leaves as they are.

    phi_n = W x_n + c, or W tanh(W_1 x_n + c_1) + c              the embedding, linear or an MLP
    C_t = [phi_t, v y_t, phi_{t+1}]                              windows; v lays the label among the
                                                                 features
    M_l u = M_{l-1} (u - b_l Z~^(l) u) + b_l Z^(l) u,  M_0 = 0   the layers of `multi_layer`
    o_l = o_{l-1} + (M_l - M_{l-1}) C_N q                        what l layers put out,
                                                                 o_L = M_L C_N q
    o_l <- o_l' * sigmoid(G_l o_l' + g_l),  o_l' = o_l + k_l phi_q
                                                                 the gated unit after each layer
                                                                 (Appendix A.7)
    prediction = r^T o_L                                         without gate r = v = e_1

The paper leaves open what the gate reads. Here it is the layer's output with the query's features
beside it, as the skip connection of the authors' code brings them: given the output alone, which is
a number times v, no gate helps. Appendix A.3 has something else, an MLP on the state, f(M_L)^T
phi_q: `S_1`, `S_2`.

Tasks are the last axis, seeds the first. Windows are never formed: a feature is multiplied once for
both its places.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import pad

from icl_core.papers.gdssm.nonlinear.settings import Config, Variant
from icl_core.papers.gdssm.shared import construction
from icl_core.papers.gdssm.shared.task import Tasks
from icl_core.papers.gdssm.shared.weights import decays, normal, powers
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


Phi = Float[Tensor, "seeds m tokens tasks"]
Vector = Float[Tensor, "seeds m tasks"]


def forward(weights: Model, tasks: Tasks) -> Float[Tensor, "seeds tasks"]:
    """Return the prediction of the query's label."""
    phi = embed(weights, tasks.x)
    y = tasks.y[:-1, 0]
    if weights.S_1 is not None:
        return (bent_state(weights, implicit_model(weights, phi, y)) * phi[:, :, -1]).sum(1)
    first = torch.eye(phi.shape[1], dtype=phi.dtype, device=phi.device)[0].expand(len(phi), -1)
    v = first if weights.v is None else weights.v
    r = first if weights.r is None else weights.r
    known = phi, y, v
    u = _read(known, weights.q)
    before = torch.zeros_like(u)
    output = torch.zeros_like(u)
    for layer in range(weights.Q.shape[1]):
        after = apply(weights, layer, known, u)
        output = output + after - before
        if weights.G is not None:
            output = gated(weights, layer, output, phi[:, :, -1])
        before = after
    return (r[:, :, None] * output).sum(1)


def embed(weights: Model, x: Float[Tensor, "tokens f tasks"]) -> Phi:
    """Return the features of every x."""
    flat = x.transpose(0, 1).flatten(1)  # (f, tokens tasks)
    if weights.W_1 is not None and weights.c_1 is not None:
        flat = torch.tanh(weights.W_1 @ flat + weights.c_1[:, :, None])  # (seeds, h, tokens tasks)
    return (weights.W @ flat + weights.c[:, :, None]).unflatten(-1, (len(x), x.shape[-1]))


def gated(weights: Model, layer: int, output: Vector, query: Vector) -> Vector:
    """Return x * sigmoid (G x + g) of the layer's output x, with the query's features added."""
    parts = (weights.G, weights.g, weights.k)
    G, g, k = (part[:, layer] for part in parts)  # type: ignore[index]
    x = output + k[:, None, None] * query
    return x * torch.sigmoid(G @ x + g[:, :, None])


# the features, the labels (N, tasks), and where labels lie, (seeds, m)
Known = tuple[Tensor, Tensor, Tensor]


def apply(weights: Model, layer: int, known: Known, u: Vector) -> Vector:
    """Return M_l u, l = layer + 1."""
    b = weights.b[:, layer, None, None]
    output = b * attend(known, weights.a[:, layer], weights.Q[:, layer], u)
    if layer == 0:
        return output
    towards = attend(known, weights.a_tilde[:, layer - 1], weights.Q_tilde[:, layer - 1], u)
    return output + apply(weights, layer - 1, known, u - b * towards)


def attend(
    known: Known, a: Float[Tensor, "seeds 1"], Q: Float[Tensor, "seeds 3 3"], u: Vector
) -> Vector:
    """Return sum_t a^(N-t) C_t Q C_t^T u, as `layer_nd.attend` has it, with windows that differ
    from seed to seed."""
    phi, y, v = known
    along = (phi * u[:, :, None]).sum(1)  # (seeds, tokens, tasks)
    label = (v[:, :, None] * u).sum(1, keepdim=True) * y  # (seeds, N, tasks)
    scores = torch.stack((along[:, :-1], label, along[:, 1:]), 1)  # C_t^T u: (seeds, 3, N, tasks)
    mixed = (Q @ scores.flatten(2)).view(scores.shape) * powers(a, len(y))[:, None]
    # a token stands first in one window and last in the one before: (seeds, tokens, tasks)
    of_tokens = pad(mixed[:, 0], (0, 0, 0, 1)) + pad(mixed[:, 2], (0, 0, 1, 0))
    of_features = (phi * of_tokens[:, None]).sum(2)  # (seeds, m, tasks)
    return of_features + v[:, :, None] * (y * mixed[:, 1]).sum(1, keepdim=True)


def _read(known: Known, q: Float[Tensor, "seeds 3"]) -> Vector:
    """Return C_N q."""
    phi, y, v = known
    before, label, query = q[:, :, None, None].unbind(1)
    return before * phi[:, :, -2] + label * v[:, :, None] * y[-1] + query * phi[:, :, -1]


def implicit_model(weights: Model, phi: Phi, y: Float[Tensor, "N tasks"]) -> Vector:
    """Return the row M_L of the construction itself: M_l = M_{l-1} - b_l (M_{l-1} S - G)."""
    x = phi[:, :, :-1]
    M = torch.zeros_like(phi[:, :, 0])
    for b in weights.b.unbind(1):
        misses = y - (M[:, :, None] * x).sum(1)  # (seeds, N, tasks)
        M = M + b[:, None, None] * (x * misses[:, None]).sum(2)
    return M


def bent_state(weights: Model, M: Vector) -> Vector:
    """Return what the MLP, f of A.3, makes of the state."""
    S_1, s_1, S_2, s_2 = (getattr(weights, name) for name in ("S_1", "s_1", "S_2", "s_2"))
    return S_2 @ torch.tanh(S_1 @ M + s_1[:, :, None]) + s_2[:, :, None]


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
