"""What is claimed of first-order methods that are learned directly, from a number of prompts."""

from icl_core.contract.experiment import Claim

TASK = {"d": 5, "spectrum": "isotropic", "steps": range(1000, 5001)}
# The authors' method sees 19 of the 20 examples.
FIGURE = {**TASK, "n": (19, 20), "memory": "learned shared", "layers": 4}
AUTHORS = {**FIGURE, "n": 19, "protocol": "authors", "learning_rate": 0.19}
THEIR_PROMPTS = {**AUTHORS, "batches": "authors", "steps": 1000, "seed": 1}  # the U of seed 1
# log-losses of one to four steps as the authors' code prints them, by the number of prompts, on
# these prompts
PRINTED = {
    10: (-1.53, -3.52, -23.19, -26.50),
    50: (-0.40, -0.77, -1.23, -1.42),
    100: (-0.21, -0.42, -1.02, -1.03),
    1000: (0.20, -0.07, -0.58, -0.88),
}
# On 1,000 fresh prompts, with all 20 examples.
PRINTED_CGD = (-0.11, -1.76, -3.71, -6.40)
# Of 10 prompts another draw moves the points by several units, so that no ring can be off there.
COMPARED = (50, 100, 1000)

FEW_FIT = Claim(
    id="few-prompts-fit", label="log-loss on 10 prompts, below CGD's, least", kind="paper",
    text="Learned from 10 prompts, the method is as good on these as conjugate gradient, or "
         "better, in each seed.",
    source="Section 5, Figure 11", quote="can match or exceed the performance of Conjugate "
                                         "Gradient Descent (CGD)",
    at=AUTHORS, at_least=0.0,
)  # fmt: skip
OVERFITS = Claim(
    id="few-prompts-overfit", label="10 prompts: fresh ones above their own, least", kind="paper",
    text="Learned from 10 prompts, the method has at least twice the error on fresh ones that it "
         "has on its own, whichever they are.",
    source="Section 5", quote="Such a strategy can overfit if batches are extremely small",
    at=AUTHORS, at_least=0.69,
)  # fmt: skip
GENERALISES = Claim(
    id="many-prompts-generalise", label="1000 prompts: fresh ones above their own", kind="paper",
    text="Learned from 1000 prompts, the method is little worse on fresh ones than on its own: by "
         "less than a fifth.",
    source="Section 5", quote="tends to generalize effectively for moderate to large batch sizes",
    at=AUTHORS, at_most=0.2,
)  # fmt: skip
FEW_FAIL = Claim(
    id="few-prompts-fail", label="CGD's log-loss less that from 10 prompts, fresh", kind="ours",
    text="On fresh prompts the method learned from 10 is behind conjugate gradient.",
    source="not in the paper, which shows the 10 prompts alone",
    at=FIGURE, at_most=0.0,
)  # fmt: skip
AS_PRINTED = Claim(
    id="figure-11", label="Figure 11, printed points: off by", kind="paper",
    text="Learned as the authors do, on their own prompts, the methods' errors on these are those "
         "that their code prints: the worst point is off by 0.05 in log-loss at most. Points below "
         "−14, where ten prompts are solved, have a row of their own.",
    source="Section 5, Figure 11",
    quote="LFOM parameters (3.5) are trained directly from data, while CGD is run separately on "
          "each instance",
    at=THEIR_PROMPTS, at_most=0.05,
)  # fmt: skip
TEN_SOLVED = Claim(
    id="figure-11-ten-solved", label="Figure 11, ten prompts with 3 and 4 steps: log-loss",
    kind="paper",
    text="Learned from the authors' ten prompts, methods of three and four steps solve these: both "
         "log-losses are below −20, as printed (−23.2 and −26.5). How far below, rounding decides.",
    source="Section 5, Figure 11", quote="can match or exceed the performance of Conjugate "
                                         "Gradient Descent (CGD)",
    at=THEIR_PROMPTS, at_most=-20.0,
)  # fmt: skip
CGD_AS_PRINTED = Claim(
    id="figure-11-cgd", label="Figure 11, conjugate gradient: off by", kind="paper",
    text="On the authors' prompts conjugate gradient, which sees all 20 examples, has the errors "
         "that their code prints.",
    source="Section 5, Figure 11",
    quote="LFOM parameters (3.5) are trained directly from data, while CGD is run separately on "
          "each instance",
    at=THEIR_PROMPTS, at_most=0.05,
)  # fmt: skip
RISK_VANISHES = Claim(
    id="risk-vanishes", label="power of N in the excess risk, bounded loss", kind="paper",
    text="Where the loss is bounded, the excess risk of a learned method vanishes as prompts are "
         "added: the power of N with which it falls, for two steps, is below zero. The theorem "
         "names no power.",
    source="Theorem 5.1", quote="generalize well on new in-context samples from",
    at={**TASK, "protocol": "ours", "prompts": "spheres"}, at_most=0.0,
)  # fmt: skip
RISK_FALLS = Claim(
    id="risk-falls", label="power of N in the excess risk", kind="ours",
    text="Where x and w* are Gaussian, so that the loss is not bounded, the mean excess risk still "
         "falls at least as fast as N^(-1/2), the usual bound of uniform convergence.",
    source="Theorem 5.1 does not say it of an unbounded loss, and names no power",
    at={**TASK, "protocol": "ours", "prompts": "gaussian"}, at_most=-0.5,
)  # fmt: skip
MEDIAN_FALLS = Claim(
    id="median-falls", label="power of N in the excess median", kind="ours",
    text="The excess of the median over fresh prompts, in which rare prompts do not count, falls "
         "as fast too.",
    source="not in the paper",
    at={**TASK, "protocol": "ours", "prompts": "gaussian"}, at_most=-0.5,
)  # fmt: skip

