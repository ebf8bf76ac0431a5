"""What is found here of width; the paper does not speak of it."""

from functools import partial

from icl_core.contract.experiment import Claim

ours = partial(Claim, kind="ours", source="not in the paper, which gives no widths of the others")
BUILT = {
    "widths": "1/2, 3/4, 1, 3/2, 2",
    "models": "all",
    "norm": "authors",
    "learning_rate": 3e-3,
    "bias": (False, True),
}
SMALL = {"model": "N-D", "f": 3, "N": 5, **BUILT, "seeds": range(3, 6)}
GIVEN = {"model": "1-D", "f": 10, "N": 10, **BUILT, "seeds": range(3, 6)}

NARROW = ours(
    id="half-the-width-is-too-narrow",
    label="f = 3, half of 2f + N + 1: best two-layer transformer is above one step by",
    text=(
        "With half of 2f + N + 1, which is 2f at f = 3 and N = 5, no transformer of two layers "
        "reaches one step. (All widths share one rate.)"
    ),
    at=SMALL,
    at_least=0.05,
)
WIDE = ours(
    id="the-full-width-suffices",
    label="f = 3, at 2f + N + 1: best two-layer transformer is above one step by",
    text="With 2f + N + 1 a transformer of two layers reaches one step.",
    at=SMALL,
    at_most=0.05,
)
PRODUCTS = ours(
    id="too-narrow-for-the-step",
    label="1-D, half of 2f + N + 1: linear transformer, one layer, is above one step by",
    text=(
        "Where the products are given, the linear transformer of one layer does not reach one "
        "step with half of 2f + N + 1, which is less than the 2f + 2 that the step takes when it "
        "is written down. (All widths share one rate.)"
    ),
    at=GIVEN,
    at_least=0.05,
)

ALL = (NARROW, WIDE, PRODUCTS)
