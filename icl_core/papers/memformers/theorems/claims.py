"""What the theorems say, what they do not, and every erratum as a number, each written once; and
what a run measures of them."""

from functools import partial
from typing import Any

from icl_core.contract.experiment import Claim, Metric, Run
from icl_core.contract.statistics import mean_and_error
from icl_core.papers.memformers.theorems import parameters, settings

theory = partial(Claim, kind="theory")
ours = partial(Claim, kind="ours")
SPECTRUM = {
    "spectrum": "paper",
    "n": range(20, 61),
}  # where rounding is not magnified by the prompts' own conditioning
SIZE = {"spectrum": "paper", "d": 5, "n": 20}
ENOUGH = {**SPECTRUM, "pool": range(15, 19)}  # prompts for a slope
ROUNDING = 1e-10


# of identities that another panel than that of the differences shows
PANELS = {"nesterov-in-tokens": "table", "lemma-in-tokens": "theorems"}


def _same(id: str, theorem: str, what: str, text: str) -> Claim:
    """Return the claim that tokens and a method agree to rounding."""
    source = "Lemma 2.1, Appendix A" if theorem == "2.1" else f"Theorem {theorem}, Appendix A"
    return theory(
        id=id,
        panel=PANELS.get(id, "differences"),
        label=f"{theorem}: {what} apart",
        text=text,
        source=source,
        at=SPECTRUM,
        near=0.0,
        tolerance=ROUNDING,
    )


IDENTITIES = {
    "cgd": _same(
        "cgd-in-tokens",
        "3.1",
        "CGD",
        "With each prompt's own α and γ the tokens of a CGD-like Memformer hold conjugate "
        "gradient's iterates.",
    ),
    "cgd-gamma": _same(
        "cgd-as-gamma",
        "3.2",
        "CGD",
        "With a register for each layer and Γ_j^l = αₗ γ_{j+1} … γₗ of the prompt the tokens of "
        "an LFOM Memformer "
        "hold conjugate gradient's iterates.",
    ),
    "momentum": _same(
        "heavy-ball-in-tokens",
        "3.1",
        "heavy ball",
        "With one α and γ for all prompts and layers the CGD-like Memformer is heavy ball.",
    ),
    "nesterov": _same(
        "nesterov-in-tokens",
        "3.2",
        "Nesterov",
        "With the Γ_j^l that follow from Nesterov's recursion the LFOM Memformer is Nesterov's "
        "method: R is quadratic, so a gradient at a look-ahead point is a combination of two at "
        "iterates.",
    ),
    "any": _same(
        "any-lfom-in-tokens",
        "3.2",
        "eq. 1.1",
        "With Γ_j^l = Λ_j^{l−1} − Λ_j^l the LFOM Memformer is the method of eq. 1.1 with any "
        "numbers Λ.",
    ),
    "diagonal": _same(
        "diagonal-lfom-in-tokens",
        "3.2",
        "diagonal eq. 1.1",
        "With d registers a layer, one for each coordinate, the LFOM Memformer is the method of "
        "eq. 1.1 with any diagonal matrices; with one register it cannot be.",
    ),
}
LEMMA = _same(
    "lemma-in-tokens",
    "2.1",
    "descent with A",
    "With any matrices Aₗ the tokens of a linear transformer hold the iterates of preconditioned "
    "gradient descent, where Q has Aₗᵀ in the place of Aₗ (see the errata).",
)
OTHER = ours(
    id="another-prompts-coefficients",
    panel="distances",
    label="CGD with another prompt's α, γ: off by",
    text="One prompt's coefficients are not conjugate gradient on another: after the last layer "
    "the median prediction is off by a tenth of its size or more.",
    source="not said by Theorem 3.1; Appendix A.2 treats α and γ as parameters",
    at={**SIZE, "layers": range(1, 5)},
    at_least=0.1,
)
FIRST_STEP = ours(
    id="no-first-step-for-all",
    panel="distances",
    label="best single first step: off by",
    text="No fixed α_0 is conjugate gradient's first step for all prompts: the best one is off by "
    "a tenth at least.",
    source="not said by Theorem 3.1",
    at=SIZE,
    at_least=0.1,
)
ALONG = theory(
    id="gradient-along-inverse",
    panel="gradient",
    label="gradient with respect to aₗ",
    text="At Aₗ = aₗ Σ⁻¹ with the steps aₗ that are best on a set of prompts, the inverse roots "
    "of a polynomial, the gradient on these prompts has no part along aₗ.",
    source="Appendix D, Theorem 3 of Ahn et al.",
    near=0.0,
    tolerance=1e-8,
)
SLOPE = ours(
    id="gradient-falls",
    panel="gradient",
    label="gradient's power of N",
    text="At Aₗ = aₗ Σ⁻¹ what the gradient says of anything but aₗ is sampling error: it falls as "
    "1/√N with the number N of prompts.",
    source="Appendix D, Theorem 3 of Ahn et al., measured",
    at=ENOUGH,
    near=-0.5,
    tolerance=0.1,
)
STATIONARY = ours(
    id="gradient-elsewhere",
    label="squared gradient at aₗ Σ⁻¹ over that at aₗ I",
    text="With the sampling error taken out, next to nothing is left of the squared gradient at "
    "Aₗ = aₗ Σ⁻¹: less than a twentieth of what it is at the best multiples of I.",
    source="Appendix D, Theorem 3 of Ahn et al., measured",
    at={
        **ENOUGH,
        "d": 5,
        "layers": range(2, 5),
    },  # deeper, no gradient at aₗ I can be told from its sampling error
    near=0.0,
    tolerance=0.05,
)
COUNTS = theory(
    id="counts",
    label="parameters counted, off the formulas",
    text="The numbers that each variant's prediction depends on, counted on its tensors, are what "
    "the formulas give.",
    source="Remark 3.3",
    near=0.0,
)


