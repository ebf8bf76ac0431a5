"""What is lost by learning from few prompts: the excess over endlessly many (Theorem 5.1), and the
lead over conjugate gradient."""

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.papers.memformers.shared.load_run import log_from_least


def excess(run: Run, depth: int, of: str = "loss") -> np.ndarray:
    """Return the excess risk of Theorem 5.1, [seeds, N]: how much more the method of `depth` steps
    loses on fresh prompts than one learned from endlessly many, in the mean or ("median") on half
    of them."""
    return run[f"evaluated/{of}"][:, :, depth - 1] - run[f"endless/{of}"][:, None, depth - 1]


def power(run: Run, depth: int, of: str = "loss") -> float:
    """Return the power of N at which the mean excess over seeds falls, by least squares on
    logarithms; NaN for fewer than two N."""
    return _slope(run["size/prompts"], excess(run, depth, of).mean(0))


def power_error(run: Run, depth: int, of: str = "loss") -> float | None:
    """Return the standard error of `power`, from what it is without each seed in turn (the
    jackknife); None for fewer than three seeds."""
    every = excess(run, depth, of)  # [seeds, N]
    count = len(every)
    if count < 3:
        return None
    sizes = run["size/prompts"]
    slopes = [_slope(sizes, np.delete(every, seed, 0).mean(0)) for seed in range(count)]
    return float(((count - 1) * np.var(slopes)) ** 0.5)


def _slope(sizes: np.ndarray, mean: np.ndarray) -> float:
    positive = mean > 0
    if positive.sum() < 2:
        return float("nan")
    return float(np.polyfit(np.log(sizes[positive]), np.log(mean[positive]), 1)[0])


def lead(run: Run) -> tuple[np.ndarray, np.ndarray]:
    """Return the log-loss of the method of most steps less conjugate gradient's, on its own prompts
    and on fresh ones, [seeds, N] each."""
    own = log_from_least(run["evaluated/train"])[..., -1]
    own_cg = log_from_least(run["baseline/cg_train"])[..., -1]
    fresh = log_from_least(run["evaluated/loss"])[..., -1]
    return own - own_cg, fresh - log_from_least(run["baseline/cg"])[-1]
