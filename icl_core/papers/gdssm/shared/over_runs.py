"""The losses of several runs on the same tasks, each to the last bit as of that run by itself.

What depends on the tasks alone is computed once for all. But libraries may add up a product in
another order where it has more rows, above all of the few tasks that are left behind the last
chunk. So whether they do is looked at first.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from icl_core.papers.gdssm.shared import any_layer as models
from icl_core.papers.gdssm.shared.any_layer import Model
from icl_core.papers.gdssm.shared.task import Tasks, loss


def losses(
    trained: Sequence[Model], others: Sequence[Model], sets: Iterable[Tasks]
) -> Iterator[np.ndarray]:
    """Yield, for each set of tasks, all of one size, the losses of every seed of the trained
    models, and then of the others beside them."""
    ways: list[Callable[..., Tensor]] = []
    for tasks in sets:
        full = len(tasks) - len(tasks) % models.chunk(tasks)
        parts = [part for part in (tasks.part(0, full), tasks.part(full, len(tasks))) if len(part)]
        ways = ways or [_way(trained, others, part) for part in parts]
        predictions = [way(trained, others, part) for way, part in zip(ways, parts, strict=True)]
        # (seeds of all models, n_o, tasks)
        yield loss(torch.cat(predictions, -1), tasks.y[-1]).cpu().numpy()


def _way(trained: Sequence[Model], others: Sequence[Model], tasks: Tasks) -> Callable[..., Tensor]:
    """Return how tasks like these are read: all runs at once where that changes no digit of the
    first chunk."""
    first = tasks.part(0, min(len(tasks), models.chunk(tasks)))
    same = len(trained) == 1 or torch.equal(
        _at_once(trained, others, first), _apart(trained, others, first)
    )
    return _at_once if same else _apart


def _at_once(trained: Sequence[Model], others: Sequence[Model], tasks: Tasks) -> Tensor:
    """Return the predictions of all runs, (seeds of all, n_o, tasks), in one call."""
    return models.predict(models.joined(*trained, *others), tasks)


def _apart(trained: Sequence[Model], others: Sequence[Model], tasks: Tasks) -> Tensor:
    """Return the same, run by run."""
    predictions = [models.predict(models.joined(run, *others), tasks) for run in trained]
    beside = sum(len(other.a) for other in others)
    own = [prediction[:-beside] for prediction in predictions]  # the last rows are the others'
    return torch.cat([*own, predictions[0][-beside:]])