def _erratum(id: str, label: str, text: str, where: str, **bound: Any) -> Claim:
    id = f"erratum-{id}"
    source = f"against {where}"
    return ours(id=id, label=label, text=text, source=source, **bound)


ERRATA = {
    "double-minus": _erratum(
        "double-minus",
        "2.6 and 2.7: loss over zero's",
        "With both minus signs of eqs. 2.6 and 2.7 a model that predicts right has four times the "
        "error of predicting zero.",
        "eqs. 2.6 and 2.7",
        at={**SPECTRUM, "layers": range(4, 9)},
        near=4.0,
        tolerance=0.1,
    ),
    "transpose": _erratum(
        "transpose",
        "2.8 with A not symmetric: off by",
        "With Q = −[[A, 0], [0, 0]], as eq. 2.8 prints it, the tokens take steps with Aᵀ: where A "
        "is not symmetric, which the paper does not ask for, Lemma 2.1 is off by a tenth of w* at "
        "least.",
        "eq. 2.8 and Lemma 2.1",
        at=SPECTRUM,
        at_least=0.1,
    ),
    "last-sign": _erratum(
        "last-sign",
        "A.1, last line: off by",
        "The last line of A.1 has the sign of ⟨w, x⟩ wrong: off by twice its size.",
        "Appendix A.1",
        near=2.0,
        tolerance=1e-8,
    ),
    "n-twice": _erratum(
        "n-twice",
        "A.6: step off by",
        "A.5, A.6 and A.10 divide by n once more than a layer does: off by 1 − 1/n.",
        "eqs. A.5, A.6, A.10",
        at={"n": 20},
        near=0.95,
        tolerance=1e-8,
    ),
    "loop": _erratum(
        "loop",
        "A.2: first move off by",
        "A.2's loop begins at n = 1 without a w_1; from w_1 = w_0 its first move is half of "
        "conjugate gradient's.",
        "Appendix A.2",
        near=0.5,
        tolerance=1e-8,
    ),
    "tokens": _erratum(
        "tokens",
        "A.3: best Γ of tokens off by",
        "In A.3 Γ ⊙ R scales tokens and not coordinates of w: at best it is a tenth off a step "
        "with a diagonal matrix, or more.",
        "Appendix A.3",
        at=SIZE,
        at_least=0.1,
    ),
    "letters": _erratum(
        "letters",
        "Γ of 1.1 for that of 3.4: off by",
        "Γ of eq. 1.1 sums up from w_0, Γ of eq. 3.4 is one layer's: exchanged, they do not give "
        "Nesterov's method.",
        "eqs. 1.1 and 3.4",
        at={**SPECTRUM, "layers": range(2, 9)},
        at_least=0.1,
    ),
    "square": _erratum(
        "square",
        "3.3: covariance off by",
        "x = U D z, as the authors draw it, has the covariance U D² Uᵀ and not U D Uᵀ: by the "
        "eigenvalues these are 0.178 of the first's size apart.",
        "Section 3.3",
        near=0.178,
        tolerance=0.01,
    ),
    "spectrum": _erratum(
        "spectrum",
        "3.3: CGD off Figure 1 by",
        "With the eigenvalues 1, 1, 1/2, 1/4, 1 of Section 3.3 conjugate gradient is nowhere near "
        "its curve in Figures 1 to 3; with Appendix D's it is.",
        "Section 3.3",
        at_least=1.0,
    ),
    "inverse": _erratum(
        "inverse",
        "D's title: Dist at Σ",
        "Aₗ goes to a multiple of Σ⁻¹: at Σ, as the title of Appendix D has it, the paper's own "
        "distance is 0.612 and not 0.",
        "Appendix D, title",
        at=SIZE,
        near=0.612,
        tolerance=0.001,
    ),
}

