"""Ahn's Theorem 3 (Appendix D) as a vanishing gradient: ∇_{A_l} f at A_l = a_l Σ⁻¹, and elsewhere.

f is the expected loss of a linear transformer, w* and the query integrated out, as a mean over N
prompts. The a_l are the best on all prompts, so there the gradient says nothing of a_l; the rest
vanishes in the mean by symmetry alone, so on N prompts it must be sampling error, and fall as N^-½.
A gradient that is not zero in the mean stops falling.

In the eigenbasis of Σ; with M = Σ^½ A Σ^½ in whitened coordinates ∇_A f = Σ^½ ∇_M f Σ^½.
"""

import math
from typing import Any

import torch
from torch import Tensor

from icl_core import in_context_regression as regression
from icl_core.papers.memformers.shared import first_order
from icl_core.papers.memformers.shared.task import Batch, eigenvalues_of

LEAST = 2**8  # prompts of the smallest pools
GROUPS = 4
FEWEST = 8  # of prompts, each with a slope of its own; pools that a size needs there
NEAR = 0.1  # how far, as a share of its size, the place near the construction is from it
PLACES = ("construction", "identity", "near", "random")


def gradients(config: Any) -> dict[str, Tensor]:
    """Return `size` [k], numbers of prompts N, and for each of PLACES [k] the root mean square over
    pools of N prompts of (Σ_l ‖∇_{A_l} f‖²_F)^½, at the construction `without` what it says of a_l,
    which is `along` on all prompts; `expected/<place>` [2], see `squared`; `loss/<place>`;
    `slopes`, see there; `steps`, the a_l."""
    generator = torch.Generator().manual_seed(2**31 + 67 + config.seed)
    S = regression.grams(config.d, config.n, 2**config.pool, generator, torch.float64)
    D = eigenvalues_of(config)
    steps = best_steps(S, None, config.layers)
    where = places(steps, best_steps(regression.coloured(S, D), D, config.layers), D, generator)
    losses, every = by_pool(where, S, D)  # [pools, places], [pools, places, L, d, d]
    along = (every[:, 0].mean(0) - without(every[:, 0].mean(0), D)).norm()
    every[:, 0] = without(every[:, 0], D)
    named = list(enumerate(PLACES))
    tensors = {name: norms(every[:, i]) for i, name in named}
    tensors |= {f"expected/{name}": squared(every[:, i]) for i, name in named}
    tensors |= {f"loss/{name}": losses[:, i].mean() for i, name in named}
    sizes = LEAST * 2 ** torch.arange(len(tensors["construction"]))
    return {**tensors, "size": sizes, "slopes": slopes(every[:, 0]), "along": along, "steps": steps}


def norms(every: Tensor) -> Tensor:
    """Return the root mean square size of the gradients [pools, …] of LEAST prompts each, then of
    twice as many, and so on up to all of them: [k]."""
    levels = [every]
    while len(levels[-1]) > 1:
        levels.append(levels[-1].unflatten(0, (-1, 2)).mean(1))
    return torch.stack([each.flatten(1).square().sum(1).mean().sqrt() for each in levels])


def slopes(every: Tensor) -> Tensor:
    """Return the power of N with which the size falls in each of GROUPS groups of the gradients
    [pools, …], over sizes of which a group has FEWEST pools: [GROUPS]."""
    sizes = int(math.log2(len(every) / GROUPS / FEWEST)) + 1  # with 2^14 prompts two
    levels = torch.stack([norms(each)[:sizes].log2() for each in every.chunk(GROUPS)])
    x = torch.arange(sizes, dtype=torch.float64) - (sizes - 1) / 2
    return levels @ x / x.square().sum()


def without(every: Tensor, D: Tensor) -> Tensor:
    """Return the gradients by A [..., d, d] without what they say of a_l, the multiple of Σ⁻¹: in
    the mean nothing is left at any a_l Σ⁻¹, for there E ∇_M f commutes with all rotations, so E ∇_A
    f = c Σ."""
    c = (every.diagonal(dim1=-2, dim2=-1) / D).mean(-1)
    return every - c[..., None, None] * D.diag()


def squared(every: Tensor) -> Tensor:
    """Return ‖E ∇f‖² from gradients [pools, …], without the sampling error in it: the mean product
    of two pools'; and its standard error by the jackknife, [2]."""
    flat = every.flatten(1)
    count = len(every)
    total = flat.sum(0)
    own = flat.square().sum(1)
    value = (total.square().sum() - own.sum()) / (count * (count - 1))
    # Without one pool each.
    left = ((total - flat).square().sum(1) - own.sum() + own) / ((count - 1) * (count - 2))
    error = ((left - left.mean()).square().sum() * (count - 1) / count).sqrt()
    return torch.stack([value, error])


def best_steps(S: Tensor, D: Tensor | None, layers: int) -> Tensor:
    """Return the a_l = 1 / r_l of the best polynomial on the prompts S, largest first; NaN where
    its roots are complex."""
    roots = regression.floors(S, D, [layers])[0].roots
    return (
        torch.full((layers,), torch.nan, dtype=torch.float64) if roots.is_complex() else 1 / roots
    )


def places(steps: Tensor, scalar: Tensor, D: Tensor, generator: torch.Generator) -> Tensor:
    """Return Σ^½ A_l Σ^½ at each of PLACES, [places, L, d, d]: a_l Σ⁻¹; the best multiples of I; a
    tenth away from the construction in a random direction; random A_l as large as the
    construction's."""
    construction = torch.diag_embed(steps[:, None] / D)  # a_l Σ⁻¹
    random = torch.randn(construction.shape, generator=generator, dtype=torch.float64)
    random = random * (construction.norm(dim=(1, 2)) / random.norm(dim=(1, 2)))[:, None, None]
    identity = torch.diag_embed(scalar[:, None].expand_as(construction[:, 0]))
    return _rooted(torch.stack([construction, identity, construction + NEAR * random, random]), D)


def by_pool(where: Tensor, S: Tensor, D: Tensor) -> tuple[Tensor, Tensor]:
    """Return loss and ∇_A f at the places on pools of LEAST prompts: [pools, places] and [pools,
    places, L, d, d]."""
    pairs = [loss_and_slopes(where, part) for part in S.split(LEAST, -1)]
    losses = torch.stack([loss for loss, _ in pairs])
    return losses, _rooted(torch.stack([slope for _, slope in pairs]), D)


def loss_and_slopes(M: Tensor, S: Tensor) -> tuple[Tensor, Tensor]:
    """Return the loss [places] of linear transformers M = Σ^½ A Σ^½ [places, L, d, d] on whitened
    prompts S [d, d, prompts], and its derivative by M."""
    count, layers, d, _ = M.shape
    # [places, L d, L d]: no layer uses an earlier one's
    table = torch.stack([torch.block_diag(*each) for each in M])
    every = [
        each.expand(count, -1, -1, -1)
        for each in (S[None], torch.eye(d, dtype=S.dtype)[None, :, :, None])
    ]
    batch = Batch(every[0], every[1].expand(-1, -1, -1, S.shape[-1]))
    loss, slopes = first_order.loss_and_slopes(table, batch)
    blocks = slopes.view(count, layers, d, layers, d).diagonal(dim1=1, dim2=3)  # [places, d, d, L]
    return loss, blocks.permute(0, 3, 1, 2)


def _rooted(each: Tensor, D: Tensor) -> Tensor:
    """Return Σ^½ times each [..., d, d] times Σ^½."""
    root = D.sqrt()
    return root[:, None] * each * root
