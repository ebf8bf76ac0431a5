"""What the curves and the matrices of each training say: when a measure arrives, and how strong
each stored pair is."""

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.contract.statistics import first_crossing
from icl_core.papers.birth.data.settings import OUTPUTS
from icl_core.papers.birth.shared.probes import early_positions

# W_O2 and W_F compete in a joint training, and W_O2 can stay a little below one half for good.
LEVEL = 0.4
UNIFORM, BIGRAM = OUTPUTS  # the two trainings that are compared on both laws of outputs
MATRICES = ("recall_W_O2", "recall_W_K2", "recall_W_K1_early")  # the matrices, by their curves


def of(run: Run, tensor: str, name: str) -> np.ndarray:
    """Return a tensor [seeds, data, …] of the training on the data called `name`, [seeds, …]."""
    return run[tensor][:, run.names("data").index(name)]


def times(run: Run, measure: str, name: str) -> np.ndarray:
    """Return the training step at which each seed's curve reaches LEVEL, [seeds]; infinite where it
    never does."""
    curves = of(run, f"curve/{measure}", name)  # (seeds, evaluations)
    return np.array([first_crossing(run["curve/step"], curve, LEVEL) for curve in curves])


def over_training(run: Run, measure: str, name: str) -> np.ndarray:
    """Return the mean of each seed's curve over the training, [seeds]."""
    steps = run["curve/step"]
    curves = of(run, f"curve/{measure}", name)  # (seeds, evaluations)
    return np.trapezoid(curves, steps, axis=1) / (steps[-1] - steps[0])


def arrival(run: Run, measure: str, name: str) -> float:
    """Return the training step at which the mean curve over seeds reaches LEVEL; infinite if it
    never does. The drawings show it."""
    curve = of(run, f"curve/{measure}", name).mean(0)  # (evaluations,)
    return first_crossing(run["curve/step"], curve, LEVEL)


def compared(run: Run) -> list[str]:
    """Return the kinds of data that are compared: all with uniform outputs."""
    return [name for name in run.names("data") if name != BIGRAM]


def ordered(run: Run) -> list[str]:
    """Return the same, the one that is right in context soonest first; those that never are by
    their last accuracy."""
    last = {name: float(of(run, "curve/accuracy", name)[:, -1].mean()) for name in compared(run)}
    return sorted(compared(run), key=lambda name: (arrival(run, "accuracy", name), -last[name]))


def chosen(name: str, probe: str) -> bool:
    """Return whether a probe has a choice to make on the data called `name`: W_K2 has none where
    there is a single fixed trigger."""
    return not (name == "frequent" and probe == "recall_W_K2")


def halved(run: Run, measure: str, name: str) -> np.ndarray:
    """Return the training step at which each seed's loss has gone half of its way from the first
    value to the least, [seeds]."""
    steps = []
    for loss in of(run, f"curve/{measure}", name):
        half = float(loss[0] + np.nanmin(loss)) / 2
        # negated, as `first_crossing` looks for a rise
        steps.append(first_crossing(run["curve/step"], -loss, -half))
    return np.array(steps)


def by_position(diagonal: np.ndarray, T: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean of W_K1's stored readings [..., T - 1] over the early positions, and over the
    last half of all positions, [...] each."""
    early = diagonal[..., : early_positions(T) - 1]
    late = diagonal[..., T // 2 - 1 :]
    return early.mean(-1), late.mean(-1)


def by_case(diagonal: np.ndarray, characters: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean of stored readings [..., characters] over capital letters, and over lowercase
    letters, [...] each; both are NaN if either kind is missing."""
    capital = np.array([character.isupper() for character in characters])
    lower = np.array([character.islower() for character in characters])
    if not capital.any() or not lower.any():
        missing = np.full(diagonal.shape[:-1], np.nan)
        return missing, missing.copy()
    return diagonal[..., capital].mean(-1), diagonal[..., lower].mean(-1)


def unevenness(diagonal: np.ndarray) -> np.ndarray:
    """Return the standard deviation of stored readings [..., pairs] as a share of their mean,
    [...]."""
    return diagonal.std(-1) / diagonal.mean(-1)


def correlation(one: np.ndarray, other: np.ndarray) -> float:
    """Return the rank correlation (Spearman's, without averaged ties) of two lists of numbers."""
    ranks_of_one = np.argsort(np.argsort(one)).astype(float)
    ranks_of_other = np.argsort(np.argsort(other)).astype(float)
    return float(np.corrcoef(ranks_of_one, ranks_of_other)[0, 1])
