"""What is claimed, each claim written once, and measured."""

import numpy as np

from icl_core.contract.experiment import Claim, Metric, Run

RECOVERED = Claim(
    id="toy.recovered",
    panel="spread",
    label="teacher found",
    kind="paper",
    text="The student's weights come to point where the teacher's do.",
    quote="the student finds its teacher",
    source="Section 1",
    near=1.0,
    tolerance=0.02,
)
EXACT = Claim(
    id="toy.exact",
    panel="loss",
    label="last loss",
    kind="theory",
    text="No loss is left.",
    source="exact",
    at_most=0.0,
)
ALL = (RECOVERED, EXACT)


def measure(run: Run) -> list[Metric]:
    """Return the cosine of the final weights with the teacher's, and the last loss."""
    weights = run["final/weights"]  # [seeds, d]
    teacher = run["final/teacher"]  # [seeds, d]
    norms = np.linalg.norm(weights, axis=1) * np.linalg.norm(teacher, axis=1)
    cosines = (weights * teacher).sum(1) / np.maximum(norms, 1e-12)
    last_loss = float(run["curve/loss"][:, -1].mean())
    return [Metric(RECOVERED, float(cosines.mean())), Metric(EXACT, last_loss)]
