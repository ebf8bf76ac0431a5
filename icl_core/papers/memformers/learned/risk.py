"""How much a method learned from N prompts loses over one learned from endlessly many (Theorem 5.1)."""

import numpy as np

from icl_core.experiment import Run


def excess(run: Run, depth: int) -> np.ndarray:
    """How much more the method of `depth` steps loses on fresh prompts than one learned from endlessly many:
    [seeds, N]."""
    return run["evaluated/loss"][:, :, depth - 1] - run["endless/loss"][:, None, depth - 1]


def power(run: Run, depth: int) -> float:
    """The power of N at which the mean excess risk falls, by least squares on logarithms; NaN for fewer than two N."""
    mean = excess(run, depth).mean(0)
    seen = mean > 0
    if seen.sum() < 2:
        return float("nan")
    return float(np.polyfit(np.log(run["size/prompts"][seen]), np.log(mean[seen]), 1)[0])
