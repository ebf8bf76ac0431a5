"""The lesson on layers that learn their steps. Imports no torch until an answer is asked for."""

from collections.abc import Iterable

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.contract.lesson import EXPERIMENTS, PRESETS, TRAIN
from icl_core.contract.paper_words import LessonWords


def _steps(run: Run) -> np.ndarray:
    """Return the layers' steps a, the first seed's."""
    from icl_core.papers.memformers.shared.draw.preconditioner import multiples

    return multiples(run)[0]


def _listed(steps: Iterable[float]) -> str:
    return ", ".join(f"{step:.3f}" for step in sorted(steps))


def _ratio(run: Run) -> float:
    """Return the largest of the variances along Σ's axes over the smallest."""
    values = run["frozen/eigenvalues"]
    return float(values.max() / values.min())


def _stretched(run: Run) -> float:
    """Return how many times as far the first layer steps along one axis as along another."""
    from icl_core.papers.memformers.shared.draw.preconditioner import whitened_of
    from icl_core.papers.memformers.shared.load_run import covariance_of

    back = covariance_of(run, 1).inverse_root
    values = np.linalg.eigvalsh(
        (back @ whitened_of(run, 1, run.config.layers, None)[0] @ back).numpy()
    )
    return float(values.max() / values.min())


def _factors(run: Run) -> str:
    """Return what each layer leaves of the error, as a product."""
    factors = [1 - float(step) for step in _steps(run)]
    return " × ".join(f"{left:.3f}" if left > 0 else f"(−{-left:.3f})" for left in factors)


LESSON = LessonWords(
    __file__,
    right={
        "longest": (lambda run: float(_steps(run).max()), 0.008),
        "stretched": (_ratio, 0.5),
        "left": (lambda run: float(np.prod(1 - _steps(run))), 0.005),
    },
    readings={
        "learned_steps": lambda run: _listed(_steps(run)),
        "best_steps": lambda run: _listed(run["reference/floor_steps"][-1][: run.config.layers]),
        "stretched": _stretched,
        "factors": _factors,
    },
).lesson(
    name="learned-steps",
    experiment="convergence",
    preset="sigma",
    working=15,
    hidden=(PRESETS, EXPERIMENTS, TRAIN, "Evidence"),
    predict=("noise", "seeds"),
)
