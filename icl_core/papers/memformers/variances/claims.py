"""What is claimed of heads with gates on variances that no head has seen."""

from typing import Any

from icl_core.contract.experiment import Claim

FIGURE: dict[str, Any] = {
    # trained as long as there, or longer
    "steps": range(500, 3001),
    "gate_steps": range(500, 1001),
    "variances": "1, 2, 3",
    "unseen": "0.5, 1.5, 3.5",
    "layers": 4,
    "d": 5,
    "n": 20,
    "spectrum": "paper",
    "gate_prompts": range(1000, 5001),
}
OWN = {**FIGURE, "rotations": "own"}  # as in the authors' code
FIGURE_8 = {**OWN, "protocol": "authors"}  # gates may be learned otherwise
AUTHORS = {
    **FIGURE_8,
    "steps": 500,
    "start": "zeros",
    "gate_steps": 500,
    "learner": "authors",
}
# Theorem 4.1 asks for heads that are near-optimal; and gates that start far off need as many steps
# to arrive.
TO_THE_END = {**OWN, "protocol": "ours", "steps": range(1000, 3001), "gate_steps": 1000}
# What the authors' code prints of four layers, log-losses by σ²: with gates on unseen variances,
# of one head with one gate on its own.
PRINTED = {0.5: -2.14, 1.5: -0.74, 3.5: 0.79, 1.0: -1.19, 2.0: -0.42, 3.0: 0.10}

ADAPTS = Claim(
    id="gates-adapt",
    label="unseen σ², above the head at home",
    kind="paper",
    text="With gates learned at test time, a mixture of heads is as good on variances that no "
    "head has seen as the head that knows their U is on the variance that it learned; in "
    "log-loss on fresh prompts, from which σ² drops out.",
    source="Section 4.2, Figure 8",
    quote="this design ensures robust generalization even when the variance differs from the "
    "training set",
    at=AUTHORS,
    at_most=0.1,
)
AS_PRINTED = Claim(
    id="figure-8",
    label="Figure 8, printed points: off by",
    kind="paper",
    text="With four layers, and gates that the authors' 500 steps have learned, the log-losses on "
    "the prompts met of the unseen variances are those that the authors' code prints. The number "
    "is how far the worst of them is off, in standard deviations between seeds. (Their heads move "
    "the covariates too.)",
    source="Section 4.2, Figure 8",
    quote="A trainable gating mechanism allows effective OOD adaptation",
    at=AUTHORS,
    at_most=3.0,
)
PRINTED_ABOVE = Claim(
    id="printed-gates-above-home",
    label="by the printed points: above the head at home, least",
    kind="ours",
    text="By the paper's own points, from which σ² is taken out, gates on each unseen variance are "
    "above the head at home, −2.10. So Figure 8 does not show what the text says of it.",
    source="against Section 4.2; no run of ours enters",
    at=AUTHORS,
    at_least=0.1,
)
REACHES = Claim(
    id="gates-reach-head",
    label="gates above the head at home",
    kind="ours",
    text="On a variance that one head was trained on, gates learned at test time do as well as "
    "that head.",
    source="Theorem 4.1 says that such gates exist",
    at=TO_THE_END,
    at_most=0.1,
)
FINDS = Claim(
    id="gates-find-head",
    label="share of the head that knows U",
    kind="ours",
    text="Gates learned at test time become σₕ²/σ² for the head that knows the prompts' U, one "
    "whole step of it, as a mean over unseen variances: learning finds Theorem 4.1's choice.",
    source="Theorem 4.1; as the authors' code leaves the gates",
    at=TO_THE_END,
    near=1.0,
    tolerance=0.15,
)
ONE_SCALAR = Claim(
    id="one-scalar-suffices",
    label="what gates gain over one number",
    kind="ours",
    text="With a common U, gates for all heads are no better than one head with one number.",
    source="not in the paper; against Figure 8's reading",
    at={**FIGURE, "rotations": "common"},
    near=0.0,
    tolerance=0.05,
)
NOT_IDENTIFIED = Claim(
    id="gates-keep-their-start",
    label="last head's share, apart by start",
    kind="ours",
    text="With a common U the gates are not determined: where they start decides more than half a "
    "step of what the last head ends with.",
    source="not in the paper; heads that differ in a factor alone can share the work in any way",
    at={**FIGURE, "rotations": "common"},
    at_least=0.5,
)

ALL = (ADAPTS, AS_PRINTED, PRINTED_ABOVE, REACHES, FINDS, ONE_SCALAR, NOT_IDENTIFIED)
