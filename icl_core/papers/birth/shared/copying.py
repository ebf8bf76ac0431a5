"""Whether a model says what its context tells where the text's bigrams speak against it."""

from jaxtyping import Float
from torch import Tensor

from icl_core.papers.birth.shared.gradient import share
from icl_core.papers.birth.shared.task import Batch, Task

LIKELIER = 10  # so many bigrams at least are likelier than an output that counts as unlikely


def copied_the_unlikely(
    right: Float[Tensor, "batch T"], batch: Batch, task: Task
) -> tuple[float, float]:
    """Return how often a model says what the context tells where at least LIKELIER characters
    follow the query more often in the text, and its standard error.

    `right` is how often its prediction is right at every position (`accuracy.hits`).
    """
    follow = task.bigram[batch.inputs]  # (batch, T, N)
    own = follow.gather(2, batch.targets[..., None])  # (batch, T, 1)
    is_unlikely = (follow > own).sum(2) >= LIKELIER  # (batch, T)
    return share(right, batch.in_context & is_unlikely)
