"""What the paper says of learned first-order methods, and what is known of its figures, each
written once."""

from typing import Any

from icl_core.contract.experiment import Claim

TASK = {"d": 5, "n": 20, "spectrum": "paper"}
FRESH = {
    "batches": "fresh",
    **TASK,
    "layers": range(4, 11),
    "steps": range(1000, 10_001),
}  # trained to the end
# the training of the authors' code: one batch of 1000 prompts for all rotations, Adam at 0.01 as
# torch sets it
AUTHORS_TRAINING: dict[str, Any] = {
    "batches": "common",
    "learning_rate": 0.01,
    "schedule": "constant",
    "beta_1": 0.9,
    "beta_2": 0.999,
    "objective": "mean",
    "coordinates": "authors",
    "initial": 1e-4,
    "clip": 0.0,
    "first_steps": 0,
}
AUTHORS = {
    **AUTHORS_TRAINING,
    "batch": 1000,
    "steps": 1000,
    "layers": 4,
    "sigma2": 1.0,
    "seeds": 5,
    **TASK,
}
EITHER = {**AUTHORS, "batches": ("common", "authors")}  # on our prompts or on theirs
# Their training on a few prompts: A = aI. Here every seed has prompts of its own, so that the
# spread is that of batches, and there are 40 of them.
FEW_PROMPTS = {
    **AUTHORS,
    "batches": "fixed",
    "variant": "cgd",
    "preconditioner": "scalar",
    "seeds": 40,
}
# Figure 4's: a Γ_j for every entry of Z, which begins where 900 steps without memory have come
FOURTH = {
    **EITHER,
    "variant": "gd++ entry",
    "preconditioner": "full",
    "first_steps": 900,
    "seeds": range(3, 6),
}
# Figure 16's
SEVEN = {
    **AUTHORS,
    "variant": "token shared",
    "preconditioner": "full",
    "d": 10,
    "layers": 7,
    "seeds": range(3, 6),
}

