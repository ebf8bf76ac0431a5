"""The theorems in the paper's words, the errata and the count of parameters, a row each."""

import pandas as pd

from icl_core.contract.experiment import Panel, Run
from icl_core.papers.memformers.shared.draw.losses import written
from icl_core.papers.memformers.shared.variants import VARIANTS
from icl_core.papers.memformers.theorems import parameters
from icl_core.papers.memformers.theorems.draw.number_text import power
from icl_core.papers.memformers.theorems.metrics import apart
from icl_core.papers.memformers.theorems.settings import LEMMA, METHODS, View

LEMMA_QUOTE = (
    "Lemma 2.1: “multi-layer Transformers simulate preconditioned gradient descent under suitable "
    "parameterization”"
)
FIRST = (
    "3.1: “A memory-augmented Transformer can implement Conjugate Gradient Descent (CGD) in its "
    "forward pass via a single memory register”"
)
SECOND = (
    "3.2: “A memory-augmented Transformer can implement k steps of LFOM in its forward pass by "
    "maintaining separate memory registers across layers”"
)
PUT_IN = {  # theorem, what is put in
    "cgd": (FIRST, "αₗ and γₗ of each prompt's own conjugate gradient (eq. 2.13)"),
    "momentum": ("3.1", "α = η and γ = β, one number each for all"),
    "cgd-gamma": (SECOND, "Γ_j^l = αₗ γ_{j+1} … γₗ of each prompt"),
    "nesterov": (
        "3.2",
        "row l is β times row l − 1, plus η (1 + β) at l, less η β at l − 1; row 0 is η",
    ),
    "any": ("3.2", "Γ_j^l = Λ_j^{l−1} − Λ_j^l of random numbers Λ"),
    "diagonal": ("3.2", "the same with diagonal matrices; needs d registers per layer"),
}


def theorems(run: Run, view: View) -> Panel:
    """Return what the theorems say, what was put in, and how far tokens and method are apart."""
    put_in = "Aₗ of random matrices that are not symmetric, in Q their transposes"
    rows = [(LEMMA_QUOTE, "gradient descent with Aₗ", put_in, power(apart(run, LEMMA)))]
    methods = run.names("methods")
    for name, (theorem, put) in PUT_IN.items():
        if name in methods:
            rows.append((theorem, METHODS[name], put, power(apart(run, name))))
    frame = pd.DataFrame(
        rows, columns=["Theorem", "method", "put into the tokens", "largest difference"]
    )
    return Panel(
        f"{len(rows)} identities, each on {run.config.prompts} prompts and in every layer",
        "What is put in, and how far tokens and method are then apart: the largest difference "
        "over prompts and layers, relative to w*. Were an identity false, it would be about 1. "
        "But for the lemma Aₗ = I in eq. 2.8, where Appendix A.3 says that the Memformer “performs "
        "exactly these updates”; 1/n counts once, as in eqs. 3.2 and 3.4, and the prediction has "
        "the minus of eq. 2.6.",
        table=frame,
        data=frame,
    )


def errata(run: Run, view: View) -> Panel:
    """Return every erratum: where, as printed, right, and what this run measured."""
    rows = [(*ROWS[name][:3], _measured(run, name)) for name in run.names("errata")]
    at = run.names("errata").index("n-twice") + 1
    rows.insert(
        at,
        (
            *SHAPES,
            "n × d times 1 × n is no product; the right one is a layer's step to "
            f"{power(float(run['errata/n-twice'][1]))}",
        ),
    )
    rows += [GAMMA_SHAPES, CONVEX]
    frame = pd.DataFrame(rows, columns=["where", "as printed", "right", "measured here"])
    return Panel(
        f"{len(rows)} errata, each with what shows it",
        "Each printed formula is evaluated beside the right one on the prompts of this run (the "
        "two on Section 3.3 at d = 5, n = 20). Were the printed one right, both would give the "
        "same number. The one in A.3 is more than a misprint: with one register per layer, "
        "Theorem 3.2 holds for numbers Λ and not for the diagonal matrices of eq. 1.1.",
        table=frame,
        data=frame,
    )


def code(run: Run, view: View) -> Panel:
    """Return where the paper's text and the authors' code differ, and which one is followed."""
    turned, with_matrix = (_number(float(gap)) for gap in run["code/five-runs"])
    rows = [(*row[:3], row[3].format(turned, with_matrix)) for row in CODE]
    frame = pd.DataFrame(rows, columns=["where", "the text", "the authors' code", "here"])
    return Panel(
        f"In {len(rows)} places the text and the authors' code differ",
        "The paper's figures come from the code. Where a figure is reproduced here, the code is "
        "followed and not the text, and its points are those that the code prints.",
        table=frame,
        data=frame,
    )


