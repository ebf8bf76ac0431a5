"""How the numbers on the stage's maps are made, at the step shown."""

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.contract.explanation import Explanation, Map, Term, largest
from icl_core.papers.memformers.convergence.settings import View
from icl_core.papers.memformers.shared.draw.losses import written
from icl_core.papers.memformers.shared.draw.preconditioner import scales, whitened_of
from icl_core.papers.memformers.shared.load_run import covariance_of


def identities(run: Run, view: View) -> list[Map]:
    """Return every layer's Σ^½ A_l Σ^½, divided by a_l: an entry as a product of a row and a
    column."""
    whitened = whitened_of(run, view.seed_shown, run.config.layers, run.snapshot_at(view))
    by = scales(whitened).tolist()
    covariance = covariance_of(run, view.seed_shown)
    left = covariance.root.numpy()
    right = (covariance.inverse_root @ whitened).numpy()  # A_l Σ^½ of each layer
    return [_map(layer, left, right[layer] / by[layer], by[layer]) for layer in range(len(by))]


def _map(layer: int, left: np.ndarray, right: np.ndarray, by: float) -> Map:
    numbers = [str(i + 1) for i in range(len(left))]
    matrix = left @ right

    def explain(row: int, column: int) -> Explanation:
        i = numbers[row]
        j = numbers[column]
        terms = [
            Term(
                f"√Σ({i}, {k + 1}) · A √Σ({k + 1}, {j}) / a", float(left[row, k] * right[k, column])
            )
            for k in range(len(left))
        ]
        says = (
            f"Row {i} of √Σ times column {j} of A √Σ, divided by the layer's multiple a = "
            f"{written(by)}. In a layer that has learned Σ⁻¹ the terms make 1 on the diagonal and "
            "cancel beside it."
        )
        identity = Term("the identity", float(row == column), "what A = a Σ⁻¹ would give")
        return Explanation(
            f"Layer {layer + 1}, row {i}, column {j}",
            says,
            float(matrix[row, column]),
            largest(terms, "smaller ones"),
            beside=(identity,),
        )

    return Map(
        f"Layer {layer + 1}",
        matrix.astype(np.float32),
        ("row", "column"),
        numbers,
        numbers,
        explain,
    )
