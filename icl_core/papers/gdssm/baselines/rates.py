"""One learning rate for each baseline, tuned once and alike: the same rates tried, the same number of steps each."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

Trained = TypeVar("Trained")

RATES = (1e-3, 3e-3, 1e-2, 3e-2)


@dataclass(frozen=True)
class Tuned:
    """The rate with the lowest loss, and all that was tried: rate -> loss, infinite where the training diverged."""

    rate: float
    losses: dict[float, float]
    steps: int

    @property
    def at_the_edge(self) -> bool:
        """Whether a rate outside the list might have been better still."""
        return self.rate in (min(self.losses), max(self.losses))


def tune(
    train: Callable[[float, int], Trained],
    evaluate: Callable[[Trained], float],
    steps: int,
    rates: Sequence[float] = RATES,
) -> Tuned:
    """Train once at each rate for `steps` and judge each by its held-out loss.

    `train(rate, steps)` starts from the same parameters and batches at every rate, `evaluate` judges on the same
    tasks, which are neither those trained on nor those reported: that is the caller's part. Raises `ValueError`
    if every rate diverged.
    """
    losses = {rate: evaluate(train(rate, steps)) for rate in rates}
    losses = {rate: loss if math.isfinite(loss) else math.inf for rate, loss in losses.items()}
    rate = min(losses, key=lambda rate: (losses[rate], rate))  # of equals the smallest
    if losses[rate] == math.inf:
        raise ValueError(f"rates must include one that does not diverge, got {tuple(rates)}")
    return Tuned(rate, losses, steps)