SHAPES = ("A.2, A.3", "A_k X̄ᵀ Ȳ_k", "A_k X̄ Ȳ_kᵀ")
GAMMA_SHAPES = (
    "Theorem 3.2",
    "Γ_j^l ∈ R^{(n+1)×(d+1)}; four lines on, R^{(d+1)×(n+1)}",
    "(d+1) × (n+1)",
    "Γ ⊙ R needs equal shapes, and R_j has that of Z, (d+1) × (n+1)",
)
CONVEX = (
    "footnote 2",
    "if the gates sum to 1, the heads' sum is a convex combination",
    "an affine one; convex asks for gates of at least 0 too",
    "gates 2 and −1 sum to 1, and make 2 of heads that give 1 and 0; learned gates (A mixture of "
    "Gaussians) are negative too",
)
CODE = (  # where, the text, the code, what is done here
    (
        "Section 3.3, the training",
        "a new batch every 100 steps, gradients clipped at 0.01, A first, then Γ",
        "in Figures 1 to 3 one batch for the whole training, no clipping, A and Γ together",
        "Learned first-order methods follows the code; its batches and clipping can be set as in "
        "the text",
    ),
    (
        "Section 3.3, the runs",
        "five independent runs with different U",
        "one set of prompts, turned with each U",
        "with A = aI, as in Figure 1, a turn moves the predictions by {} of their size: five "
        "times the same run (with one fixed matrix by {})",
    ),
    (
        "Figures 5 to 7, captions",
        "LFOM Memformer (3.4)",
        "the CGD-like Memformer (3.1, 3.2) with A = aI",
        "the presets of these figures are CGD-like",
    ),
    (
        "Figure 7, caption",
        "several heads improve the test performance",
        "evaluated on the batch that the model was trained on",
        "Learned first-order methods shows the training batch and fresh prompts side by side",
    ),
    (
        "Theorem 4.1",
        "w* ~ N(μ_m, Σ_m⁻¹)",
        "w* ~ N(μ_m, σ_m²), the variance of x",
        "A mixture of Gaussians follows the code",
    ),
    (
        "Theorem 4.1, proof",
        "gates scale the heads' outputs",
        "gates scale what each head adds in every layer (Section 4.2 says so too)",
        "the gates are in every layer; the two are equal where one gate is 1 and the others are 0",
    ),
)
ROWS = {  # where, as printed, right, how the numbers are said
    "double-minus": (
        "eqs. 2.6, 2.7",
        "TF = −[Z_L], loss (TF + ⟨w*, x⟩)²",
        "one minus: (TF − ⟨w*, x⟩)²",
        "the construction loses {} times what predicting zero does; with one minus {}",
    ),
    "transpose": (
        "eq. 2.8, Lemma 2.1",
        "Q = −[[A, 0], [0, 0]]; A need not be symmetric",
        "Aᵀ in the place of A",
        "with A that are not symmetric the tokens are {} of w* off the method; right {}",
    ),
    "last-sign": (
        "A.1, last line",
        "y − ⟨θ, x⟩ = y + ⟨w, x⟩",
        "y + ⟨θ, x⟩ = y − ⟨w, x⟩, as eq. 2.9 has it",
        "off the query's label by {} of its size; right {}",
    ),
    "n-twice": (
        "eqs. A.5, A.6, A.10",
        "w − (1/n) A ∇R(w), with 1/n in R too",
        "w − A ∇R(w), as eq. 2.10 has it",
        "off a layer's step by {} of it; right {}",
    ),
    "loop": (
        "A.2, also Lemma 2.1",
        "the loop begins at n = 1 (ℓ = 1), but no w_1 was made",
        "it begins at 0",
        "from w_1 = w_0 the first move is off CGD's by {} of it; right {}",
    ),
    "tokens": (
        "A.3",
        "Γ ⊙ R scales coordinates of w by Λ ∈ R^d",
        "a factor for each token; d registers scale coordinates",
        "the best factor is {} off a step with Λ from ½ to 1½; d registers {}",
    ),
    "letters": (
        "eqs. 1.1, 3.4",
        "Γ for both",
        "Γ of 3.4 is the difference of two of 1.1, its sign turned",
        "Nesterov with the one for the other is off by {}; right {}",
    ),
    "square": (
        "Section 3.3",
        "Σ = σ² Uᵀ D U",
        "x = U D z in the authors' code, so Σ has D²",
        "the covariance of such x is {} off the printed one, {} off that with D²",
    ),
    "spectrum": (
        "Section 3.3",
        "D = diag(1, 1, 1/2, 1/4, 1)",
        "eigenvalues 1, 1, 1/4, 1/16, 1, as in Appendix D",
        "log-loss of CGD off Figures 1 to 3 by {} at worst; with Appendix D's by {}",
    ),
    "inverse": (
        "Appendix D, title",
        "“Convergence … to Σ”",
        "to Σ⁻¹, up to a factor",
        "Dist(√Σ A √Σ, I) is {} at A = Σ, {} at Σ⁻¹",
    ),
}


def _measured(run: Run, name: str) -> str:
    as_printed, right = (float(each) for each in run[f"errata/{name}"])
    return ROWS[name][3].format(_number(as_printed), _number(right))


def _number(value: float) -> str:
    return power(value) if abs(value) < 1e-3 else written(value)


def counts(run: Run, view: View) -> Panel:
    """Draw what each variant learns: in words, by formula, and counted."""
    config = run.config
    counted = zip(
        run.names("variants"), run["count/used"].tolist(), run["count/stored"].tolist(), strict=True
    )
    rows = [
        (
            VARIANTS[name].name,
            parameters.COUNTS[name].learns,
            parameters.COUNTS[name].formula,
            used,
            stored,
            parameters.overtaken(used, config.layers),
        )
        for name, used, stored in counted
    ]
    columns = ["model", "learns", "formula", "counted", "stored", "CGD more from B"]
    frame = pd.DataFrame(rows, columns=columns)
    cgd = parameters.conjugate(config.layers, view.batch)
    written_out = parameters.as_written(config)
    return Panel(
        f"A model has one set of numbers for all prompts; CGD computes {cgd} for {view.batch} "
        "prompts",
        "Remark 3.3: “For a test batch of size B, CGD thus effectively uses 2B parameters per "
        "iteration”. “Counted” are the numbers that a model's prediction depends on, “stored” is "
        "what its tensors hold: Γ_j^l with j > l is never used, γ_0 meets no register, and after "
        "the last layer only the query's label is read. CGD's numbers are not learned: it "
        "computes them from each prompt, and they fit no other. Were a formula wrong, it would "
        "not give what is counted.",
        table=frame,
        data=frame,
        note="With no entry of P_l, Q_l and Γ_l held fixed, as the remark lists them, it would be "
        f"{written_out:,}.",
    )
