"""What the curves and the matrices of each training tell: when they arrive, how strong each stored
pair is."""

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.papers.birth.data.settings import OUTPUTS
from icl_core.papers.birth.shared.probes import early_positions
from icl_core.statistics.crossing import first_crossing

# W_O2 and W_F compete in a joint training, and W_O2 can stay a little below one half for good.
LEVEL = 0.4
UNIFORM, BIGRAM = OUTPUTS  # the two trainings that are compared on both laws of outputs
MATRICES = ("recall_W_O2", "recall_W_K2", "recall_W_K1_early")  # their curves


def of(run: Run, tensor: str, name: str) -> np.ndarray:
    """Return a tensor [seeds, data, …] of the training on the data called `name`, [seeds, …]."""
    return run[tensor][:, run.names("data").index(name)]


def times(run: Run, measure: str, name: str) -> np.ndarray:
    """Return the step at which each seed's curve reaches the level, [seeds]; infinite where it
    never does."""
    return np.array(
        [
            first_crossing(run["curve/step"], curve, LEVEL)
            for curve in of(run, f"curve/{measure}", name)
        ]
    )


def over_training(run: Run, measure: str, name: str) -> np.ndarray:
    """Return the mean of each seed's curve over the training, [seeds]."""
    steps = run["curve/step"]
    return np.trapezoid(of(run, f"curve/{measure}", name), steps, axis=1) / (steps[-1] - steps[0])


def arrival(run: Run, measure: str, name: str) -> float:
    """Return the same of the mean over seeds: what the drawings show."""
    return first_crossing(run["curve/step"], of(run, f"curve/{measure}", name).mean(0), LEVEL)


def chosen(name: str, probe: str) -> bool:
    """Return whether a probe has a choice to make: W_K2 with a single fixed trigger has none."""
    return not (name == "frequent" and probe == "recall_W_K2")


def latest(run: Run, name: str) -> str | None:
    """Return the matrix whose probe arrives last; None if several never do."""
    found = {probe: arrival(run, probe, name) for probe in MATRICES if chosen(name, probe)}
    last = max(found.values())
    late = [probe for probe, step in found.items() if step == last]
    return late[0] if len(late) == 1 else None


def halved(run: Run, measure: str, name: str) -> np.ndarray:
    """Return the step at which each seed's loss has gone half of its way from the first value to
    the least, [seeds]."""
    found = []
    for loss in of(run, f"curve/{measure}", name):
        found.append(
            first_crossing(run["curve/step"], -loss, -float(loss[0] + np.nanmin(loss)) / 2)
        )
    return np.array(found)


def by_position(diagonal: np.ndarray, T: int) -> tuple[np.ndarray, np.ndarray]:
    """W_K1's stored readings [..., T - 1], the mean over early positions and over the last half,
    [...] each."""
    return diagonal[..., : early_positions(T) - 1].mean(-1), diagonal[..., T // 2 - 1 :].mean(-1)


def by_case(diagonal: np.ndarray, characters: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Stored readings [..., characters], the mean over capital and over lowercase letters, [...]
    each; NaN if none."""
    capital, lower = (
        np.array([test(each) for each in characters]) for test in (str.isupper, str.islower)
    )
    if not capital.any() or not lower.any():
        return np.full(diagonal.shape[:-1], np.nan), np.full(diagonal.shape[:-1], np.nan)
    return diagonal[..., capital].mean(-1), diagonal[..., lower].mean(-1)


def unevenness(diagonal: np.ndarray) -> np.ndarray:
    """Return the standard deviation of stored readings [..., pairs] as a share of their mean,
    [...]."""
    return diagonal.std(-1) / diagonal.mean(-1)


def correlation(one: np.ndarray, other: np.ndarray) -> float:
    """Return the rank correlation of two lists of numbers."""
    first, second = (np.argsort(np.argsort(each)).astype(float) for each in (one, other))
    return float(np.corrcoef(first, second)[0, 1])
