"""Theorems 3.1 and 3.2 as identities: a method's coefficients are put into the tokens, and the
iterates compared.

    CGD-like (eqs. 3.1, 3.2)  R_l = Attn(Z_l) + γ_l R_{l−1},  Z_{l+1} = Z_l + α_l R_l / n
    LFOM (eqs. 3.3, 3.4)      R_l = Attn(Z_l),                Z_{l+1} = Z_l + 1/n Σ_{j≤l} Γ_j^l ⊙
                              R_j

with A_l = I in eq. 2.8 and the prediction −[Z_l]_{d+1,n+1} (eq. 2.6). Then the label row of
Attn(Z_l) / n at a query x is +⟨x, ∇R(w_l)⟩, which the minus of the prediction turns into a step
down: 1/n counts once, and

    w_{l+1} = w_l − Σ_{j≤l} Γ_j^l ∇R(w_j).

Eq. 1.1 counts from w_0 with a plus, w^{k+1} = w^0 + Σ_i Λ_i^k ∇R(w^i), so that Γ_j^l = Λ_j^{l−1} −
Λ_j^l.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from icl_core import in_context_regression as regression
from icl_core.in_context_regression import product
from icl_core.papers.memformers.shared import baselines
from icl_core.papers.memformers.shared.baselines import BETA, MOMENTUM, NESTEROV
from icl_core.papers.memformers.shared.settings import Model
from icl_core.papers.memformers.shared.task import covariances
from icl_core.papers.memformers.shared.token_form import forward
from icl_core.papers.memformers.theorems.settings import AT_ONCE

SPREAD = 0.5  # of the random coefficients, about those of gradient descent

Given = Mapping[str, Tensor]


@dataclass(frozen=True, eq=False)
class Prompts:
    """Prompts with sampled w*, float64, the last axis: X [d, n, prompts], w* [d, prompts]; Σ and
    its root [d, d]."""

    X: Tensor
    target: Tensor
    Sigma: Tensor
    root: Tensor

    @property
    def S(self) -> Tensor:
        """Return X Xᵀ / n, [d, d, prompts]."""
        return regression.gram(self.X)

    def length(self, w: Tensor) -> Tensor:
        """Return the root mean square of ⟨x, w⟩ over queries x, of w [..., d, prompts]: [...,
        prompts]."""
        return torch.einsum("ij,...jp->...ip", self.root, w).norm(dim=-2)


@dataclass(frozen=True, eq=False)
class Case:
    """A method: what is put into the tokens of which `variant`, and its iterates [L + 1, d,
    prompts], made without."""

    variant: str
    given: Given
    iterates: Tensor

    def table(self) -> Tensor:
        """Return Γ_j^l [L, L, prompts], or of "coordinate" [L, L, d]."""
        coefficients = self.given
        return (
            coefficients["Gamma"]
            if "Gamma" in coefficients
            else baselines.deflected_table(coefficients["alpha"], coefficients["gamma"])
        )


def sample(config: Any) -> Prompts:
    """Return the prompts of a config."""
    covariance = covariances(config)[0]
    generator = torch.Generator().manual_seed(2**31 + 61 + config.seed)
    U, v = (
        torch.randn(*shape, config.prompts, generator=generator, dtype=torch.float64)
        for shape in ((config.d, config.n), (config.d,))
    )
    root = covariance.root
    return Prompts(
        torch.einsum("ij,jnp->inp", root, U), covariance.inverse_root @ v, root @ root, root
    )


def cases(prompts: Prompts, layers: int, generator: torch.Generator) -> dict[str, Case]:
    """Return every method by its id."""
    S = prompts.S
    target = prompts.target
    unit = float(torch.linalg.eigvalsh(prompts.Sigma).max())
    d, count = target.shape
    cgd = regression.conjugate_gradient(S, target, layers)
    ball = (MOMENTUM / unit, BETA)
    ahead = (NESTEROV / unit, BETA)
    alpha, gamma = (target.new_full((layers, count), value) for value in ball)
    nesterov = torch.from_numpy(baselines.nesterov_table(layers, *ahead))
    numbers = at_random(layers, 1, NESTEROV / unit, generator)  # [L, L, 1]
    diagonals = at_random(layers, d, NESTEROV / unit, generator)  # [L, L, d]
    return {
        "cgd": Case("cgd", {"alpha": cgd.alpha, "gamma": cgd.gamma}, cgd.iterates),
        "cgd-gamma": Case(
            "lfom", {"Gamma": baselines.deflected_table(cgd.alpha, cgd.gamma)}, cgd.iterates
        ),
        "momentum": Case(
            "cgd", {"alpha": alpha, "gamma": gamma}, regression.momentum(S, target, layers, *ball)
        ),
        "nesterov": Case(
            "lfom", _for_all(nesterov, count), regression.nesterov(S, target, layers, *ahead)
        ),
        "any": Case("lfom", _for_all(steps_of(numbers)[..., 0], count), summed(numbers, S, target)),
        "diagonal": Case(
            "coordinate", {"Gamma": steps_of(diagonals)}, summed(diagonals, S, target)
        ),
    }


def lemma(prompts: Prompts, layers: int, generator: torch.Generator) -> Case:
    """Return Lemma 2.1 with matrices A_l that are not symmetric: preconditioned gradient descent,
    w_{l+1} = w_l − A_l ∇R(w_l), and a linear transformer of the same A_l."""
    d = len(prompts.Sigma)
    unit = float(torch.linalg.eigvalsh(prompts.Sigma).max())
    noise = torch.randn(layers, d, d, generator=generator, dtype=torch.float64)
    A = NESTEROV / unit * (torch.eye(d, dtype=torch.float64) + SPREAD * noise)
    iterates = [torch.zeros_like(prompts.target)]
    for matrix in A:
        gradient = product(prompts.S, iterates[-1] - prompts.target)
        iterates.append(iterates[-1] - matrix @ gradient)
    return Case("linear", {"A": A}, torch.stack(iterates))


def _for_all(table: Tensor, count: int) -> Given:
    return {"Gamma": table[..., None].expand(-1, -1, count)}


def at_random(layers: int, width: int, rate: float, generator: torch.Generator) -> Tensor:
    """Return Λ_i^k of eq. 1.1, lower-triangular, a number or the diagonal of a matrix each:
    [L, L, width]."""
    noise = torch.randn(layers, layers, width, generator=generator, dtype=torch.float64)
    return (
        -rate
        * (1 + SPREAD * noise)
        * torch.ones(layers, layers, dtype=torch.float64).tril()[..., None]
    )


def steps_of(Lambda: Tensor) -> Tensor:
    """Return Γ_j^l = Λ_j^{l−1} − Λ_j^l of what eq. 1.1 sums up from w_0, [L, L, …]."""
    return -torch.diff(Lambda, dim=0, prepend=torch.zeros_like(Lambda[:1]))


def summed(Lambda: Tensor, S: Tensor, target: Tensor) -> Tensor:
    """Return the iterates of eq. 1.1 as it stands: w^{k+1} = w^0 + Σ_i Λ_i^k ∇R(w^i) from w^0 = 0,
    [L + 1, d, prompts]."""
    iterates = [torch.zeros_like(target)]
    gradients = []
    for row in Lambda:
        gradients.append(product(S, iterates[-1] - target))
        past = (factor[:, None] * g for factor, g in zip(row, gradients, strict=False))
        iterates.append(sum(past, torch.zeros_like(target)))
    return torch.stack(iterates)


def by_tokens(variant: str, given: Given, prompts: Prompts) -> Tensor:
    """Return w_0 … w_L [L + 1, d, prompts] as the token form of a model has them: asked for the
    query e_i it predicts coordinate i of w_l.

    `given`: A [L, d, d] (else I); alpha, gamma [L, prompts] or Gamma [L, L, prompts], or what is
    the same for all prompts: Gamma [L, L, d] of "coordinate" and [L, L, n + 1] of "token".
    """
    d, n, count = prompts.X.shape
    layers = len(next(iter(given.values())))
    config = Model(variant=variant, coordinates="original", d=d, n=n, layers=layers)
    unit = prompts.Sigma.diagonal().mean()  # A counts in units of one over it
    eye = torch.eye(d, dtype=torch.float64)
    A = unit * given.get("A", eye.expand(layers, d, d))[None, None]  # [1, 1, L, d, d]
    size = max(1, AT_ONCE // (d * (n + 1) ** 2 * (d if variant == "coordinate" else layers)))
    parts = []
    for part in (slice(start, start + size) for start in range(0, count, size)):
        coefficients = {
            name: _put(tensor, variant, part, d) for name, tensor in given.items() if name != "A"
        }
        X = prompts.X[..., part]
        target = prompts.target[:, part]
        y = (X * target[:, None]).sum(0).T.repeat_interleave(d, 0)  # [prompts d, n]
        queries = torch.cat(
            [
                X.permute(2, 0, 1)[:, None].expand(-1, d, -1, -1),
                eye[None, :, :, None].expand(X.shape[-1], -1, -1, -1),
            ],
            3,
        )
        output = forward(
            {"A": A, **coefficients}, config, prompts.root[None], queries.flatten(0, 1), y
        )
        parts.append(output.predictions.view(layers + 1, -1, d).mT)  # [L + 1, d, prompts]
    return torch.cat(parts, -1)


def _put(coefficients: Tensor, variant: str, part: slice, d: int) -> Tensor:
    """Return coefficients as the token form takes them: with a prompt's own for each of its d
    queries, [1, L, …, b, 1, 1]."""
    if variant in ("coordinate", "token"):
        return coefficients[None]
    return coefficients[..., part].repeat_interleave(d, -1)[None, ..., None, None]


def apart(w: Tensor, iterates: Tensor, target: Tensor) -> Tensor:
    """Return the largest difference over prompts after each layer, [L + 1], relative to w* or a
    larger iterate."""
    size = torch.maximum(iterates.norm(dim=1).amax(0), target.norm(dim=0))
    return ((w - iterates).norm(dim=1) / size).amax(-1)


def distance(w: Tensor, iterates: Tensor, prompts: Prompts) -> Tensor:
    """Return how far predictions are from those of a method, as a share of these: the median over
    prompts after each layer from the first on, [L]."""
    off, whole = (prompts.length(vectors[1:]) for vectors in (w - iterates, iterates))
    return (off / whole).median(-1).values


def others(case: Case, prompts: Prompts) -> dict[str, Tensor]:
    """Measure conjugate gradient's coefficients where they do not belong, another prompt's or the
    mean over all: `distance/*` [L] from the prompt's own iterates; `loss/*` [L + 1], the median
    over prompts; `first_step`."""
    moved = {
        "other": {name: tensor.roll(1, -1) for name, tensor in case.given.items()},
        "mean": {
            name: tensor.mean(-1, keepdim=True).expand_as(tensor)
            for name, tensor in case.given.items()
        },
    }
    tensors = {"first_step": first_step(case.given["alpha"])}
    tensors |= {
        "loss/own": prompts.length(case.iterates - prompts.target).square().median(-1).values
    }
    for name, coefficients in moved.items():
        w = by_tokens(case.variant, coefficients, prompts)
        tensors[f"distance/{name}"] = distance(w, case.iterates, prompts)
        tensors[f"loss/{name}"] = prompts.length(w - prompts.target).square().median(-1).values
    return tensors


def first_step(alpha: Tensor) -> Tensor:
    """Return how far one first step for all prompts stays from theirs at best, as a share of these:
    the least over a of (Σ (a − α_0)² / Σ α_0²)^½, of alpha [L, prompts]."""
    return (1 - alpha[0].mean() ** 2 / alpha[0].square().mean()).clamp(min=0).sqrt()
