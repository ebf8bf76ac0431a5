"""The corrections as claims, each written once; numbers that depend on f and N are those of the paper's size."""

from functools import partial

from icl_core.experiment import Claim

SIZE = {"f": 10, "N": 10}
theory, ours = partial(Claim, kind="theory"), partial(Claim, kind="ours")

GAIN = theory(
    id="corrected-gain",
    label="gain of the corrected layer",
    text="The corrected layer removes N / (N − 2 + κ + f) of the loss of predicting zero, as gradient descent does.",
    source="closed form",
    at=SIZE,
    near=10 / (10 - 2 + 1.8 + 10),  # kappa is 1.8
    tolerance=0.01,
)
PRINTED_Q = ours(
    id="printed-q",
    label="2 · gain of the printed Q, as a share",
    text="With Q = e₁ e₂ᵀ, as printed, the state adds up x yᵀ, which gains but 1/f² of what y xᵀ does.",
    source="against Section 3.2 and Appendix A.1",
    at=SIZE,
    near=1 / 10**2,
    tolerance=0.0045,
)
SIGN = theory(
    id="minus-sign",
    label="1 · cosine of the printed sign",
    text="With β = −η/N, as printed, the output is minus a step of gradient descent: the state adds up +y xᵀ.",
    source="against Section 3.1, eq. 13, and Appendix A.1",
    near=-1.0,
    tolerance=1e-3,
)
ODD = ours(
    id="odd-windows",
    label="3 · gain lost by odd windows",
    text="Windows that begin at a y add y xᵀ of pairs that do not belong together; a third of the gain is lost.",
    source="against Section 3.2, eq. 21",
    at=SIZE,
    near=1 / 3,
    tolerance=0.03,
)
FACTOR = theory(
    id="a1-factor",
    label="4 · gain of a step twice as long",
    text=(
        "A.1 drops the ½ of its loss; a gradient twice as large is a step twice as long, and at the best rate that "
        "gains nothing at all."
    ),
    source="against Appendix A.1",
    near=0.0,
    tolerance=0.03,
)
TRANSPOSES = ours(
    id="a2-transposes",
    label="5 · gain by A.2's transposes",
    text="A.2 mixes W and Wᵀ: taken as printed the second step is no gradient, and costs gain.",
    source="against Appendix A.2",
    at_most=0.0,
)
PENALTY = theory(
    id="a4-factor",
    label="4 · penalised step off gradient descent",
    text="With 2 N λ M in place of the printed M, two layers are gradient descent on the penalised loss, to rounding.",
    source="against Appendix A.4",
    near=0.0,
    tolerance=1e-4,
)
MLP = theory(
    id="a3-mlp",
    label="6 · gradients of one state",
    text=(
        "Two contexts with the same state have gradients 0.125 apart for a sigmoid model: no MLP on the state tells "
        "them apart, so Proposition 4 does not hold."
    ),
    source="against Appendix A.3, Proposition 4",
    near=0.125,
    tolerance=1e-6,
)

ALL = (GAIN, SIGN, PRINTED_Q, ODD, FACTOR, PENALTY, TRANSPOSES, MLP)