REACHES_FLOOR = Claim(
    id="reaches-floor",
    label="log-loss above the floor",
    kind="ours",
    text="Trained on fresh prompts the Memformer reaches the floor, the best polynomial of its "
    "degree, up to four layers.",
    source="not in the paper; follows from Lemma 2.1 and Theorem 3.2",
    at={**FRESH, "preconditioner": "full"},
    near=0.0,
    tolerance=0.03,
)
SCALAR_REACHES_FLOOR = Claim(
    id="scalar-reaches-floor",
    label="log-loss above the floor, A = aI",
    kind="ours",
    text="With Aₗ = aₗ I a trained model reaches the best polynomial of its degree in S, up to "
    "four layers.",
    source="not in the paper; Figure 1's floor",
    at={**FRESH, "preconditioner": "scalar"},
    near=0.0,
    tolerance=0.02,
)
KNOWN_LINES = Claim(
    id="known-lines",
    label="construction on the test set, gap to its exact loss",
    kind="theory",
    text="The construction with the best steps loses on the test set what the moments E tr Sᵏ of "
    "the Wishart distribution give it exactly, with one and with two layers.",
    source="exact moments of S; log-losses .1431 and −1.0182 for d = 5, n = 20",
    at={**TASK, "layers": range(4, 11)},
    near=0.0,
    tolerance=0.015,
)
BEATS_LINEAR = Claim(
    id="memory-beats-none",
    label="Memformer minus linear transformer",
    kind="paper",
    text="With memory the same training ends at a lower log-loss than without, in the mean over "
    "two to four layers; by 0.02 or more, which can be seen.",
    source="Section 3.3, Figures 1 to 3",
    quote="In practice, these parameters further improve performance",
    at={**EITHER, "variant": ("cgd", "token shared"), "heads": 1, "beside": "linear"},
    at_most=-0.02,
)
EQUAL_POWER = Claim(
    id="equal-power",
    label="spread of variants in log-loss",
    kind="ours",
    text="Trained to the end, the linear transformer, the CGD-like and the LFOM Memformer are "
    "equal: the gaps in Figures 1 to 3 show who trains faster, not who can do more.",
    source="against Figures 1 to 3",
    at={**FRESH, "beside": "all"},
    near=0.0,
    tolerance=0.05,
)
SHARED = Claim(
    id="shared-is-worse",
    label="log-loss lost by sharing Γ",
    kind="ours",
    text="One Γ_j for all layers, as in the paper's experiments, is heavy ball with β = 1, and "
    "far worse than a free Γ_j^l.",
    source="against Section 3.3",
    at={**FRESH, "variant": "shared", "beside": "free"},
    at_least=1.5,
)
SHARED_VALUES = Claim(
    id="shared-values",
    label="gap to the best shared Γ",
    kind="ours",
    text="With one Γ_j for all layers, one to four layers reach log-losses of .143, −.127, −.594 "
    "and −.895.",
    source="the best values, computed; Figure 11's curve for a batch of 1000 lies beside them",
    at={**FRESH, "variant": "shared"},
    near=0.0,
    tolerance=0.03,
)
BEATS_CGD = Claim(
    id="beats-cgd",
    label="trained minus CGD, up to four layers",
    kind="ours",
    text="Trained to the end on fresh prompts, fixed steps of one to four layers have a lower "
    "log-loss than conjugate gradient, which computes its own for each prompt.",
    source="Figures 2 and 3 show as much, up to three layers, of models that are not at their end",
    at={**FRESH, "preconditioner": "full"},
    at_most=0.0,
)
BEATS_CGD_TO_THREE = Claim(
    id="beats-cgd-to-three",
    label="trained minus CGD, up to three layers",
    kind="paper",
    text="With preconditioners, a Memformer of up to three layers has a lower log-loss than "
    "conjugate gradient per prompt.",
    source="Section 3.3, Figures 2 and 3",
    quote="strategy that can even outperform standard CGD",
    at={**EITHER, "variant": ("cgd", "token shared"), "preconditioner": "full", "heads": 1},
    at_most=0.0,
)
BEATS_CGD_AT_FOUR = Claim(
    id="beats-cgd-at-four",
    label="trained minus CGD, four layers, over batches",
    kind="paper",
    text="With preconditioners, a Memformer of four layers has a lower log-loss than conjugate "
    "gradient per prompt, in the mean over training batches of 1000 prompts: of these each seed "
    "has one of its own.",
    source="Section 3.3, Figures 2 and 3",
    quote="strategy that can even outperform standard CGD",
    at={
        **AUTHORS,
        "batches": "fixed",
        "variant": ("cgd", "token shared"),
        "preconditioner": "full",
        "heads": 1,
    },
    at_most=0.0,
)
KNOWING = Claim(
    id="knowing-the-covariance",
    label="CGD with Σ⁻¹ minus trained, up to four layers",
    kind="ours",
    text="Conjugate gradient that is given Σ⁻¹ wins with one to four layers. To know Σ⁻¹, and how "
    "S varies from prompt to prompt, is what lets fixed steps beat plain conjugate gradient.",
    source="against Figures 2 and 3",
    at={**FRESH, "preconditioner": "full"},
    at_most=0.0,
)
FITS_BATCH = Claim(
    id="fits-its-batch",
    label="trained minus CGD, on the batch",
    kind="paper",
    text="Trained on few prompts, the Memformer is ahead of conjugate gradient on these; in the "
    "mean over 40 batches.",
    source="Section 3.4, Figures 5 and 6",
    quote="Memformers learn parameters that significantly outperform CGD, even when CGD runs "
    "independently on each observation in the batch",
    at={**FEW_PROMPTS, "batch": (1, 10), "heads": 1},
    at_most=0.0,
)
OVERFITS = Claim(
    id="overfits-its-batch",
    label="trained minus CGD, fresh prompts",
    kind="ours",
    text="On fresh prompts a Memformer that was trained on few is behind conjugate gradient: any "
    "lead on its own prompts was overfitting.",
    source="against Figures 5 and 6",
    at={
        **FEW_PROMPTS,
        "batch": (1, 10),
        "preconditioner": ("scalar", "full"),
        "seeds": range(5, 41),
    },
    at_least=0.0,
)
QUASI_NEWTON = Claim(
    id="gd++-beats-cgd",
    label="GD++ minus CGD, on its batch",
    kind="paper",
    text="Where the covariates move too, the Memformer is far ahead of conjugate gradient from "
    "two layers on, as in the figure's curves; on the batch that it was trained on, as in the "
    "authors' code.",
    source="Section 3.3, Figure 4",
    quote="LFOM Memformer with GD++ (3.4) vs. CGD",
    at=FOURTH,
    at_most=-1.0,
)
LEARNS_ITS_BATCH = Claim(
    id="gd++-overfits",
    label="GD++, fresh minus own batch",
    kind="ours",
    text="With four layers the model of Figure 4 is far worse on fresh prompts than on its own "
    "1000: it has learned these by heart.",
    source="against Figure 4",
    at=FOURTH,
    at_least=1.0,
)
KEEPS_UP = Claim(
    id="keeps-up",
    label="Memformer minus CGD, 4 steps, d = 5",
    kind="paper",
    text="For d = 5 the Memformer keeps up with conjugate gradient for up to four steps; the "
    "worst of them counts.",
    source="Appendix C, Figure 15",
    quote="it manages to keep up with CGD for up to 4 steps",
    at={
        **AUTHORS,
        "variant": "token shared",
        "preconditioner": "full",
        "layers": 5,
        "seeds": range(3, 6),
    },
    at_most=0.1,
)
KEEPS_UP_LONGER = Claim(
    id="keeps-up-longer",
    label="d = 10, on its batch: Memformer minus CGD",
    kind="paper",
    text="For d = 10 the Memformer matches conjugate gradient for six steps and is comparable at "
    "seven, on the batch that it was trained on; the paper does not say where it tests. The worse "
    "of both steps counts.",
    source="Appendix C, Figure 16",
    quote="performance for 6 steps and even performing comparably at 7 steps",
    at=SEVEN,
    at_most=0.1,
)
DEEP_OVERFITS = Claim(
    id="deep-overfits",
    label="d = 10, fresh prompts: Memformer minus CGD",
    kind="ours",
    text="On fresh prompts the model of Figure 16 is behind conjugate gradient: 1000 prompts are "
    "too few for so many matrices. The worse of six and seven steps counts.",
    source="against Figure 16",
    at=SEVEN,
    at_least=0.0,
)
FRESH_KEEPS_UP = Claim(
    id="fresh-keeps-up",
    label="d = 10, trained on fresh prompts: minus CGD",
    kind="ours",
    text="Trained on fresh prompts, a Memformer of six and of seven layers is ahead of conjugate "
    "gradient for d = 10 on prompts that it has not seen.",
    source="not in the paper, whose Figure 16 says as much of its batch",
    at={
        "batches": "fresh",
        "variant": "lfom",
        "preconditioner": "full",
        **TASK,
        "d": 10,
        "layers": 7,
    },
    at_most=0.0,
)
HEADS = Claim(
    id="heads-equal-one",
    label="H heads against their sum",
    kind="theory",
    text="H heads whose attention is summed are one head with A = Σ A_h, exact to rounding.",
    source="against Section 4.1, Figure 7",
    near=0.0,
    tolerance=1e-4,
)
HEADS_FASTER = Claim(
    id="heads-faster",
    label="5 heads minus 1 after 200 steps",
    kind="paper",
    text="After 200 steps on ten prompts, as many as in the authors' code, five heads have a "
    "lower log-loss on them than one has; as a mean over three and four layers and 40 batches.",
    source="Section 4.1, Figure 7",
    quote="Multi-head attention accelerates convergence and improves test performance",
    at={**FEW_PROMPTS, "batch": 10, "steps": 200, "heads": 5, "beside": "one head"},
    at_most=-0.02,
)
HEADS_TEST = Claim(
    id="heads-test-better",
    label="5 heads minus 1 on fresh prompts",
    kind="paper",
    text="On prompts that were not trained on, five heads have a lower log-loss than one after 200 "
    "steps on ten prompts; as a mean over three and four layers. The authors test on the ten.",
    source="Section 4.1, Figure 7",
    quote="Multi-head attention accelerates convergence and improves test performance",
    at={**FEW_PROMPTS, "batch": 10, "steps": 200, "heads": 5, "beside": "one head"},
    at_most=-0.02,
)
HEADS_LOWER = Claim(
    id="heads-lower",
    label="5 heads minus 1 in the end",
    kind="paper",
    text="Trained on, to 3000 steps each, five heads still have the lower log-loss on the ten "
    "prompts.",
    source="Section 4.1, Figure 7",
    quote="the number of heads strongly influences both convergence speed and final test loss",
    at={**FEW_PROMPTS, "batch": 10, "steps": 3000, "heads": 5, "beside": "one head"},
    at_most=-0.02,
)
NOISE = Claim(
    id="heavy-tails",
    label="noise of a mean over 1000 prompts",
    kind="ours",
    text="With four layers a mean over 1000 prompts and their queries is off by 0.3 or more in "
    "log-loss; two curves on the same prompts can still be told apart.",
    source="against Figures 2 and 3",
    at={**TASK, "layers": range(4, 11)},
    at_least=0.3,
)
MOVING = Claim(
    id="moving-covariates-win",
    label="GD++ minus CGD with Σ⁻¹, by layers",
    kind="ours",
    text="Layer for layer GD++ with memory, trained on fresh prompts, is ahead even of conjugate "
    "gradient that is given Σ⁻¹. Product for product it is not: four of its layers are a "
    "polynomial of degree 40.",
    source="not in the paper",
    at={**FRESH, "variant": "gd++", "preconditioner": "full"},
    at_most=0.0,
)


ALL = (
    REACHES_FLOOR,
    SCALAR_REACHES_FLOOR,
    KNOWN_LINES,
    BEATS_LINEAR,
    EQUAL_POWER,
    SHARED,
    SHARED_VALUES,
    BEATS_CGD,
    BEATS_CGD_TO_THREE,
    BEATS_CGD_AT_FOUR,
    KNOWING,
    FITS_BATCH,
    OVERFITS,
    QUASI_NEWTON,
    LEARNS_ITS_BATCH,
    KEEPS_UP,
    KEEPS_UP_LONGER,
    DEEP_OVERFITS,
    FRESH_KEEPS_UP,
    HEADS,
    HEADS_FASTER,
    HEADS_TEST,
    HEADS_LOWER,
    NOISE,
    MOVING,
)
