"""Prompts of linear regression whose noise differs from one to the next, what models and references
leave at every noise, what the models' layers do there, and what is kept of w*.

x and w* are N(0, I). By symmetry the matrices of a layer are then multiples of the identity, so
that a model has a few numbers a layer.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from icl_core.in_context_regression.untrained import inverse
from icl_core.papers.learners.memory.models import decoded, gram
from icl_core.papers.learners.memory.settings import TESTED_ON, Config
from icl_core.papers.learners.shared import references


@dataclass(frozen=True, eq=False)
class Prompts:
    """What models and references read of prompts.

    G    1/n ∑ e eᵀ over the tokens e = (x, y), D = d + 1
    w    w*
    tau  the standard deviation of each prompt's noise, which models do not see
    """

    G: Float[Tensor, "D D prompts"]
    w: Float[Tensor, "d prompts"]
    tau: Float[Tensor, "prompts"]


def draw_prompts(
    config: Config, count: int, generator: torch.Generator, percent: float | None = None
) -> Prompts:
    """Draw prompts, in float64. Their noise has the given size or, in each prompt, one that is
    uniform from zero to the largest."""

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    x = normal(config.n, config.d, count)
    w = normal(config.d, count)
    tau = config.largest * torch.rand(count, generator=generator, dtype=torch.float64)
    if percent is not None:
        tau = torch.full_like(tau, config.tau(percent))
    y = (x * w).sum(1) + tau * normal(config.n, count)
    return Prompts(gram(x, y), w, tau)


def shares(
    weights: Float[Tensor, "d *rest prompts"], w: Float[Tensor, "d *others prompts"]
) -> Float[Tensor, "*rest"]:
    """Return what is left of the error of predicting zero: the mean of |ŵ − w*|², over E |w*|² = d,
    and over prompts."""
    return (weights - w).square().sum(0).mean(-1) / len(w)


RIDGE = "ridge"
KNOWING = "knowing"
BAYES = "bayes"
REFERENCES = (RIDGE, KNOWING, BAYES)
RIDGES = np.logspace(-3, 1.5, 91)  # r of ridge with one r for all
NOISES = 64  # between which Bayes weighs
BINS = 10  # of the eigenvalues of S
MANY = 4 * TESTED_ON  # prompts of all noises
TEST = 2  # the stream of test prompts

Models = Callable[[Tensor], Mapping[str, Float[Tensor, "layers d seeds prompts"]]]


def measured(config: Config, models: Models) -> dict[str, np.ndarray]:
    """Return all measurements; see `train.compute`. `models` takes G and returns ŵ after every
    layer of every model by its name."""
    generator = references.stream(TEST, config.seed)
    r = _best_ridge(draw_prompts(config, MANY, generator))
    rows: dict[str, list[Tensor]] = {}
    for percent in config.percents:
        prompts = draw_prompts(config, TESTED_ON, generator, float(percent))
        for name, value in _at_one_noise(config, prompts, models, r).items():
            rows.setdefault(name, []).append(value)
    # Levels come first, but last of the shares, which are curves over them.
    tensors = {
        name: torch.stack(values, -1 if name.startswith("share/") else 0).numpy()
        for name, values in rows.items()
    }
    prompts = draw_prompts(config, MANY, generator)
    for name, weights in reference_weights(config, prompts, r).items():
        tensors[f"total/{name}"] = shares(weights, prompts.w).numpy()
    for name, iterates in models(prompts.G).items():
        tensors[f"total/{name}"] = shares(iterates[-1], prompts.w[:, None]).numpy()
    return tensors


def _at_one_noise(config: Config, prompts: Prompts, models: Models, r: float) -> dict[str, Tensor]:
    """Return what is measured on prompts of one noise."""
    eigenvalues, vectors = torch.linalg.eigh(prompts.G[:-1, :-1].permute(2, 0, 1))
    order = eigenvalues.flatten().argsort()
    tensors = {"eigenvalue": torch.stack([eigenvalues.flatten()[b].mean() for b in _bins(order)])}

    def kept(weights: Tensor) -> Tensor:
        """Return the share of w* that weights [d, prompts] keep in every bin of eigenvalues."""
        along, target = (
            torch.einsum("pik,ip->pk", vectors, each).flatten() for each in (weights, prompts.w)
        )
        products = along * target
        return torch.stack([products[b].sum() / target[b].square().sum() for b in _bins(order)])

    for name, weights in reference_weights(config, prompts, r).items():
        tensors[f"share/{name}"] = shares(weights, prompts.w)
        tensors[f"kept/{name}"] = kept(weights)
    for name, iterates in models(prompts.G).items():
        by_seed = iterates.unbind(2)  # [layers, d, prompts] each
        triangles = [decoded(each, prompts.G) for each in by_seed]
        tensors[f"share/{name}"] = shares(iterates[-1], prompts.w[:, None])
        tensors[f"kept/{name}"] = torch.stack([kept(each[-1]) for each in by_seed])
        tensors[f"triangle/{name}"] = torch.stack([Gamma for Gamma, _ in triangles])
        tensors[f"explained/{name}"] = torch.stack([share for _, share in triangles])
    return tensors


def _bins(order: Tensor) -> tuple[Tensor, ...]:
    """Return the places of equally many eigenvalues each, from the smallest to the largest."""
    return order.tensor_split(BINS)


def reference_weights(config: Config, prompts: Prompts, r: float) -> dict[str, Tensor]:
    """Return ŵ [d, prompts] of ridge with one r, of ridge that knows the noise, and of Bayes."""
    return {
        RIDGE: _ridge(prompts.G, torch.full_like(prompts.tau, r)),
        KNOWING: _ridge(prompts.G, prompts.tau.square() / config.n),
        BAYES: _bayes(config, prompts.G),
    }


def _ridge(G: Tensor, r: Float[Tensor, "prompts"]) -> Tensor:
    """Return (S + r I)⁺ b, [d, prompts]: the shortest solution where S + r I is singular."""
    one = torch.eye(len(G) - 1, dtype=G.dtype)[:, :, None]
    return torch.einsum("ijp,jp->ip", inverse(G[:-1, :-1] + r * one), G[:-1, -1])


def _best_ridge(prompts: Prompts) -> float:
    """Return the r with which ridge leaves least over all noises."""
    values, vectors = torch.linalg.eigh(prompts.G[:-1, :-1].permute(2, 0, 1))
    along, target = (
        torch.einsum("pik,ip->pk", vectors, each) for each in (prompts.G[:-1, -1], prompts.w)
    )
    left = [(along / (values + float(r)) - target).square().sum() for r in RIDGES]
    return float(RIDGES[torch.stack(left).argmin()])


def _bayes(config: Config, G: Tensor) -> Tensor:
    """Return the posterior mean of w* where τ is uniform from zero to the largest, [d, prompts]:
    ridge for every τ of a grid, weighed by how likely it makes the labels."""
    n = config.n
    S = G[:-1, :-1].permute(2, 0, 1)  # [prompts, d, d]
    b = G[:-1, -1].T  # [prompts, d]
    one = torch.eye(S.shape[-1], dtype=S.dtype)
    middles = (torch.arange(NOISES, dtype=S.dtype) + 0.5) / NOISES * config.largest
    logarithms: list[Tensor] = []
    means: list[Tensor] = []
    for tau in middles:
        precision = n * S / tau**2 + one
        mean = torch.linalg.solve(precision, n * b / tau**2)
        means.append(mean)
        # log N(y; 0, X Xᵀ + τ² I), by the matrix determinant lemma and Woodbury's identity
        misfit = n * (G[-1, -1] - (mean * b).sum(1)) / tau**2
        logarithms.append(-0.5 * (torch.logdet(precision) + 2 * n * math.log(tau) + misfit))
    likely = torch.softmax(torch.stack(logarithms), 0)  # [noises, prompts]
    return torch.einsum("tp,tpi->ip", likely, torch.stack(means))
