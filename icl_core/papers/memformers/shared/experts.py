"""A mixture of experts: heads that each learned one distribution, and gates learned at test time
(Section 4.2).

All heads read the same tokens. A gate scales what its head adds: w_{l+1} = w_l − Σ_h g_h Σ_j
Γ_j^{l,h} A_j^h ∇R(w_j).
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from icl_core.papers.memformers.shared import first_order
from icl_core.papers.memformers.shared.task import Batch
from icl_core.training import loop, several_seeds

RATE = 0.05  # of Adam on gates
POWERS = 12  # of two, up and down, that may be the gates' unit


@dataclass(frozen=True, eq=False)
class Heads:
    """Γ_j^l and A_j of every head, in the coordinates of the prompts that they meet.

    Gamma  [seeds, H, L, L] lower-triangular over (l, j)
    A  [seeds, H, L, d, d]
    """

    Gamma: Tensor
    A: Tensor


@dataclass(frozen=True, eq=False)
class Adapted:
    """What was learned at test time: gates [seeds, H], Gamma [seeds, H, L, L]; the loss by step,
    [steps, seeds]."""

    gates: Tensor
    Gamma: Tensor
    losses: Tensor


def table(gates: Tensor, Gamma: Tensor, A: Tensor) -> Tensor:
    """The heads' sum as an iteration in R^d, [seeds, L d, L d]: see `first_order.Table`."""
    s, _, L, d, _ = A.shape
    weights = gates[:, :, None, None] * Gamma.tril()
    every = torch.einsum("shlj,shjab->slajb", weights, A)  # [seeds, L, d, L, d]
    return every.reshape(s, L * d, L * d)


def adapt(
    heads: Heads, batch: Batch, steps: int, learn_Gamma: bool, start: Tensor, rate: float = RATE
) -> Adapted:
    """Learn the gates, and Γ too where asked, on the prompts of one batch by Adam, on the logarithm
    of the loss: one rate then serves every scale of it. `start` [seeds, H] counts in the `unit` of
    these prompts."""
    scale = unit(heads, batch)  # [seeds, 1]
    learned = {"gates": start.clone()} | ({"Gamma": heads.Gamma.clone()} if learn_Gamma else {})
    optimiser = torch.optim.Adam(list(learned.values()), lr=rate, betas=(0.9, 0.99))
    losses, schedule = [], loop.cosine(steps)
    for step in range(steps):
        for group in optimiser.param_groups:
            group["lr"] = rate * schedule(step)
        leaves = several_seeds.leaves(learned)
        made = table(leaves["gates"] * scale, leaves.get("Gamma", heads.Gamma), heads.A)
        loss, slopes = first_order.loss_and_slopes(made.detach(), batch)
        for name, gradient in several_seeds.gradients(
            made, leaves, slopes / loss[:, None, None]
        ).items():
            learned[name].grad = gradient
        optimiser.step()
        losses.append(loss)
    return Adapted(learned["gates"] * scale, learned.get("Gamma", heads.Gamma), torch.stack(losses))


def unit(heads: Heads, batch: Batch) -> Tensor:
    """The power of two, [seeds, 1], by which equal gates that sum to one lose least on a batch.
    Steps of Adam have one size: without it they would not get from a head's own variance to another
    a hundred times as large."""
    even = starts(heads)["even"]
    tries = 2.0 ** torch.arange(-POWERS, POWERS + 1)
    losses = [
        first_order.loss_and_slopes(table(even * each, heads.Gamma, heads.A), batch)[0]
        for each in tries
    ]
    best = torch.stack(losses).nan_to_num(nan=torch.inf).argmin(0)
    return tries.to(even)[best, None]


def one_scalar(heads: Heads, batch: Batch, steps: int, rate: float = RATE) -> tuple[Tensor, Tensor]:
    """Each head alone with one learned scalar, [seeds, H], and the gates [seeds, H] that take the
    best of them on the batch and no other."""
    seeds, H = heads.A.shape[:2]
    alone = Heads(
        heads.Gamma.flatten(0, 1)[:, None], heads.A.flatten(0, 1)[:, None]
    )  # every head is a row of its own
    rows = Batch(batch.S.repeat_interleave(H, 0), batch.target.repeat_interleave(H, 0))
    done = adapt(alone, rows, steps, False, torch.ones_like(alone.A[:, :, 0, 0, 0]), rate)
    scalars = done.gates.view(seeds, H)
    best = done.losses[-1].view(seeds, H).nan_to_num(nan=torch.inf).argmin(1, keepdim=True)
    return scalars, torch.zeros_like(scalars).scatter(1, best, scalars.gather(1, best))


def starts(heads: Heads) -> dict[str, Tensor]:
    """Gates [seeds, H] to begin with, by name: no learning should depend on them."""
    ones = torch.ones_like(heads.A[:, :, 0, 0, 0])
    last = torch.eye(ones.shape[1]).to(ones)[-1].expand_as(ones)
    return {
        "even": ones / ones.shape[1],
        "ones": ones,
        "zeros": torch.zeros_like(ones),
        "last": last,
    }
