"""Heads over tokens in one dimension, and prompts of one component each, as in the authors' code:
every token and w* from N(μ_m, σ_m²).

Theorem 4.1 speaks of such prompts ("any new prompt from component m"); in `heads`, tokens of one
prompt mix. P_l and Q_l are numbers, and attention moves covariates and labels alike, so that x is
another one in every layer.

P, Q [rows, H, L]; Γ [rows, H, L, 2, n + 1] of a Memformer: what all later layers add again of layer
l's attention, a number for each token, for its covariate and for its label (Section 3.3, the same
for all later layers).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from icl_core.machine import device
from icl_core.papers.memformers.mixture.settings import Config, Distribution, mixture_of
from icl_core.papers.memformers.shared.variants import Parameters

FRESH = 2**14  # prompts of each component in the test set
BLOCK = 2**12  # of them that are drawn at once


@dataclass(frozen=True, eq=False)
class Tokens:
    """Prompts over their tokens: x [rows, n + 1, prompts], the query last, and w*
    [rows, prompts]."""

    x: Tensor
    target: Tensor


def of_component(
    of: Distribution, n: int, count: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Draw x [n + 1, count] and w* [count] of one component, on the CPU."""
    mean = of.means[0]
    deviation = of.variances[0] ** 0.5
    x, target = (torch.randn(shape, generator=generator) for shape in ((n + 1, count), (count,)))
    return mean + deviation * x, mean + deviation * target


def training_batch(config: Config) -> Tokens:
    """Return the batch that every head learns from, rows seeds × components: the same for both
    kinds and all depths."""
    rows = []
    for seed in range(config.seed, config.seed + config.seeds):
        generator = torch.Generator().manual_seed(80_000 + seed)
        rows += [
            of_component(each, config.n, config.batch, generator)
            for each in mixture_of(config).components
        ]
    return _stacked(rows)


def prompts_met(config: Config) -> Tokens:
    """Return the prompts that gates are learned on, of every seed: of components that are drawn by
    their weights."""
    mixture = mixture_of(config)
    rows = []
    for seed in range(config.seed, config.seed + config.seeds):
        generator = torch.Generator().manual_seed(90_000 + seed)
        weights = torch.tensor(mixture.weights)
        drawn = torch.multinomial(weights, config.gate_prompts, True, generator=generator)
        counts = drawn.bincount(minlength=len(weights)).tolist()
        parts = [
            of_component(each, config.n, k, generator)
            for each, k in zip(mixture.components, counts, strict=True)
        ]
        x, target = zip(*parts, strict=True)
        rows.append((torch.cat(x, 1), torch.cat(target)))
    return _stacked(rows)


def met_of_each(config: Config) -> Tokens:
    """Return prompts of a single component, rows seeds × components, for gates that are to find its
    head (Theorem 4.1)."""
    rows = []
    for seed in range(config.seed, config.seed + config.seeds):
        generator = torch.Generator().manual_seed(100_000 + seed)
        rows += [
            of_component(each, config.n, config.gate_prompts, generator)
            for each in mixture_of(config).components
        ]
    return _stacked(rows)


def fresh_prompts(config: Config, component: int) -> Iterator[Tensor]:
    """Return x [1, n + 1, block] of fresh prompts of one component whose query is 1; the same for
    all models.

    What a model leaves is linear in w* and in the query: with both 1, its square times (E x²)² is
    the expected loss.
    """
    generator = torch.Generator().manual_seed(2**31 + 47 + component)
    for _ in range(0, FRESH, BLOCK):
        x, _ = of_component(mixture_of(config).components[component], config.n, BLOCK, generator)
        x[-1] = 1.0
        yield x[None].to(device.current_device())


def nothing_learned(config: Config) -> float:
    """Return what predicting zero loses: the weighted mean of (E x²)²."""
    mixture = mixture_of(config)
    return sum(
        w * each.second**2 for w, each in zip(mixture.weights, mixture.components, strict=True)
    )


def _stacked(rows: list[tuple[Tensor, Tensor]]) -> Tokens:
    x, target = zip(*rows, strict=True)
    return Tokens(
        torch.stack(x).to(device.current_device()), torch.stack(target).to(device.current_device())
    )


SMALL = 0.01  # standard deviation of the first P and Q in the authors' code


@dataclass(frozen=True, eq=False)
class Layers:
    """What gated heads do together: `own` [rows, L, 2], a layer's part in covariates and labels of
    its own attention; `past` [rows, L, 2, n + 1] or None, that of later layers."""

    own: Tensor
    past: Tensor | None


def initial(kind: str, rows: int, layers: int, n: int, generator: torch.Generator) -> Parameters:
    """Return one head a row: P and Q small, Γ one."""
    shape = (rows, 1, layers)
    parameters = {name: SMALL * torch.randn(shape, generator=generator) for name in ("P", "Q")}
    if kind != "linear":
        parameters["Gamma"] = torch.ones(*shape, 2, n + 1)
    return parameters


def gated(heads: Parameters, gates: Tensor) -> Layers:
    """Return the heads' sum, each scaled by its gate [rows, H]: attention is linear in what it
    writes, so that it costs no more than one head."""
    # [rows, H, L, 2]
    scaled = torch.stack([heads["Q"] * heads["P"], heads["Q"]], -1) * gates[:, :, None, None]
    past = (scaled[..., None] * heads["Gamma"]).sum(1) if "Gamma" in heads else None
    return Layers(scaled.sum(1), past)


def errors(layers: Layers, prompts: Tokens) -> Tensor:
    """Return ⟨w*, query⟩ plus the query's last label, which is minus the prediction: [rows,
    prompts]."""
    x = prompts.x
    examples = slice(0, -1)
    if layers.past is None or layers.own.shape[1] == 1:
        return prompts.target * x[:, -1] * _alike(layers.own, x[:, examples].square().mean(1))
    own = layers.own[..., None, None].unbind(1)  # of a layer, [rows, 2, 1, 1]
    past = layers.past[..., None].unbind(1)  # [rows, 2, n + 1, 1]
    y = torch.cat([prompts.target[:, None] * x[:, examples], torch.zeros_like(x[:, -1:])], 1)
    x_again = y_again = torch.zeros_like(y)  # what earlier layers' attention adds once more
    for layer in range(len(own) - 1):
        spread = x[:, examples].square().mean(1, keepdim=True)  # [rows, 1, prompts]
        pull = (x[:, examples] * y[:, examples]).mean(1, keepdim=True)
        after = torch.addcmul(x_again, x, 1 + own[layer][:, 0] * spread)
        y = torch.addcmul(y + y_again, x, own[layer][:, 1] * pull)
        x_again = torch.addcmul(x_again, past[layer][:, 0] * spread, x)
        y_again = torch.addcmul(y_again, past[layer][:, 1] * pull, x)
        x = after
    # Of the last layer only the query's label counts.
    pull = (x[:, examples] * y[:, examples]).mean(1)
    label = y[:, -1] + own[-1][:, 1, 0] * pull * x[:, -1] + y_again[:, -1]
    return label + prompts.target * prompts.x[:, -1]


def _alike(own: Tensor, S: Tensor) -> Tensor:
    """Return what is left of w*, by S = mean x² [rows, prompts], where no token has a Γ of its own,
    so that all have one fate."""
    stretch = torch.ones_like(S)
    left = torch.ones_like(S)
    for covariates, labels in (layer.unbind(1) for layer in own[..., None].unbind(1)):
        attention = stretch.square() * S
        stretch = stretch * (1 + covariates * attention)
        left = left * (1 + labels * attention)
    return left
