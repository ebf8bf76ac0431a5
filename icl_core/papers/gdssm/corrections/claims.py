"""What is known of the formulas, each statement written once; numbers that depend on f and N are those of the paper's
size. What cannot fail, as the sign of a negated output or the top of a parabola, is shown and not claimed."""

from functools import partial

from icl_core.experiment import Claim
from icl_core.papers.gdssm.shared.closed_forms import KAPPA

f, N = 10, 10  # the paper's
SIZE = {"f": f, "N": N}
MIXED = N - 2 + KAPPA + f
theory = partial(Claim, kind="theory")

GAIN = theory(
    id="corrected-gain",
    label="gain of the corrected layer",
    text="The corrected layer removes N / (N − 2 + κ + f) of the loss of predicting zero, as gradient descent does.",
    source="closed form",
    at=SIZE,
    near=N / MIXED,
    tolerance=0.01,
)
PRINTED_Q = theory(
    id="printed-q",
    label="gain with Q as printed, as a share",
    text="With Q = e₁ e₂ᵀ, as printed, the state adds up x yᵀ, which gains 1/f² of what y xᵀ does.",
    source="against Section 3.2 and Appendix A.1; exact",
    at=SIZE,
    near=1 / f**2,
    tolerance=0.0045,
)
ODD = theory(
    id="odd-windows",
    label="gain lost by a window at every token",
    text=(
        "Windows that begin at a y add x yᵀ of pairs that do not belong together: noise that takes "
        "(N − 1) f / (N (N − 2 + κ + f) + (N − 1) f) of the gain."
    ),
    source="a reading of t in Section 3.2, eq. 21; exact",
    at=SIZE,
    near=(N - 1) * f / (N * MIXED + (N - 1) * f),
    tolerance=0.02,
)
TRANSPOSES = Claim(
    id="a2-transposes",
    label="gain by A.2's transposes",
    kind="ours",
    text="A.2 mixes W and Wᵀ: taken as printed the second step is no gradient, and costs gain.",
    source="against Appendix A.2",
    at_most=0.0,
)
PENALTY = theory(
    id="a4-factor",
    label="penalised step off gradient descent",
    text="With 2 N λ M in place of the printed M, two layers are gradient descent on the penalised loss, to rounding.",
    source="against Appendix A.4",
    near=0.0,
    tolerance=1e-4,
)
BEFORE = theory(
    id="non-linear-before-the-sum",
    label="state off the gradient of a non-linear model",
    text=(
        "With the non-linearity before the sum, B = (g(w₀ᵀx) − y) g′(w₀ᵀx) x, the state is the gradient of the "
        "non-linear model at w₀, to rounding: what Proposition 4 states. Its proof, an MLP behind the sum, fails: two "
        "contexts with one sum have two gradients."
    ),
    source="Appendix A.3, Proposition 4; the proof there does not go through",
    near=0.0,
    tolerance=1e-6,
)

ALL = (GAIN, PRINTED_Q, ODD, PENALTY, TRANSPOSES, BEFORE)
