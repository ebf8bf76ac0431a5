"""What else the paper says of Figures 1 to 4, of the classical methods' settings (Appendix B) and
of many layers (Appendix C)."""

from icl_core.contract.experiment import Claim
from icl_core.papers.memformers.methods.claims import EITHER, FOURTH, FRESH, TASK

FIRST = {**EITHER, "variant": "cgd", "preconditioner": ("scalar", "averaged"), "heads": 1}
SECOND = {
    **EITHER,
    "variant": ("cgd", "token shared"),
    "preconditioner": "full",
    "heads": 1,
}

COMPETITIVE = Claim(
    id="competitive",
    label="A = aI: Memformer minus CGD, up to four layers",
    kind="paper",
    text="Without preconditioners the CGD-like Memformer competes with conjugate gradient: it is "
    "at most .1 above it in log-loss, an error 11% larger. The worst of one to four layers counts.",
    source="Section 3.3, Figure 1",
    quote="Despite this approximation, performance remains competitive",
    at=FIRST,
    at_most=0.1,
)
DEFLECTION = Claim(
    id="emulates-deflection",
    label="share on older gradients, trained minus CGD",
    kind="paper",
    text="The α and γ that all prompts share do what conjugate gradient does: the share of the "
    "step that lies on older gradients is that of conjugate gradient's mean table, within .15; "
    "with four layers.",
    source="Section 3.3, Figure 1",
    quote="emulate CGD’s line search and deflection",
    at=FIRST,
    near=0.0,
    tolerance=0.15,
)
LINE_SEARCH = Claim(
    id="emulates-line-search",
    label="last step on its own gradient, log of trained over CGD",
    kind="paper",
    text="The length of the fourth layer's step along its own gradient is that of conjugate "
    "gradient's line search, as a mean over prompts; the logarithm of their ratio counts, near 0 "
    "within .5.",
    source="Section 3.3, Figure 1",
    quote="emulate CGD’s line search and deflection",
    at=FIRST,
    near=0.0,
    tolerance=0.5,
)
BEATS_NESTEROV = Claim(
    id="beats-nesterov",
    label="trained minus Nesterov, worst depth",
    kind="paper",
    text="With preconditioners the Memformer has a lower log-loss than Nesterov's method with the "
    "authors' settings, with every number of layers up to four.",
    source="Section 3.3, Figures 2 and 3",
    quote="often outperforming CGD, Nesterov AGM and momentum GD",
    at=SECOND,
    at_most=0.0,
)
BEATS_MOMENTUM = Claim(
    id="beats-momentum",
    label="trained minus momentum, worst depth",
    kind="paper",
    text="With preconditioners the Memformer has a lower log-loss than momentum with the authors' "
    "settings, with every number of layers up to four.",
    source="Section 3.3, Figures 2 and 3",
    quote="often outperforming CGD, Nesterov AGM and momentum GD",
    at=SECOND,
    at_most=0.0,
)
BEATS_TUNED = Claim(
    id="beats-tuned",
    label="trained minus the better tuned method, worst depth",
    kind="ours",
    text="With preconditioners the Memformer also beats Nesterov's method and momentum with the "
    "best rate and β for each depth.",
    source="not in the paper, which has one pair of settings for each method",
    at=SECOND,
    at_most=0.0,
)
NESTEROV_BEST = Claim(
    id="nesterov-pair-best",
    label="Nesterov: printed pair minus the best pair",
    kind="paper",
    text="No pair of learning rate and β on a grid of .1 by .05 has a log-loss lower by more than "
    ".05 than the printed .03 and .9, as a mean over one to four steps.",
    source="Appendix B.1",
    quote="These values provided the best performance",
    at=EITHER,
    at_most=0.05,
)
MOMENTUM_BEST = Claim(
    id="momentum-pair-best",
    label="momentum: printed pair minus the best pair",
    kind="paper",
    text="No pair of learning rate and β on a grid of .1 by .05 has a log-loss lower by more than "
    ".05 than the printed .005 and .9, as a mean over one to four steps.",
    source="Appendix B.2",
    quote="provided the best results on the given distribution",
    at=EITHER,
    at_most=0.05,
)
INVERTS = Claim(
    id="b-conditions-the-hessian",
    label="log condition number of S, last layer minus first",
    kind="paper",
    text="The B of GD++ bring the eigenvalues of S = X Xᵀ / n together, as steps towards its "
    "inverse do: the condition number that the last layer meets is lower than that of the first, "
    "on prompts that the model was not trained on.",
    source="Section 3.3, Figure 4",
    quote="approximate the Hessian inverse (quasi-Newton)",
    at=FOURTH,
    at_most=0.0,
)
FRESH_INVERTS = Claim(
    id="b-conditions-fresh",
    label="GD++ on fresh prompts: log condition number, last layer minus first",
    kind="ours",
    text="Trained on fresh prompts, B does bring the eigenvalues of S together, layer by layer: "
    "the condition number that the last layer meets is lower than that of the first.",
    source="not in the paper, whose Figure 4 keeps one batch",
    at={**FRESH, "variant": "gd++", "preconditioner": "full"},
    at_most=0.0,
)
EXACT = Claim(
    id="cgd-exact-at-d",
    label="CGD's log-loss after d = 5 steps",
    kind="paper",
    text="Conjugate gradient is exact after d = 5 steps: in double precision its log-loss is that "
    "of rounding, −25 or lower.",
    source="Appendix C, Figure 15",
    quote="steps due to the dimensionality constraint",
    at={**TASK, "layers": range(5, 11), "noise": 0.0},
    at_most=-25.0,
)
LATE = Claim(
    id="cgd-beyond-seven",
    label="CGD's log-loss after 7 steps, d = 10",
    kind="paper",
    text="For d = 10 conjugate gradient has not converged after seven steps: its log-loss is "
    "above −3, an error of 5%.",
    source="Appendix C, Figure 16",
    quote="CGD does not converge until beyond 7 steps",
    at={**TASK, "d": 10, "layers": range(7, 11), "noise": 0.0},
    at_least=-3.0,
)
IMPRACTICAL = Claim(
    id="beyond-seven-layers",
    label="d = 10, beyond 7 layers: log-loss above the floor",
    kind="paper",
    text="More than seven layers need many more iterations: after 1000 steps, which are enough "
    "for seven, a model of eight to ten layers is .5 or more above the exact floor.",
    source="Appendix C",
    quote="becomes impractical due to extensive iteration requirements",
    at={
        **TASK,
        "d": 10,
        "layers": range(8, 11),
        "steps": 1000,
        "batches": "fresh",
        "variant": "lfom",
        "preconditioner": "full",
    },
    at_least=0.5,
)

ALL = (
    COMPETITIVE,
    DEFLECTION,
    LINE_SEARCH,
    BEATS_NESTEROV,
    BEATS_MOMENTUM,
    BEATS_TUNED,
    NESTEROV_BEST,
    MOMENTUM_BEST,
    INVERTS,
    FRESH_INVERTS,
    EXACT,
    LATE,
    IMPRACTICAL,
)
