"""What is found of the layer on classes. A cross-entropy is new in version 3 of the paper, whose
text is not quoted here."""

from functools import partial

from icl_core.contract.experiment import Claim

SIZE = {"f": 10, "N": 10, "K": (3, 10), "seeds": range(3, 6)}
ours = partial(
    Claim, kind="ours", at=SIZE, source="not in version 1 of the paper; classes are in version 3"
)

STEP = ours(
    id="class-step",
    label="classes: cross-entropy differs from one step's by",
    text="Trained on the cross-entropy, one layer is as good as one step of gradient descent on "
    "softmax regression at its best rate, at the worst seed.",
    near=0.0,
    tolerance=0.01,
)
WEIGHTS = ours(
    id="class-weights",
    label="classes: weights differ from the construction by",
    text="The trained weights are those of the construction, scale and sign normalised away: Q "
    "over its entry (y, x) and q over its last.",
    at_most=0.0,
    tolerance=0.05,
)

ALL = (STEP, WEIGHTS)
