"""What the paper says of other sizes, and how far every size is from gradient descent."""

from functools import partial

import numpy as np

from icl_core.contract.experiment import Claim, Metric, Run
from icl_core.papers.gdssm.shared.load_run import unfinished

SEEDS = range(3, 6)
every = partial(
    Claim, kind="paper", setting="f = 10 or N = 10", at_most=0.0, tolerance=0.01,
    text="For every number of examples and of dimensions the trained layer is as good as one step "
         "of gradient descent.",
)  # fmt: skip

EVERY_SIZE = every(
    id="every-size", label="any size: loss differs from the closed form by",
    panel="gaps",
    quote="the model trained from a random initialisation has an excellent match with the "
          "construction, both in the output/loss metrics (Figure 2)",
    source="Section 4.2, Figure 2 C", at={"model": "N-D", "seeds": SEEDS},
)  # fmt: skip
EVERY_SIZE_1D = every(
    id="1d-every-size", label="1-D, any size: loss differs from the closed form by",
    panel="gaps",
    quote="these metrics show excellent agreement between the trained model and GD, over "
          "different hyperparameters",
    source="Section 4.1, Figure 1 C", at={"model": "1-D", "seeds": SEEDS},
)  # fmt: skip

ALL = (EVERY_SIZE, EVERY_SIZE_1D)


def measure(run: Run) -> list[Metric]:
    """Measure the worst size and seed; whether the training had come to its end is known of the
    first size."""
    claim = EVERY_SIZE_1D if run.config.model == "1-D" else EVERY_SIZE
    return [Metric(claim, worst(run), unfinished=unfinished(run))]


def worst(run: Run) -> float:
    """Return the largest |trained / constructed − 1| of any size and seed."""
    return float(np.abs(run["evaluated/ratio"] - 1).max())