# Figures 5 to 7's training at seven batch sizes
SIZES = {
    "d": 5,
    "n": 20,
    "spectrum": "paper",
    "layers": 4,
    "protocol": "authors",
    "batches": "fixed",
    "learning_rate": 0.01,
    "steps": 1000,
    "sizes": "1, 3, 10, 30, 100, 300, 1000",
    "seeds": 5,
}
SCALAR_LEAD_ENDS = Claim(
    id="scalar-lead-ends",
    label="A = aI, own prompts, N ≥ 30: Memformer minus CGD, least",
    kind="ours",
    text="With A = aI, as in Figures 5 and 6, the Memformer is ahead of conjugate gradient on its "
    "own prompts for very few of them alone: from 30 on it is behind.",
    source="against Figures 5 and 6, whose batches are 1 and 10",
    at={**SIZES, "memory": "memformer scalar"},
    at_least=0.0,
)
FULL_LEADS_ON_OWN = Claim(
    id="full-leads-on-own",
    label="full A, own prompts: CGD minus Memformer, least",
    kind="ours",
    text="With full matrices the Memformer is ahead of conjugate gradient on its own prompts at "
    "every batch size up to 1000.",
    source="not in the paper, whose Figures 5 to 7 have A = aI",
    at={**SIZES, "memory": "memformer full"},
    at_least=0.0,
)
BEHIND_ON_FRESH = Claim(
    id="behind-on-fresh",
    label="fresh prompts, N ≤ 300: Memformer minus CGD, least",
    kind="ours",
    text="On fresh prompts a Memformer that was trained on at most 300 is behind conjugate "
    "gradient, whatever it learns: the lead on its own prompts was overfitting.",
    source="against Figures 5 and 6",
    at={**SIZES, "memory": ("memformer scalar", "memformer full")},
    at_least=0.0,
)
ALL = (
    FEW_FIT,
    OVERFITS,
    GENERALISES,
    FEW_FAIL,
    AS_PRINTED,
    TEN_SOLVED,
    CGD_AS_PRINTED,
    RISK_VANISHES,
    RISK_FALLS,
    MEDIAN_FALLS,
    SCALAR_LEAD_ENDS,
    FULL_LEADS_ON_OWN,
    BEHIND_ON_FRESH,
)
