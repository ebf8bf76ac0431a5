"""When a prediction counts as right: the rule behind the accuracies and recalls of all models.

The memory laboratory, whose answers may be zero, has rules of its own that say yes or no:
`laboratory/memory.py` and `laboratory/learned_memory.py`.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor


def hits(scores: Float[Tensor, "*rows n"], target: Int[Tensor, "*#rows"]) -> Float[Tensor, "*rows"]:
    """Return the probability that a guess among the largest scores of each row is its `target`.

    It is 1 where the target's score is larger than all others, 1 / m where it is one of m that are
    largest, else 0. So equal scores give 1 / n, the share that chance gets right.
    """
    index = target.expand(scores.shape[:-1]).unsqueeze(-1)  # (*rows, 1)
    own = scores.gather(-1, index)  # (*rows, 1)
    others = scores.scatter(-1, index, -torch.inf)  # (*rows, n)
    return hits_beside(own, others).squeeze(-1)  # (*rows)


def hits_beside(
    own: Float[Tensor, "*rows 1"], others: Float[Tensor, "*rows n"]
) -> Float[Tensor, "*rows 1"]:
    """Return `hits` from the targets' own scores and the scores of all others, which hold -inf in
    the targets' places. This is several times as fast as a comparison with argmax."""
    lead = own - others.amax(-1, keepdim=True)  # (*rows, 1)
    right = (lead > 0).to(others.dtype)
    if not lead.all():
        tied = lead == 0
        equal = (others == own).sum(-1, keepdim=True)  # (*rows, 1): others with the same score
        right[tied] = 1 / (1 + equal[tied]).to(others.dtype)
    return right
