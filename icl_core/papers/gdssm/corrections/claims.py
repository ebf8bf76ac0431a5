"""The corrections as claims, each written once."""

from icl_core.experiment import Claim

SIGN = Claim(
    "minus-sign",
    "1 · cosine of the printed sign",
    "With β = −η/N, as printed, the output is minus a step of gradient descent: the state adds up +y xᵀ.",
    "against Section 3.1, eq. 13, and Appendix A.1",
    -1.0,
    1e-3,
)
ODD = Claim(
    "odd-windows",
    "3 · gain lost by odd windows",
    "Windows that begin at a y add y xᵀ of pairs that do not belong together; a third of the gain is lost.",
    "against Section 3.2, eq. 21",
    1 / 3,
    0.03,
)
FACTOR = Claim(
    "a1-factor",
    "4 · gain of a step twice as long",
    "A.1 drops the ½ of its loss; a gradient twice as large is a step twice as long, and at the best rate that gains "
    "nothing at all.",
    "against Appendix A.1",
    0.0,
    0.03,
)
TRANSPOSES = Claim(
    "a2-transposes",
    "5 · gain by A.2's transposes",
    "A.2 mixes W and Wᵀ: taken as printed the second step is no gradient, and costs gain.",
    "against Appendix A.2",
    0.0,
    0.0,
    "at most",
)
PENALTY = Claim(
    "a4-factor",
    "4 · penalised step off gradient descent",
    "With 2 N λ M in place of the printed M, two layers are gradient descent on the penalised loss, to rounding.",
    "against Appendix A.4",
    0.0,
    1e-4,
)
MLP = Claim(
    "a3-mlp",
    "6 · gradients of one state",
    "Two contexts with the same state have gradients 0.125 apart for a sigmoid model: no MLP on the state tells them "
    "apart, so Proposition 4 does not hold.",
    "against Appendix A.3, Proposition 4",
    0.125,
    1e-6,
)


def q_claim(f: int) -> Claim:
    """What the printed Q gains, as a share of the right one's gain, with f features."""
    return Claim(
        "printed-q",
        "2 · gain of the printed Q, as a share",
        "With Q = e₁ e₂ᵀ, as printed, the state adds up x yᵀ, which gains but 1/f² of what y xᵀ does.",
        "against Section 3.2 and Appendix A.1",
        1 / f**2,
        0.004 + 0.05 / f**2,  # four standard errors at 16,384 tasks and more
    )


def gain_claim(right: float) -> Claim:
    """What the corrected layer gains, N / (N − 2 + κ + f)."""
    return Claim(
        "corrected-gain",
        "gain of the corrected layer",
        "The corrected layer removes N / (N − 2 + κ + f) of the loss of predicting zero, as gradient descent does.",
        "closed form",
        right,
        0.01,
    )
