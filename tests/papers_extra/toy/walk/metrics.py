"""The claims, measured."""

import numpy as np
from icl_core.papers.toy.walk.claims import EXACT, RECOVERED

from icl_core.contract.experiment import Metric, Run


def measure(run: Run) -> list[Metric]:
    """Cosine of the final weights with the teacher's, and the last loss."""
    weights, teacher = run["final/weights"], run["final/teacher"]  # [seeds, d]
    norms = np.linalg.norm(weights, axis=1) * np.linalg.norm(teacher, axis=1)
    cosines = (weights * teacher).sum(1) / np.maximum(norms, 1e-12)
    return [
        Metric(RECOVERED, float(cosines.mean())),
        Metric(EXACT, float(run["curve/loss"][:, -1].mean())),
    ]
