"""What is claimed of first-order methods that are learned directly, from a number of prompts."""

from icl_core.experiment import Claim

TASK = {"d": 5, "n": 20, "spectrum": "isotropic", "steps": range(1000, 5001)}
FIGURE = {**TASK, "memory": "learned shared", "layers": 4}

FEW_FIT = Claim(
    id="few-prompts-fit", label="log-loss on 10 prompts, below CGD's", kind="paper",
    text="Learned from 10 prompts, the method is far ahead of conjugate gradient on them.",
    source="Section 5, Figure 11", quote="can match or exceed the performance of Conjugate Gradient Descent (CGD)",
    at=FIGURE, at_least=2.0,
)  # fmt: skip
FEW_FAIL = Claim(
    id="few-prompts-fail", label="the same on fresh prompts", kind="ours",
    text="On fresh prompts the method learned from 10 is behind conjugate gradient.",
    source="not in the paper; against Figure 11's reading",
    at=FIGURE, at_most=0.0,
)  # fmt: skip
MANY_SHARED = Claim(
    id="many-prompts-shared", label="log-loss from 1000 prompts", kind="paper",
    text="With one Λ_i for all steps and 1000 prompts, four steps end near -0.9, far from conjugate gradient's -6.4.",
    source="Section 5, Figure 11",
    quote="LFOM parameters (3.5) are trained directly from data, while CGD is run separately on each instance",
    at=FIGURE, near=-0.9, tolerance=0.1,
)  # fmt: skip
RISK_FALLS = Claim(
    id="risk-falls", label="power of N in the excess risk", kind="paper",
    text="The excess risk of a learned method falls with the number of prompts, at least as fast as the bound, "
    "N^(-1/2).",
    source="Theorem 5.1", quote="generalize well on new in-context samples from",
    at=TASK, at_most=-0.5,
)  # fmt: skip

ALL = (FEW_FIT, FEW_FAIL, MANY_SHARED, RISK_FALLS)
