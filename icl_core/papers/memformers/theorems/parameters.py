"""What each variant learns, counted on its parameter tensors and by a formula (Remark 3.3).

After the last layer only the query's label is read: what changes other tokens there, or their
covariates, changes nothing. Nor does Γ_j^l with j > l, or γ_0, which meets no register.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from icl_core.papers.memformers.shared import variants
from icl_core.papers.memformers.shared.settings import Model
from icl_core.papers.memformers.shared.token_form import forward
from icl_core.papers.memformers.shared.variants import VARIANTS, Parameters

SMALL = 0.1  # size of the random parameters
PROMPTS = 3  # on which a dependence is looked for


@dataclass(frozen=True)
class Count:
    """What a variant learns, in words, and how many numbers that is for a config."""

    learns: str
    formula: str
    number: Callable[[Any], int]


def _pairs(c: Any) -> int:
    return c.layers * (c.layers + 1) // 2


def _matrices(c: Any) -> int:
    return c.heads * c.layers * c.d**2


def _moving(c: Any) -> int:
    """Return how many numbers Aₗ, and every Bₗ but the last, have."""
    return (2 * c.layers - 1) * c.d**2


def _tokens(c: Any) -> int:
    """Return how many numbers Γ_j^l has with n + 1 a layer; in the last layer the query's alone."""
    return (c.n + 1) * c.layers * (c.layers - 1) // 2 + c.layers


def _older(c: Any) -> int:
    """Γ_j of all tokens for j < L − 2, which a layer before the last uses; of the last of them the
    query's."""
    return max(c.layers - 2, 0) * (c.n + 1) + (c.layers > 1)


def _entries(c: Any) -> int:
    """Return how many numbers Γ_j of all entries has: for j < L − 2, which a layer before the last
    uses; of the last of them the query's label."""
    return max(c.layers - 2, 0) * (c.d + 1) * (c.n + 1) + (c.layers > 1)


COUNTS = {
    "linear": Count("Aₗ", "H L d²", _matrices),
    "cgd": Count("Aₗ, αₗ, γₗ", "H L d² + 2L − 1", lambda c: _matrices(c) + 2 * c.layers - 1),
    "lfom": Count("Aₗ, Γ_j^l", "H L d² + L(L+1)/2", lambda c: _matrices(c) + _pairs(c)),
    "coordinate": Count(
        "Aₗ, Γ_j^l of d", "H L d² + d L(L+1)/2", lambda c: _matrices(c) + c.d * _pairs(c)
    ),
    "token": Count(
        "Aₗ, Γ_j^l of n + 1", "H L d² + (n+1) L(L−1)/2 + L", lambda c: _matrices(c) + _tokens(c)
    ),
    "token shared": Count(
        "Aₗ, Γ_j of n + 1",
        "H L d² + (n+1)(L−1) + 1",
        lambda c: _matrices(c) + (c.n + 1) * (c.layers - 1) + 1,
    ),
    "token older": Count(
        "Aₗ, Γ_j of n + 1, older layers",
        "H L d² + (n+1)(L−2) + 1",
        lambda c: _matrices(c) + _older(c),
    ),
    "shared": Count("Aₗ, Γ_j", "H L d² + L", lambda c: _matrices(c) + c.layers),
    "gd++": Count("Aₗ, Bₗ, Γ_j^l", "(2L−1) d² + L(L+1)/2", lambda c: _moving(c) + _pairs(c)),
    "gd++ plain": Count("Aₗ, Bₗ", "(2L−1) d²", _moving),
    "gd++ entry": Count(
        "Aₗ, Bₗ, Γ_j of (d+1)(n+1)",
        "(2L−1) d² + (L−2)(d+1)(n+1) + 1",
        lambda c: _moving(c) + _entries(c),
    ),
    "learned": Count("Λ_j^l of d", "d L(L+1)/2", lambda c: c.d * _pairs(c)),
    "learned shared": Count("Λ_j of d", "d L", lambda c: c.d * c.layers),
}


def as_written(c: Any) -> int:
    """Return the numbers in P_l, Q_l and Γ_l as Remark 3.3 lists them, none held fixed: L (2 (d+1)²
    + (d+1)(n+1))."""
    return c.layers * (2 * (c.d + 1) ** 2 + (c.d + 1) * (c.n + 1))


def conjugate(layers: int, batch: int) -> int:
    """Return what conjugate gradient computes for a batch: α and γ for every prompt and iteration,
    2 B L (Remark 3.3)."""
    return 2 * batch * layers


def overtaken(number: int, layers: int) -> int:
    """Return the smallest batch for which conjugate gradient uses more numbers than a model has."""
    return number // (2 * layers) + 1


def counted(config: Any) -> tuple[list[int], list[int]]:
    """Return for every variant the numbers in its tensors, and those of them that its prediction
    depends on."""
    stored = []
    used = []
    for name, variant in VARIANTS.items():
        heads = 1 if variant.moves_covariates or not variant.preconditioned else config.heads
        model = Model(variant=name, d=config.d, n=config.n, layers=config.layers, heads=heads)
        leaves = _random(model)
        stored.append(sum(each.numel() for each in leaves.values()))
        used.append(sum(int((each != 0).sum()) for each in _slopes(leaves, model)))
    return stored, used


def _random(model: Model) -> Parameters:
    """Return parameters of which none is zero, in double precision."""
    generator = torch.Generator().manual_seed(0)
    shapes = {name: each.shape for name, each in variants.initial(model, generator).items()}
    return {
        name: (
            SMALL * torch.randn(shape, generator=generator, dtype=torch.float64)
        ).requires_grad_()
        for name, shape in shapes.items()
    }


def _slopes(leaves: Parameters, model: Model) -> list[Tensor]:
    """Return the derivatives of a sum of predictions: exactly zero for what they do not depend
    on."""
    generator = torch.Generator().manual_seed(1)
    X = torch.randn(PROMPTS, model.d, model.n + 1, generator=generator, dtype=torch.float64)
    y = torch.randn(PROMPTS, model.n, generator=generator, dtype=torch.float64)
    root = torch.eye(model.d, dtype=torch.float64)[None]
    prediction = forward(leaves, model, root, X, y).predictions[-1].sum()
    return list(
        torch.autograd.grad(
            prediction, list(leaves.values()), allow_unused=True, materialize_grads=True
        )
    )
