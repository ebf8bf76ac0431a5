"""How the learned coefficients are made, at the step shown."""

from typing import Any

import numpy as np
from torch import Tensor

from icl_core.contract.experiment import Run
from icl_core.contract.explanation import PRODUCT, SUM, Explanation, Map, Term
from icl_core.papers.memformers.methods.draw import optimiser
from icl_core.papers.memformers.methods.settings import View
from icl_core.papers.memformers.shared import variants
from icl_core.papers.memformers.shared.load_run import depth_of, parameters_at, root_of

BESIDE = (optimiser.BUILT, optimiser.PRE, optimiser.CGD, "gradient descent")
SHARED = (
    "Γ weighs the gradient at iterate {j}, which layer {layer} multiplies with A; a says how "
    "much of Σ⁻¹."
)
OWN = (
    "A mean over the coordinates, each of which has a step of its own along the gradient at "
    "iterate {j}."
)


def learned(run: Run, view: View) -> list[Map]:
    """Return the triangle of the trained model's coefficients Λ, each with how it is made."""
    depth = depth_of(run, view)
    table, _ = optimiser.learned(run, view.seed_shown, depth, run.snapshot_at(view))
    parameters = parameters_at(run, view.seed_shown, depth, run.snapshot_at(view))
    root = root_of(run, view.seed_shown)
    references = optimiser.references(run, depth)
    after, past = ([str(layer + first) for layer in range(depth)] for first in (1, 0))

    def explain(row: int, column: int) -> Explanation:
        terms, joined = terms_of(parameters, run.config, root, row, column)
        sentence = (OWN if joined == SUM else SHARED).format(j=column, layer=column + 1)
        beside = [Term(name, float(references[name][row, column])) for name in BESIDE]
        title = f"Λ after layer {row + 1}, of the gradient at iterate {column}"
        finite = tuple(term for term in beside if np.isfinite(term.value))
        return Explanation(title, sentence, float(table[row, column]), terms, joined, beside=finite)

    triangle = np.where(np.tri(depth, dtype=bool), table, np.nan).astype(np.float32)
    titles = ("after layer", "gradient at iterate")
    return [Map("Learned coefficients Λ", triangle, titles, after, past, explain)]


def terms_of(
    parameters: variants.Parameters, config: Any, root: Tensor, row: int, column: int
) -> tuple[tuple[Term, ...], str]:
    """Return the terms that make a coefficient, and how they are joined: Γ times the layer's
    multiple of Σ⁻¹; or, where coordinates differ, a sum over them."""
    Gamma = variants.coefficients(parameters, config.variant)
    if Gamma.dim() == 3:  # a number for each pair of layers
        A = variants.preconditioners(parameters, config, root)[0, column].double()
        weight = float(Gamma[0, row, column])
        multiple = float(A.trace()) / len(A)
        return (
            Term(f"Γ of iterate {column} in layer {row + 1}", weight, "what memory weighs it"),
            Term(f"a of layer {column + 1}", multiple, "its multiple of Σ⁻¹"),
        ), PRODUCT
    W = variants.steps(parameters, config, root)[0, row, column].double()
    shares = (W.diagonal() / len(W)).tolist()
    return tuple(
        Term(f"coordinate {k + 1}", share, "its share of the mean")
        for k, share in enumerate(shares)
    ), SUM
