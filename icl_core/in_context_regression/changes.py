"""Changes of a prompt under which a learner of linear functions should answer in a known way, and
how far its answers are from that."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from icl_core.in_context_regression.covariance import rotation
from icl_core.in_context_regression.home import Prompts
from icl_core.in_context_regression.rules import Settings
from icl_core.in_context_regression.untrained import METHODS, Learner

Y_FACTOR = 2.0
X_FACTOR = 2**0.5  # at which one step of gradient descent answers twice as much as it should

Predict = Callable[[Prompts], Tensor]  # the label of every prompt's query, [prompts]


@dataclass(frozen=True)
class Change:
    """A change of a prompt.

    id      its name in files
    name    its name in a table
    apply   takes prompts and a generator and returns the changed prompts
    factor  by what the right answer is multiplied
    """

    id: str
    name: str
    apply: Callable[[Prompts, torch.Generator], Prompts]
    factor: float = 1.0


def _larger_labels(prompts: Prompts, generator: torch.Generator) -> Prompts:
    return replace(prompts, y=Y_FACTOR * prompts.y, w=Y_FACTOR * prompts.w)


def _larger_covariates(prompts: Prompts, generator: torch.Generator) -> Prompts:
    return replace(
        prompts, x=X_FACTOR * prompts.x, query=X_FACTOR * prompts.query, w=prompts.w / X_FACTOR
    )


def _rotated(prompts: Prompts, generator: torch.Generator) -> Prompts:
    R = rotation(len(prompts.w), generator)
    return replace(
        prompts,
        x=torch.einsum("ij,njp->nip", R, prompts.x),
        query=R @ prompts.query,
        w=R @ prompts.w,
    )


def _reordered(prompts: Prompts, generator: torch.Generator) -> Prompts:
    order = torch.randperm(len(prompts.x), generator=generator)
    return replace(prompts, x=prompts.x[order], y=prompts.y[order])


def _repeated(prompts: Prompts, generator: torch.Generator) -> Prompts:
    return _appended(prompts, prompts.x[:1], prompts.y[:1])


def _with_zeros(prompts: Prompts, generator: torch.Generator) -> Prompts:
    return _appended(prompts, torch.zeros_like(prompts.x[:1]), torch.zeros_like(prompts.y[:1]))


def _appended(prompts: Prompts, x: Tensor, y: Tensor) -> Prompts:
    return replace(prompts, x=torch.cat([prompts.x, x]), y=torch.cat([prompts.y, y]))


CHANGES = (
    Change("labels", "y → 2 y", _larger_labels, Y_FACTOR),
    Change("covariates", "x → √2 x", _larger_covariates),
    Change("rotation", "x → R x", _rotated),
    Change("order", "another order", _reordered),
    Change("repeated", "the first pair again", _repeated),
    Change("zeros", "a pair of zeros", _with_zeros),
)


def departures(predict: Predict, prompts: Prompts, seed: int = 0) -> dict[str, float]:
    """Return for every change how far the answers to the changed prompts are from those that should
    come out, as a share of these: root mean squares over prompts."""
    answer = predict(prompts)
    shares: dict[str, float] = {}
    for change in CHANGES:
        changed = change.apply(prompts, torch.Generator().manual_seed(seed))
        right = change.factor * answer
        shares[change.id] = float((predict(changed) - right).norm() / right.norm())
    return shares


def exact(learner: Learner, settings: Settings, change: str) -> float | None:
    """Return the departure that a learner must have whatever the prompts are; None where it depends
    on them."""
    decay = float(settings.get("decay", 1.0))
    forgets = decay != 1.0 or "decays" in learner.settings
    has_no_order = learner.family == METHODS or learner.id in ("sum", "mesa")
    has_no_order |= learner.id == "recursive" and decay == 1.0
    is_scale_free = learner.id in ("squares", "cg", "unit", "gated", "kda", "rwkv7", "product")
    has_axes = learner.whitens or learner.id in ("bayes", "kda", "rwkv7")
    moves_on = learner.id in ("titans", "omega", "product")  # a pair of zeros brings a step too
    exactly_zero = {
        "labels": True,
        "covariates": is_scale_free or learner.id == "cg-sigma",
        "rotation": not has_axes,
        "order": has_no_order,
        "repeated": False,
        "zeros": not forgets and not moves_on,
    }
    if exactly_zero[change]:
        return 0.0
    if change == "covariates" and learner.id in ("sum", "decayed"):
        return X_FACTOR**2 - 1  # the answer is quadratic in x
    if change == "zeros" and learner.id in ("decayed", "gated"):
        return 1 - decay  # what the state holds is multiplied by the decay once more
    return None
