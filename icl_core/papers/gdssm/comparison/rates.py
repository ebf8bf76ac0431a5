"""One learning rate for each model, tuned once and alike: the same rates tried, the same number of steps each."""

import math
from collections.abc import Mapping

RATES = (1e-3, 3e-3, 1e-2, 3e-2)


def best(losses: Mapping[float, float]) -> float:
    """The rate with the lowest held-out loss, of equals the smallest. Infinite or NaN stands for a training that
    diverged; raises `ValueError` if all did."""
    kept = {rate: loss for rate, loss in losses.items() if math.isfinite(loss)}
    if not kept:
        raise ValueError(f"rates must include one that does not diverge, got {tuple(losses)}")
    return min(kept, key=lambda rate: (kept[rate], rate))
