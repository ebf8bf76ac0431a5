"""What counts as right: the rule of the accuracies and recalls of models.

The memory laboratory, whose answers may be zero, has rules of its own that say yes or no:
`laboratory/memory.py` and `laboratory/learned_memory.py`.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor


def hits(scores: Float[Tensor, "*rows n"], target: Int[Tensor, "*#rows"]) -> Float[Tensor, "*rows"]:
    """Return how often a guess among the largest scores of each row is its `target`.

    It is 1 where the target's score is larger than all others, 1 / m where it is one of m that are
    largest, else 0. So equal scores give 1 / n, the share that chance gets right.
    """
    at = target.expand(scores.shape[:-1]).unsqueeze(-1)
    return hits_beside(scores.gather(-1, at), scores.scatter(-1, at, -torch.inf)).squeeze(-1)


def hits_beside(
    own: Float[Tensor, "*rows 1"], others: Float[Tensor, "*rows n"]
) -> Float[Tensor, "*rows 1"]:
    """Return `hits` of the targets' scores beside all others, which have -inf in their place.
    Several times as fast as comparing with argmax."""
    lead = own - others.amax(-1, keepdim=True)
    right = (lead > 0).to(others.dtype)
    if not lead.all():
        tied = lead == 0
        right[tied] = 1 / (1 + (others == own).sum(-1, keepdim=True)[tied]).to(others.dtype)
    return right
