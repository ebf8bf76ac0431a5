"""Detect a training that diverges, and say what to try instead."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from icl_core.contract.experiment import Diverged


def check(step: int, loss: Any, gradients: Mapping[str, Tensor], ceiling: float) -> None:
    """Raise `Diverged` if the loss or its gradient is not finite, or the loss is above the ceiling.

    `loss` is a number or an array [seeds], of which the largest counts.
    """
    largest = float(np.max(loss))
    finite = all(bool(torch.isfinite(gradient.sum())) for gradient in gradients.values())
    if not finite or largest == float("inf"):
        why = "the loss or its gradient is no longer finite"
    elif largest > ceiling:
        why = f"the loss is {largest:.3g}, above {ceiling:.3g}"
    else:
        return
    if step > 0:
        smaller = "a smaller learning rate"
    else:
        smaller = "fewer layers or smaller numbers, as this is before any step"
    raise Diverged(f"it diverged at step {step}: {why}; try {smaller}")
