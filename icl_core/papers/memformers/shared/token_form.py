"""The model as the paper writes it: linear attention over tokens, and registers of past attention
(eqs. 2.3 to 3.4).

    Z_0 = [[x_1 … x_n  x_q], [y_1 … y_n  0]]                       a prompt, [d + 1, n + 1]
    Attn_{P,Q}(Z) = P Z M (Zᵀ Q Z),  M = diag(I_n, 0)               no token attends to the query
    P_l = [[B_l, 0], [0, 1]],  Q_l = −[[A_lᵀ, 0], [0, 0]]           B_l = 0 but in GD++
    linear:    R_l = Attn(Z_l),                Z_{l+1} = Z_l + R_l / n
    CGD-like:  R_l = Attn(Z_l) + γ_l R_{l−1},  Z_{l+1} = Z_l + α_l R_l / n
    LFOM:      R_l = Attn(Z_l),                Z_{l+1} = Z_l + 1/n Σ_{j≤l} Γ_j^l ⊙ R_j
    prediction after layer l: −[Z_{l+1}]_{d+1,n+1}

The paper's Q holds A_l. It is symmetric there, and its transpose the same; a trained A_l is not
symmetric, and with A_lᵀ Lemma 2.1 holds as it stands, w_{l+1} = w_l − A_l ∇R(w_l).

This is the readable form, for display and as the oracle of `model`, which never makes an n × n
product.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import pad

from icl_core.papers.memformers.shared.variants import (
    VARIANTS,
    Parameters,
    averaged,
    learned_in,
)


@dataclass(frozen=True, eq=False)
class Passage:
    """What went through the layers, for every prompt of a batch.

    predictions  of the query's label, before the first layer and after each
    labels       the last row of Z_l: what is left of each token's label
    attention    M Zᵀ Q Z, heads summed: row i attended to, column k attending
    update       Z_{l+1} − Z_l
    """

    predictions: Float[Tensor, "layers_1 b"]
    labels: Float[Tensor, "layers_1 b n_1"]
    attention: Float[Tensor, "layers b n_1 n_1"]
    update: Float[Tensor, "layers b d_1 n_1"]


def forward(
    parameters: Parameters, config: Any, root: Float[Tensor, "1 d d"], X: Float[Tensor, "b d n_1"],
    y: Float[Tensor, "b n"],
) -> Passage:  # fmt: skip
    """Return the passage of prompts, whose last token is the query, through one seed's model,
    parameters [1, …]. `root` is Σ^½.

    X is in original coordinates, or in whitened ones, Σ^-½ times those, if `takes_whitened`.
    """
    labels = torch.cat([y, torch.zeros_like(y[:, :1])], 1)  # [b, n + 1], the query's is 0
    Z = torch.cat([X, labels[:, None]], 1)  # [b, d + 1, n + 1]
    A = original(parameters, config, root)  # [L, registers, heads, d, d]
    Q = pad(-A.mT, (0, 1, 0, 1))[:, :, :, None]  # −[[A_lᵀ, 0], [0, 0]] (eq. 2.8)
    P = values(parameters, X).expand(len(Q), -1, -1)  # [L, d + 1, d + 1]
    rows = [Z[:, -1]]
    maps: list[Tensor] = []
    updates: list[Tensor] = []
    registers: list[Tensor] = []
    for layer in range(len(Q)):
        attention, scores = attend(P[layer], Q[layer], Z)
        remember(registers, attention.sum(1), parameters, config.variant)  # heads share a register
        updates.append(recall(registers, parameters, config.variant) / y.shape[1])
        Z = Z + updates[-1]
        rows.append(Z[:, -1])
        maps.append(scores.sum((0, 1)))
    left = torch.stack(rows)  # [L + 1, b, n + 1]
    return Passage(-left[..., -1], left, torch.stack(maps), torch.stack(updates))


def attend(
    P: Float[Tensor, "d_1 d_1"],
    Q: Float[Tensor, "registers heads 1 d_1 d_1"],
    Z: Float[Tensor, "b d_1 n_1"],
) -> tuple[Float[Tensor, "registers heads b d_1 n_1"], Float[Tensor, "registers heads b n_1 n_1"]]:
    """Return Attn_{P,Q}(Z) of every head (eq. 2.4), and its M Zᵀ Q Z."""
    M = torch.ones_like(Z[0, 0])  # the diagonal
    M[-1] = 0
    scores = M[:, None] * (Z.mT @ Q @ Z)  # [registers, heads, b, n + 1, n + 1]
    return P @ Z @ scores, scores


def remember(
    registers: list[Tensor], attention: Tensor, parameters: Parameters, variant: str
) -> None:
    """Add R_l to the registers, the layer's attention [registers, b, d + 1, n + 1]; CGD-like with
    γ_l R_{l−1} (eq. 3.1)."""
    if VARIANTS[variant].memory == "deflection" and registers:
        attention = attention + parameters["gamma"][0, len(registers)] * registers[-1]
    registers.append(attention)


def recall(
    registers: Sequence[Tensor], parameters: Parameters, variant: str
) -> Float[Tensor, "b d_1 n_1"]:
    """Return n (Z_{l+1} − Z_l) from R_0 … R_l (eqs. 2.5, 3.2, 3.4)."""
    layer = len(registers) - 1
    kind = VARIANTS[variant]
    if kind.memory == "none":
        return registers[layer].sum(0)
    if kind.memory == "deflection":
        return parameters["alpha"][0, layer] * registers[layer].sum(0)
    # [L, …] over j
    Gamma = parameters["Gamma"][0] if kind.shared else parameters["Gamma"][0, layer]
    if kind.own_whole:
        Gamma = torch.cat([Gamma[:layer], torch.ones_like(Gamma[:1])])
    if kind.per == "coordinate":
        Gamma = Gamma[:, :, None, None, None]  # a number a register
    # one a token, [n + 1], scales the columns; a plain number the whole register, covariates too
    return torch.stack([Gamma[j] * register for j, register in enumerate(registers)]).sum((0, 1))


def takes_whitened(config: Any) -> bool:
    """Return whether the model is one of whitened covariates: they move, and are learned in the
    coordinates that they start in."""
    return VARIANTS[config.variant].moves_covariates and learned_in(config) == "whitened"


def original(
    parameters: Parameters, config: Any, root: Float[Tensor, "1 d d"]
) -> Float[Tensor, "layers registers heads d d"]:
    """Return A_l in the coordinates of X, of every head and register; learned, they count in other
    units (`variants`).

    A register holds labels alone, which have no coordinates of w that Γ could scale. A Γ per
    coordinate therefore takes d registers: the c-th has A's row c alone, and its label is what
    coordinate c of the gradient adds to it.
    """
    unit = torch.eye(config.d, dtype=root.dtype, device=root.device)
    if "A" not in parameters:
        A = unit.expand(parameters["Gamma"].shape[1], 1, -1, -1)
    else:
        A = parameters["A"][0].transpose(0, 1)  # [L, H, d, d], [L, H, d] or [L, H]
        A = torch.diag_embed(averaged(A)) if A.dim() == 3 else A
        A = A if A.dim() == 4 else A[..., None, None] * unit
    A = A[:, None]  # [L, 1, H, d, d]
    if VARIANTS[config.variant].per == "coordinate":
        A = torch.diag_embed(unit)[:, None] @ A  # [L, d, H, d, d]
    if takes_whitened(config):
        return A
    if "A" in parameters and learned_in(config) == "whitened":
        inverse = torch.linalg.inv(root[0])
        return inverse @ A @ inverse
    if "A" in parameters and learned_in(config) == "authors":
        return A
    return A * config.d / root.square().sum()  # in units of one over Σ's mean eigenvalue


def values(parameters: Parameters, X: Float[Tensor, "b d n_1"]) -> Float[Tensor, "layers d_1 d_1"]:
    """Return P_l = [[B_l, 0], [0, 1]] (eq. 2.8); a single one for all layers where there is no
    B."""
    B = parameters["B"][0] if "B" in parameters else X.new_zeros(1, X.shape[1], X.shape[1])
    label = pad(X.new_ones(1, 1), (X.shape[1], 0, X.shape[1], 0))  # [d + 1, d + 1]
    return pad(B, (0, 1, 0, 1)) + label
