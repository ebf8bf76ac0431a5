"""What the paper says of other sizes."""

from functools import partial

from icl_core.contract.experiment import Claim

SEEDS = range(3, 6)
every = partial(
    Claim, kind="paper", setting="f = 10 or N = 10", at_most=0.0, tolerance=0.01,
    text="For every number of examples and of dimensions the trained layer is as good as one step "
         "of gradient descent.",
)  # fmt: skip

EVERY_SIZE = every(
    id="every-size", label="any size: loss differs from the closed form by",
    quote="the model trained from a random initialisation has an excellent match with the "
          "construction, both in the output/loss metrics (Figure 2)",
    source="Section 4.2, Figure 2 C", at={"model": "N-D", "seeds": SEEDS},
)  # fmt: skip
EVERY_SIZE_1D = every(
    id="1d-every-size", label="1-D, any size: loss differs from the closed form by",
    quote="these metrics show excellent agreement between the trained model and GD, over "
          "different hyperparameters",
    source="Section 4.1, Figure 1 C", at={"model": "1-D", "seeds": SEEDS},
)  # fmt: skip

ALL = (EVERY_SIZE, EVERY_SIZE_1D)
