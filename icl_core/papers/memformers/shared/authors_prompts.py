"""The very prompts of the authors' notebooks, and the initial values of their models, from torch's
CPU generator and their seeds.

Their code draws for each batch, in this order, standard normal numbers of single precision: w* (a
draw that is not used), the covariates x of all examples, those of the query, and w* once more. Both
then turn with a seed's rotation U. In whitened coordinates u = U g and v = U h of the normals g and
h, so that one draw serves all rotations, and every Σ.
"""

from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

TRAINING = 999  # the seed of the batch that is trained on
TEST = 99  # and of the one that is tested on
CONJUGATE = range(5)  # seeds of the batches that the classical methods are tested on
LEFT_OUT = 1  # examples of each prompt that the classical methods do not see, the last
HEADS = 1  # that initial values are drawn for


@dataclass(frozen=True, eq=False)
class Normals:
    """What one batch is made of, before it is turned.

    U       [d, n, prompts] the examples' covariates
    target  [d, prompts] w*
    query   [d, prompts]
    """

    U: Tensor
    target: Tensor
    query: Tensor

    def first(self, examples: int) -> "Normals":
        """Return the same with as many examples of each prompt."""
        return Normals(self.U[:, :examples].contiguous(), self.target, self.query)


def draw(generator: torch.Generator, d: int, n: int, prompts: int) -> Normals:
    """Return the next batch of a generator, in the authors' order of draws."""
    torch.empty(prompts, d).normal_(generator=generator)  # w* of a first kind, not used
    examples = torch.empty(prompts, n, d).normal_(generator=generator)
    query = torch.empty(prompts, 1, d).normal_(generator=generator)
    target = torch.empty(prompts, d).normal_(generator=generator)
    return Normals(
        examples.permute(2, 1, 0).contiguous(),  # [prompts, n, d] -> [d, n, prompts]
        target.T.contiguous(),
        query[:, 0].T.contiguous(),
    )


@lru_cache(maxsize=4)  # every depth and model of a run meets the same
def training_batch(d: int, n: int, prompts: int) -> Normals:
    """Return the batch that all models are trained on."""
    return draw(torch.Generator().manual_seed(TRAINING), d, n, prompts)


@lru_cache(maxsize=8)
def test_batch(d: int, n: int, prompts: int) -> Normals:
    """Return the batch that models are tested on."""
    return draw(torch.Generator().manual_seed(TEST), d, n, prompts)


@lru_cache(maxsize=8)
def next_batch(d: int, n: int, prompts: int, layers: int) -> Normals:
    """Return the batch that the models of Figures 12 and 13 are tested on, for which no seed is
    set: the next draw after the training batch and the initial values of as many layers."""
    generator = torch.Generator().manual_seed(TRAINING)
    draw(generator, d, n, prompts)
    torch.empty(layers, HEADS, 2, d, d).normal_(generator=generator)
    return draw(generator, d, n, prompts)


@lru_cache(maxsize=8)
def classical_batch(d: int, n: int, seed: int, prompts: int) -> Normals:
    """Return the batch of one of the seeds that the classical methods are tested on."""
    return draw(torch.Generator().manual_seed(seed), d, n, prompts)


def initial(layers: int, heads: int, d: int, seed: int) -> tuple[Tensor, Tensor]:
    """Return the standard normals that a seed's A and B begin with, [heads, layers, d, d] each.

    Their Q is −A, and both lie in one tensor, layer by layer: P first, whose part that acts on the
    covariates is B.
    """
    generator = torch.Generator().manual_seed(seed)
    numbers = torch.empty(layers, heads, 2, d, d).normal_(generator=generator)
    P, Q = numbers.transpose(0, 1).unbind(2)  # [heads, layers, d, d]
    return -Q, P


def rotation(d: int, seed: int) -> Tensor:
    """Return a seed's U: the left singular vectors of uniform numbers in [−1, 1), [d, d] float64.

    Their signs are those of the CPU's routine; another device may choose others.
    """
    generator = torch.Generator().manual_seed(seed)
    square = torch.empty(d, d).uniform_(-1, 1, generator=generator)
    return torch.linalg.svd(square)[0].double()
