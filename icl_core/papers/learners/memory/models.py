"""Linear attention on the pairs of a prompt, as the weights ŵ that each layer holds implicitly.

A token is e = (x, y), the query's is (x, 0). Attention without a softmax, with diagonal matrices
and as many heads as it takes, adds to every token

    x ← x + w_xx S x + w_xy b y
    y ← y + w_yx ⟨b, x⟩ + w_yy c y,    S = 1/n ∑ x xᵀ, b = 1/n ∑ y x, c = 1/n ∑ y²,

the sums over the tokens of the prompt as they are before the layer (Vladymyrov et al. 2024, arXiv
2402.14180). So each layer multiplies every token by one matrix I + W ∘ G, where G = 1/n ∑ e eᵀ
holds S, b and c, and W the four coefficients. After some layers the tokens are T e, the query's
label is linear in x, and ŵ is minus the last row of T without its last entry. With w_yx alone a
layer is one step of gradient descent.

The Memformer leaves x as it is, and steps along all gradients so far,

    ŵ_{l+1} = ŵ_l + ∑_{j ≤ l} Γ_lj (b − S ŵ_j)

(Memformers, Theorem 3.2, where Σ = I).

Rows are models with coefficients of their own; prompts are the last axis.
"""

import torch
from jaxtyping import Float
from torch import Tensor

COEFFICIENTS = ("w_xx", "w_xy", "w_yx", "w_yy")
# Which of the coefficients a variant has.
VARIANTS = {
    "all": (1, 1, 1, 1),
    "without yy": (1, 1, 1, 0),
    "without xy": (1, 0, 1, 1),
    "xx alone": (1, 0, 1, 0),
}
STEPS = "steps"  # Γ is diagonal
MEMFORMER = "memformer"  # Γ is a full triangle

Grams = Float[Tensor, "D D prompts"]
Iterates = Float[Tensor, "layers d rows prompts"]


def gram(x: Float[Tensor, "n d prompts"], y: Float[Tensor, "n prompts"]) -> Grams:
    """Return G = 1/n ∑ e eᵀ of every prompt, D = d + 1."""
    tokens = torch.cat([x, y[:, None]], 1)  # [n, D, prompts]
    return (tokens[:, :, None] * tokens[:, None]).sum(0) / len(x)


def iterates(coefficients: Float[Tensor, "rows layers 4"], G: Grams) -> Iterates:
    """Return ŵ after every layer."""
    size = len(G)
    one = torch.eye(size, dtype=G.dtype, device=G.device)[:, :, None, None]  # [D, D, 1, 1]
    W = _blocks(coefficients, size)  # [layers, D, D, rows, 1]
    now = G[:, :, None]  # [D, D, 1, prompts], G of the tokens as they are
    T = one
    weights: list[Tensor] = []
    for layer, W_l in enumerate(W):
        update = one + W_l * now  # [D, D, rows, prompts]
        T = _product(update, T)
        weights.append(-T[-1, :-1])  # [d, rows, prompts]
        if layer < len(W) - 1:
            now = _product(_product(update, now), update.transpose(0, 1))
    return torch.stack(weights)


def memformer_iterates(Gamma: Float[Tensor, "rows layers layers"], G: Grams) -> Iterates:
    """Return ŵ after every layer of a Memformer; of Γ only the lower triangle is used."""
    S = G[:-1, :-1, None]  # [d, d, 1, prompts]
    b = G[:-1, -1:]  # [d, 1, prompts]
    w = torch.zeros_like(b)
    weights: list[Tensor] = []
    pulls: list[Tensor] = []  # b − S ŵ of every layer so far, [d, rows, prompts]
    for layer in range(Gamma.shape[1]):
        pulls.append(b - (S * w[None]).sum(1))
        for before, pull in enumerate(pulls):
            w = w + Gamma[:, layer, before, None] * pull
        weights.append(w)
    return torch.stack(weights)


def decoded(steps: Float[Tensor, "layers d prompts"], G: Grams) -> tuple[Tensor, Tensor]:
    """Return the triangle Γ [layers, layers] of the Memformer that comes nearest to a model on
    these prompts, given the model's own ŵ after every layer, and the share of each layer's step
    that it explains [layers].

    Each step ŵ_{l+1} − ŵ_l is fitted by least squares to the gradients at the model's own weights
    ŵ_0 … ŵ_l, with the same coefficients for all prompts.
    """
    S = G[:-1, :-1]
    b = G[:-1, -1]
    layers = len(steps)
    Gamma = steps.new_zeros(layers, layers)
    explained = steps.new_zeros(layers)
    w = torch.zeros_like(b)
    pulls: list[Tensor] = []
    for layer, following in enumerate(steps):
        pulls.append(b - (S * w[None]).sum(1))
        columns = torch.stack([pull.flatten() for pull in pulls], 1)  # [d prompts, l + 1]
        step = (following - w).flatten()
        fitted = torch.linalg.lstsq(columns, step[:, None]).solution[:, 0]
        Gamma[layer, : layer + 1] = fitted
        explained[layer] = 1 - (step - columns @ fitted).square().sum() / step.square().sum()
        w = following
    return Gamma, explained


def _blocks(coefficients: Float[Tensor, "rows layers 4"], size: int) -> Tensor:
    """Return W, the coefficient of each entry of G, [layers, D, D, rows, 1]."""
    place = torch.zeros(4, size, size, dtype=coefficients.dtype, device=coefficients.device)
    place[0, :-1, :-1] = 1
    place[1, :-1, -1] = 1
    place[2, -1, :-1] = 1
    place[3, -1, -1] = 1
    return torch.einsum("rlc,cij->lijr", coefficients, place)[..., None]


def _product(first: Tensor, second: Tensor) -> Tensor:
    """Return the product of matrices [D, D, …] for all further axes, which broadcast."""
    return (first[:, :, None] * second[None]).sum(1)
