"""Linear transformers with and without a memory as learners of linear regression beside those of
other papers.

Both take steps on the loss of the prompt, w_{l+1} = w_l − ∑_j Γ_j^l A_j ∇R(w_j) with ∇R(w) =
S w − b (eq. 1.1, Theorem 3.2); without a memory Γ is the identity.
"""

from collections.abc import Callable
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor

from icl_core.contract.trained_learner import TrainedLearner, Weights
from icl_core.in_context_regression.untrained import sums

LAYERS = 4
FIRST = 0.3  # of a layer's A, times I, before training
SPREAD = 0.02  # of what is added to it


def initial(d: int, n: int, seed: int, remembers: bool) -> Weights:
    """Return A [L, d, d] near a small multiple of I, and for a memory Γ [L, L], the identity."""
    generator = torch.Generator().manual_seed(seed)
    noise = torch.randn(LAYERS, d, d, generator=generator)
    A = FIRST * torch.eye(d) + SPREAD * noise
    return {"A": A, "Gamma": torch.eye(LAYERS)} if remembers else {"A": A}


def weights(
    model: Weights,
    d: int,
    n: int,
    x: Float[Tensor, "pairs d prompts"],
    y: Float[Tensor, "pairs prompts"],
) -> Float[Tensor, "d prompts"]:
    """Return w after the last layer; by operations that automatic differentiation follows, which
    the faster form of `shared.first_order` is not."""
    A = model["A"]
    Gamma = model.get("Gamma")
    sum_of_products, sum_of_labels = sums(x, y[:, None], n, every=False)
    S = sum_of_products[0]  # [d, d, prompts]
    b = sum_of_labels[0, 0]  # [d, prompts]
    w = torch.zeros_like(b)
    pulls: list[Tensor] = []  # A_j ∇R(w_j) of every layer so far
    for layer, A_l in enumerate(A):
        gradient = (S * w[None]).sum(1) - b
        pulls.append(A_l @ gradient)
        if Gamma is None:
            w = w - pulls[-1]
        else:
            w = w - torch.einsum("j,jip->ip", Gamma[layer, : layer + 1], torch.stack(pulls))
    return w


def predict(model: Weights, d: int, n: int, x: Tensor, y: Tensor, query: Tensor) -> Tensor:
    """Return ⟨w, query⟩ of every prompt."""
    return (weights(model, d, n, x, y) * query).sum(0)


def _learner(id: str, remembers: bool, rule: str, **words: str) -> TrainedLearner:
    start: Callable[[int, int, int], Weights] = partial(initial, remembers=remembers)
    return TrainedLearner(
        id=id,
        initial=start,
        predict=predict,
        weights=weights,
        width=lambda d, n: d,
        learning_rate=0.02,
        construction=(rule, LAYERS),
        **words,
    )


LEARNERS = (
    _learner(
        "linear-steps",
        False,
        "gd-sigma",
        name="linear transformer, four layers, steps alone",
        short="linear steps",
        kind="layer 7",
        dash="solid",
        symbol="circle",
        about="Every layer of linear attention takes a step with a matrix of its own.",
        constructed_by="Memformers, eq. 1.1 with A = η Σ⁻¹",
    ),
    _learner(
        "memformer",
        True,
        "momentum",
        name="Memformer, four layers",
        short="Memformer",
        kind="layer 8",
        dash="solid",
        symbol="square",
        about="Every layer also uses the gradients of all layers before it, by a triangle Γ.",
        constructed_by="Memformers, Theorem 3.2 with A = η I and Γ of the heavy ball",
    ),
)
