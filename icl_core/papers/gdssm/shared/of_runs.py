"""The losses of several runs on the same tasks, each to the last bit as of that run by itself.

What depends on the tasks alone is computed once for all. But libraries may add up a product in another order where it
has more rows: so whether they do is looked at on the first tasks, and those few that are left behind the last chunk,
too small a product for the usual kernel, are read run by run.
"""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from icl_core.papers.gdssm.shared import any_layer as models
from icl_core.papers.gdssm.shared.any_layer import Model
from icl_core.papers.gdssm.shared.task import Tasks, loss


def losses(trained: Sequence[Model], others: Sequence[Model], sets: Iterable[Tasks]) -> Iterator[np.ndarray]:
    """On each set of tasks, all of one size, the losses of every seed of the trained, and then of what each of these
    stands beside."""
    exact = len(trained) == 1
    for index, tasks in enumerate(sets):
        size = models.chunk(tasks)
        full = len(tasks) - len(tasks) % size
        if index == 0 and not exact and full:
            first = tasks.part(0, size)
            exact = torch.equal(_at_once(trained, others, first), _apart(trained, others, first))
        first, rest = tasks.part(0, full), tasks.part(full, len(tasks))
        parts = [(_at_once if exact else _apart)(trained, others, first)] if full else []
        parts += [_apart(trained, others, rest)] if len(rest) else []
        yield loss(torch.cat(parts, -1), tasks.y[-1]).cpu().numpy()


def _at_once(trained: Sequence[Model], others: Sequence[Model], tasks: Tasks) -> Tensor:
    return models.predict(models.joined(*trained, *others), tasks)


def _apart(trained: Sequence[Model], others: Sequence[Model], tasks: Tasks) -> Tensor:
    each = [models.predict(models.joined(run, *others), tasks) for run in trained]
    beside = sum(len(other.a) for other in others)
    return torch.cat([*(run[:-beside] for run in each), each[0][-beside:]])
