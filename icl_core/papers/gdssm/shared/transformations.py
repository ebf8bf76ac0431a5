"""Changes of a prompt under which a learner of linear functions should answer in a known way, and
how far its answers are from that.

None has to hold of a trained model. A model that lacks one has to learn from the tasks what another
has by its form.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from icl_core.papers.gdssm.shared.task import Tasks

Y_FACTOR = 2.0
X_FACTOR = 2**0.5  # at which a step of gradient descent answers twice as much as it should
SPREAD = 0.2, 5.2  # of the factors of the single labels

Predict = Callable[[Tasks], Tensor]  # (n_o, tasks)
Answer = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Transformation:
    """A change of a prompt.

    id      its name in files
    name    its name in a table
    change  of tasks to the changed tasks, and of the answer to the one that should come out
    several  whether it needs labels of several features
    """

    id: str
    name: str
    change: Callable[[Tasks, torch.Generator], tuple[Tasks, Answer]]
    several: bool = False


def _same(answer: Tensor) -> Tensor:
    """Return the answer as it is: it should not change."""
    return answer


def _label_size(tasks: Tasks, generator: torch.Generator) -> tuple[Tasks, Answer]:
    """Double y; the answer should double."""
    return Tasks(tasks.x, tasks.y * Y_FACTOR), lambda answer: answer * Y_FACTOR


def _covariate_size(tasks: Tasks, generator: torch.Generator) -> tuple[Tasks, Answer]:
    """Multiply x by √2; the answer should stay."""
    return Tasks(tasks.x * X_FACTOR, tasks.y), _same


def _order(tasks: Tasks, generator: torch.Generator) -> tuple[Tasks, Answer]:
    """Shuffle the pairs; the answer should stay."""
    order = torch.randperm(tasks.N, generator=generator)
    place = torch.cat((order, torch.tensor([tasks.N]))).to(tasks.x.device)  # the query stays last
    return Tasks(tasks.x[place], tasks.y[place]), _same


def rotation(size: int, generator: torch.Generator) -> Tensor:
    """Return a random orthogonal matrix."""
    return torch.linalg.qr(torch.randn(size, size, generator=generator, dtype=torch.float64))[0]


def _rotated(tasks: Tasks, generator: torch.Generator) -> tuple[Tasks, Answer]:
    """Rotate x; the answer should stay."""
    R = rotation(tasks.f, generator).to(tasks.x)
    return Tasks(torch.einsum("ij,njt->nit", R, tasks.x), tasks.y), _same


def _rotated_labels(tasks: Tasks, generator: torch.Generator) -> tuple[Tasks, Answer]:
    """Rotate y; the answer should rotate with it."""
    R = rotation(tasks.y.shape[1], generator).to(tasks.y)
    turned = torch.einsum("ij,njt->nit", R, tasks.y)
    return Tasks(tasks.x, turned), lambda answer: R @ answer


TRANSFORMATIONS = (
    Transformation("label size", "y → 2 y", _label_size),
    Transformation("covariate size", "x → √2 x", _covariate_size),
    Transformation("order", "pairs in another order", _order),
    Transformation("rotation", "x → R x", _rotated),
    Transformation("label rotation", "y → R y", _rotated_labels, several=True),
)


def departures(predict: Predict, tasks: Tasks, seed: int = 0) -> dict[str, float]:
    """Return, of every transformation that these tasks have, how far the answers to the changed
    prompts are from those that should come out, as a share of these: root mean squares over tasks.
    """
    answer = predict(tasks)
    shares: dict[str, float] = {}
    for transformation in TRANSFORMATIONS:
        if transformation.several and tasks.y.shape[1] == 1:
            continue
        changed, expected = transformation.change(tasks, torch.Generator().manual_seed(seed))
        right = expected(answer)
        shares[transformation.id] = float((predict(changed) - right).norm() / right.norm())
    return shares


def response_to_sizes(predict: Predict, tasks: Tasks, seed: int = 0) -> float:
    """Return by what share the answers change where every single label has a factor of its own;
    0 means that the model cannot see how large any label is."""
    generator = torch.Generator().manual_seed(seed)
    low, high = SPREAD
    factors = low + (high - low) * torch.rand(len(tasks.y), 1, len(tasks), generator=generator)
    answer = predict(tasks)
    changed = predict(Tasks(tasks.x, tasks.y * factors.to(tasks.y)))
    return float((changed - answer).norm() / answer.norm())
