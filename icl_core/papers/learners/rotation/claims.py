"""What becomes of methods where Σ is taken away, each claim written once; and its number, read off
a run."""

from functools import partial

import numpy as np

from icl_core.contract.experiment import Claim, Metric, Run

theory = partial(Claim, kind="theory")
ours = partial(Claim, kind="ours")
LAYERS = 4
PAPERS = {"d": 5, "n": 20, "covariance": "uneven", "layers": (4, 5, 6)}

NOTHING_TO_KNOW = theory(
    id="isotropic-is-no-loss",
    panel="lead",
    label="rotated over fixed, Σ = I",
    text="Where all directions are equal, rotating every prompt changes nothing for a method that "
    "prefers none.",
    source="Σ⁻¹ is I",
    at={"covariance": "isotropic"},
    near=1.0,
    tolerance=1e-9,
)
SOLVED = theory(
    id="conjugate-gradient-solves",
    panel="lead",
    label="conjugate gradient, L = d",
    text="After d steps conjugate gradient leaves nothing, whether it knows Σ or not.",
    source="finite termination",
    at={"d": 5, "layers": (5, 6)},
    near=0.0,
    tolerance=1e-6,
)
LEAD = ours(
    id="lead-with-covariance",
    panel="lead",
    label="floor that knows Σ, over plain CG, L = 4",
    text="Where Σ is the same in every prompt, the best fixed steps along Σ⁻¹ leave less after "
    "four layers than conjugate gradient that does not know Σ.",
    source="after Bordelon et al. 2025, in closed form and on sampled prompts",
    at=PAPERS,
    at_most=1.0,
)
LOST = ours(
    id="lead-lost-in-rotation",
    panel="lead",
    label="floor, over CG, rotated, L = 4",
    text="Where every prompt is rotated, the best fixed steps leave at least three times what "
    "conjugate gradient leaves after four layers: the whole lead was knowledge of Σ.",
    source="after Bordelon et al. 2025, in closed form and on sampled prompts",
    at=PAPERS,
    at_least=3.0,
)
WORTH = ours(
    id="worth-of-a-known-covariance",
    panel="lead",
    label="rotated over fixed, floor, L = 4",
    text="Taking Σ away costs the best fixed steps at least a factor of ten after four layers.",
    source="after Bordelon et al. 2025, in closed form and on sampled prompts",
    at=PAPERS,
    at_least=10.0,
)
ALL = (NOTHING_TO_KNOW, SOLVED, LEAD, LOST, WORTH)


def measure(run: Run) -> list[Metric]:
    """Return all that this setting can bear out."""
    config = run.config
    metrics: list[Metric] = []
    if config.covariance == "isotropic":
        both = [run[f"share/floor/{case}"][-1, 0] for case in ("rotated", "fixed")]
        metrics.append(Metric(NOTHING_TO_KNOW, float(both[0] / both[1])))
    if config.layers >= config.d:
        left = max(float(run[f"share/conjugate/{case}"][-1, 0]) for case in ("rotated", "fixed"))
        metrics.append(Metric(SOLVED, left))
    if config.layers >= LAYERS:
        for claim, first, second in (
            (LEAD, "floor/fixed", "conjugate/rotated"),
            (LOST, "floor/rotated", "conjugate/rotated"),
            (WORTH, "floor/rotated", "floor/fixed"),
        ):
            metrics.append(Metric(claim, *ratio(run, first, second, LAYERS)))
    return metrics


def ratio(run: Run, first: str, second: str, layer: int) -> tuple[float, float]:
    """Return what one method leaves over what another leaves, with a standard error that takes
    both errors for independent."""
    over, over_error = run[f"share/{first}"][layer]
    under, under_error = run[f"share/{second}"][layer]
    value = float(over / under)
    return value, value * float(np.hypot(over_error / over, under_error / under))
