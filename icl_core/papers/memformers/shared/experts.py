"""A mixture of experts: heads that each learned one distribution, and gates learned at test time
(Section 4.2).

All heads read the same tokens. A gate scales what its head adds: w_{l+1} = w_l − Σ_h g_h Σ_j
Γ_j^{l,h} A_j^h ∇R(w_j).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

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


class Case(NamedTuple):
    """What gates are learned for: heads, the prompts that they meet, and the gates [seeds, H] to
    start from."""

    heads: Heads
    batch: Batch
    start: Tensor


def table(gates: Tensor, Gamma: Tensor, A: Tensor) -> Tensor:
    """Return the heads' sum as an iteration in R^d, [seeds, L d, L d]: see `first_order.Table`."""
    s, _, L, d, _ = A.shape
    weights = gates[:, :, None, None] * Gamma.tril()
    W = torch.einsum("shlj,shjab->slajb", weights, A)  # [seeds, L, d, L, d]
    return W.reshape(s, L * d, L * d)


def adapt(
    heads: Heads,
    batch: Batch,
    steps: int,
    learn_Gamma: bool,
    start: Tensor,
    rate: float = RATE,
    cases: int = 1,
) -> Adapted:
    """Learn the gates, and Γ too where asked, on the prompts of one batch by Adam, on the logarithm
    of the loss: one rate then serves every scale of it. `start` [seeds, H] counts in the `unit` of
    these prompts. The seeds may be those of several `cases`."""
    scale = unit(heads, batch)  # [seeds, 1]
    learned = {"gates": start.clone()} | ({"Gamma": heads.Gamma.clone()} if learn_Gamma else {})
    optimiser = torch.optim.Adam(list(learned.values()), lr=rate, betas=(0.9, 0.99))
    losses: list[Tensor] = []
    schedule = loop.cosine(steps)
    for step in range(steps):
        for group in optimiser.param_groups:
            group["lr"] = rate * schedule(step)
        loss, gradients = _gradients(learned, scale, heads, batch, cases)
        for name, gradient in gradients.items():
            learned[name].grad = gradient
        optimiser.step()
        losses.append(loss)
    return Adapted(learned["gates"] * scale, learned.get("Gamma", heads.Gamma), torch.stack(losses))


def adapt_all(cases: Sequence[Case], steps: int) -> list[Adapted]:
    """Learn the gates of several cases by `adapt`, as one tensor program whose rows are the seeds
    of one case, then those of the next.

    Where the first gradient differs in any bit from that of a case alone, the cases are done one by
    one. So they are where they have more rows than `can_join`.
    """
    if not can_join(sum(len(case.start) for case in cases), cases[0].batch):
        return _one_by_one(cases, steps)
    joined = _joined(cases)
    if not _has_same_digits(joined, cases):
        return _one_by_one(cases, steps)
    together = adapt(joined.heads, joined.batch, steps, False, joined.start, cases=len(cases))
    counts = [len(case.start) for case in cases]
    return [
        Adapted(gates, case.heads.Gamma, losses)
        for case, gates, losses in zip(
            cases, together.gates.split(counts), together.losses.split(counts, 1), strict=True
        )
    ]


def can_join(rows: int, batch: Batch) -> bool:
    """Return whether so many rows, on as many prompts as a batch has, come in one chunk: in several
    their sums would be others than those of one case."""
    return rows * batch.S[0].numel() <= first_order.CHUNK


def _one_by_one(cases: Sequence[Case], steps: int) -> list[Adapted]:
    return [adapt(case.heads, case.batch, steps, False, case.start) for case in cases]


def _joined(cases: Sequence[Case]) -> Case:
    """Return the cases as one, with the rows of all."""
    return Case(
        Heads(
            torch.cat([case.heads.Gamma for case in cases]),
            torch.cat([case.heads.A for case in cases]),
        ),
        Batch(
            torch.cat([case.batch.S for case in cases]),
            torch.cat([case.batch.target for case in cases]),
        ),
        torch.cat([case.start for case in cases]),
    )


