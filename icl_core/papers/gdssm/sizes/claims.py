"""What the paper says of other sizes."""

from icl_core.experiment import Claim

EVERY_SIZE = Claim(
    id="every-size", label="any size: loss differs from the closed form by", kind="paper",
    text="For every number of examples and of dimensions the trained layer is as good as one step of gradient "
    "descent.",
    quote="Comparison of loss between Gradient Descent (GD) and the SSM layer model for different input sizes",
    source="Sections 4.1 and 4.2, Figures 1 C and 2 C", setting="f = 10 or N = 10", at_most=0.0, tolerance=0.01,
)  # fmt: skip
