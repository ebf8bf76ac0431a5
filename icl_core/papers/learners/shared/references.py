"""The methods with which learners are compared: gradient descent and conjugate gradient of 1 to 8
steps, ridge, and Bayes."""

import numpy as np
import torch
from torch import Tensor

from icl_core.in_context_regression import learner_table
from icl_core.in_context_regression.home import Home, Prompts, error
from icl_core.in_context_regression.learner_table import BY_ID
from icl_core.in_context_regression.untrained import weights

STEPS = range(1, 9)  # of gradient descent and conjugate gradient
RIDGES = np.geomspace(1e-3, 3.0, 9)  # r of ridge


def final_weights(home: Home, tuned_on: Prompts, prompts: Prompts) -> dict[str, Tensor]:
    """Return by name the weights of every reference after all pairs, [d, prompts]. Those with a
    rate have the one that is best on `tuned_on`."""
    ridges = {f"ridge {r:.3g}": ("ridge", {"ridge": float(r)}, 1) for r in RIDGES}
    descents = {f"GD {steps}": ("gd", {}, steps) for steps in STEPS}
    conjugate = {f"CG {steps}": ("cg", {}, steps) for steps in STEPS if steps <= home.d}
    learned: dict[str, Tensor] = {}
    for name, (id, settings, steps) in {
        **descents,
        **conjugate,
        **ridges,
        "Bayes": ("bayes", {}, 1),
    }.items():
        learner = BY_ID[id]
        chosen = settings or learner_table.tune(learner, tuned_on, home, steps)
        learned[name] = weights(learner, prompts, chosen, home, steps, every=False)[0]
    return learned


def distance(first: Tensor, second: Tensor, prompts: Prompts, home: Home) -> Tensor:
    """Return the mean squared difference of two weights' answers to fresh queries, as a share of
    the error of predicting zero, [prompts]."""
    return error(first - second + prompts.w, prompts) / home.label_variance()


def mean_and_error(shares: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Return means over prompts, the last axis, and their standard errors."""
    return shares.mean(-1).numpy(), (shares.std(-1) / shares.shape[-1] ** 0.5).numpy()


def stream(number: int, seed: int) -> torch.Generator:
    """Return the generator of one of several streams of prompts of a seed.

    `number` is below 15 and `seed` below 2**28: of a larger seed torch takes the lower 32 bits
    alone.
    """
    return torch.Generator().manual_seed(2**28 * (number + 1) + seed)