FIVE_RUNS = ours(
    id="five-runs-are-one",
    label="A = aI, prompts turned: apart",
    text="Where all Aₗ are multiples of I, as in Figure 1, a model does the same on turned "
    "prompts: five runs that differ in U alone are one run, five times.",
    source="against Section 3.3, which counts them as five independent runs",
    near=0.0,
    tolerance=ROUNDING,
)

ALL = (
    *IDENTITIES.values(),
    LEMMA,
    OTHER,
    FIRST_STEP,
    ALONG,
    SLOPE,
    STATIONARY,
    COUNTS,
    *ERRATA.values(),
    FIVE_RUNS,
)


def measure(run: Run) -> list[Metric]:
    """Return all that this setting can bear out. With a prompt's coefficients nothing is measured
    once it is solved."""
    metrics = [Metric(IDENTITIES[name], gap_of(run, name)) for name in run.names("methods")]
    metrics += [
        Metric(LEMMA, gap_of(run, settings.LEMMA)),
        Metric(OTHER, float(run["others/distance/other"][-1])),
        Metric(FIRST_STEP, float(run["others/first_step"])),
        Metric(ALONG, float(run["gradient/along"])),
        Metric.over_seeds(SLOPE, run["gradient/slopes"]),
        Metric(COUNTS, float(_off(run))),
        Metric(FIVE_RUNS, float(run["code/five-runs"][0])),
    ]
    if gradient_is_seen(run):
        metrics.append(Metric(STATIONARY, *expected(run)))
    for name in run.names("errata"):
        metrics.append(Metric(ERRATA[name], float(run[f"errata/{name}"][0])))
    return metrics


def gap_of(run: Run, method: str) -> float:
    """Return the largest difference between tokens and method, over prompts and layers."""
    return float(run[f"identity/{method}"].max())


def slope(run: Run) -> tuple[float, float | None]:
    """Return the power of N with which the gradient at the construction falls, and its standard
    error."""
    return mean_and_error(run["gradient/slopes"])


def expected(run: Run) -> tuple[float, float]:
    """Return ‖E ∇f‖² at the construction over that at the best multiples of I, and its standard
    error."""
    (value, error), (beside, _) = (
        run[f"gradient/expected/{name}"] for name in ("construction", "identity")
    )
    return float(value / beside), float(error / beside)


def gradient_is_seen(run: Run) -> bool:
    """Return whether the gradient at the best multiples of I is seen at all: more than three errors
    from zero."""
    value, error = run["gradient/expected/identity"]
    return bool(value > 3 * error)


def _off(run: Run) -> int:
    """Return by how much the counted parameters of all variants differ from their formulas."""
    counted = zip(run.names("variants"), run["count/used"], strict=True)
    return sum(
        abs(int(number) - parameters.COUNTS[name].number(run.config)) for name, number in counted
    )
