"""Heads over tokens in one dimension, as in the authors' code: P_l and Q_l are numbers, and
attention moves covariates and labels alike, so that x is another one in every layer.

P, Q [rows, H, L]; Γ [rows, H, L, 2, n + 1] of a Memformer: what all later layers add again of layer
l's attention, a number for each token, for its covariate and for its label (Section 3.3, the same
for all later layers).
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from icl_core.papers.memformers.mixture.components import Tokens
from icl_core.papers.memformers.shared.variants import Parameters

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
