"""One pair (learning rate, β) of Nesterov's method or momentum for all depths, over a grid: are the
pairs that the paper prints the best ones (Appendix B)?"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
import torch
from torch import Tensor

from icl_core import in_context_regression as regression
from icl_core.papers.memformers.shared import test_set
from icl_core.papers.memformers.shared.baselines import BETA, MOMENTUM, NESTEROV, TUNED_ON
from icl_core.papers.memformers.shared.task import eigenvalues_of

EXAMPLES = 20  # on which the authors' rates count: theirs is a rate on R(w) divided by 20
RATES = tuple(np.round(0.1 * np.arange(1, 31), 3).tolist())  # in units of 1 / largest eigenvalue
BETAS = tuple(np.round(0.05 * np.arange(20), 3).tolist())
DEEPEST = 4  # steps over which the log-loss is averaged, as many as in Figures 1 to 3
METHODS: dict[str, tuple[Callable[..., Tensor], float]] = {
    "Nesterov": (regression.nesterov, NESTEROV),
    "momentum": (regression.momentum, MOMENTUM),
}


@dataclass(frozen=True, eq=False)
class Grid:
    """The log-losses of a method over the grid, as means over depths.

    values   [betas, rates]
    printed  the log-loss with the pair that the paper prints
    best     the (rate, β) of the grid with the least log-loss, the rate in units of 1 / largest
             eigenvalue
    """

    values: np.ndarray
    printed: float
    best: tuple[float, float]

    @property
    def gap(self) -> float:
        """Return the log-loss of the printed pair less that of the best pair of the grid."""
        return self.printed - float(self.values.min())


def grid(method: str, config: Any) -> Grid:
    """Return the grid of a method of `METHODS` in the task of a config: the mean log-loss over one
    to four steps, or to fewer where there are fewer layers. The w* and the query are integrated
    out; prompts are the first of the test set."""
    eigenvalues = tuple(eigenvalues_of(config).tolist())
    steps = min(DEEPEST, config.layers)
    return _grid(method, config.d, config.n, eigenvalues, steps, config.noise_share)


@lru_cache(maxsize=16)  # a page draws both methods again at every change of a knob
def _grid(
    method: str, d: int, n: int, eigenvalues: tuple[float, ...], steps: int, share: float
) -> Grid:
    D = torch.tensor(eigenvalues, dtype=torch.float64)
    prompts = next(iter(test_set.held_out(d, n, TUNED_ON)))[1]  # [d, d, prompts]
    S = regression.coloured(prompts, D.to(prompts.device))
    solver, printed_rate = METHODS[method]
    pairs = [(rate, beta) for beta, rate in product(BETAS, RATES)]
    rated = torch.tensor([*pairs, (printed_rate, BETA)], dtype=torch.float64)
    rated[:, 0] /= D.max()
    losses = regression.losses_of_pairs(solver, S, D.to(S.device), steps, rated, share)
    logs = losses.log().mean(0).numpy()  # [pairs + 1]
    return Grid(
        logs[:-1].reshape(len(BETAS), len(RATES)), float(logs[-1]), pairs[int(logs[:-1].argmin())]
    )