def _has_same_digits(joined: Case, cases: Sequence[Case]) -> bool:
    """Return whether the first gradient of the joined cases is that of each alone, bit for bit."""
    whole = _first_gradient(joined, len(cases))
    alone = [_first_gradient(case, 1) for case in cases]
    return all(
        torch.equal(tensor, torch.cat(parts))
        for tensor, parts in zip(whole, zip(*alone, strict=True), strict=True)
    )


def _first_gradient(case: Case, cases: int) -> tuple[Tensor, ...]:
    """Return the unit [rows, 1], the loss [rows] and the gates' gradient [rows, H] at the start."""
    scale = unit(case.heads, case.batch)
    loss, gradients = _gradients({"gates": case.start}, scale, case.heads, case.batch, cases)
    return scale, loss, gradients["gates"]


def unit(heads: Heads, batch: Batch) -> Tensor:
    """Return the power of two, [seeds, 1], by which equal gates that sum to one lose least on a
    batch. Steps of Adam have one size: without it they would not get from a head's own variance to
    another a hundred times as large."""
    even = starts(heads)["even"]
    powers = 2.0 ** torch.arange(-POWERS, POWERS + 1)
    losses = [
        first_order.loss_and_slopes(table(even * power, heads.Gamma, heads.A), batch)[0]
        for power in powers
    ]
    best = torch.stack(losses).nan_to_num(nan=torch.inf).argmin(0)
    return powers.to(even)[best, None]


def one_scalar(heads: Heads, batch: Batch, steps: int, rate: float = RATE) -> tuple[Tensor, Tensor]:
    """Return one learned scalar for each head alone, [seeds, H], and the gates [seeds, H] that take
    the best of these heads on the batch and no other."""
    alone = each_alone(heads, batch)
    adapted = adapt(alone.heads, alone.batch, steps, False, alone.start, rate)
    return best_scalar(adapted, heads.A.shape[1])


def each_alone(heads: Heads, batch: Batch) -> Case:
    """Return the case in which every head is a row of its own, [seeds H], with one scalar."""
    H = heads.A.shape[1]
    A = heads.A.flatten(0, 1)[:, None]  # (seeds H, 1, L, d, d)
    Gamma = heads.Gamma.flatten(0, 1)[:, None]
    rows = Batch(batch.S.repeat_interleave(H, 0), batch.target.repeat_interleave(H, 0))
    return Case(Heads(Gamma, A), rows, torch.ones_like(A[:, :, 0, 0, 0]))


def best_scalar(adapted: Adapted, H: int) -> tuple[Tensor, Tensor]:
    """Return what `one_scalar` does, of what was learned for `each_alone` of H heads."""
    scalars = adapted.gates.view(-1, H)
    best = adapted.losses[-1].view(-1, H).nan_to_num(nan=torch.inf).argmin(1, keepdim=True)
    return scalars, torch.zeros_like(scalars).scatter(1, best, scalars.gather(1, best))


def _gradients(
    learned: Mapping[str, Tensor], scale: Tensor, heads: Heads, batch: Batch, cases: int
) -> tuple[Tensor, dict[str, Tensor]]:
    """Return the loss [seeds], and the gradient of its logarithm by what is `learned`: gates, in
    units of `scale` [seeds, 1], and Γ where it is among them."""
    leaves = several_seeds.leaves(learned)
    gates = leaves["gates"] * scale
    Gamma = leaves.get("Gamma", heads.Gamma)
    # Case by case: with more rows the heads would be summed in another order.
    parts = zip(*(tensor.chunk(cases) for tensor in (gates, Gamma, heads.A)), strict=True)
    tables = torch.cat([table(*part) for part in parts])
    loss, slopes = first_order.loss_and_slopes(tables.detach(), batch)
    return loss, several_seeds.gradients(tables, leaves, slopes / loss[:, None, None])


def starts(heads: Heads) -> dict[str, Tensor]:
    """Return gates [seeds, H] to begin with, by name: no learning should depend on them."""
    ones = torch.ones_like(heads.A[:, :, 0, 0, 0])
    last = torch.eye(ones.shape[1]).to(ones)[-1].expand_as(ones)
    return {
        "even": ones / ones.shape[1],
        "ones": ones,
        "zeros": torch.zeros_like(ones),
        "last": last,
    }
