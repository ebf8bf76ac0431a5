"""When a training arrives at its floor, and how many times as fast as another: from the curves of a
run."""

from dataclasses import dataclass

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.contract.statistics import first_crossing, last_fall, last_tenth
from icl_core.papers.memformers.shared.load_run import log_of
from icl_core.papers.memformers.speed.models import BY_ID, LINEAR, Timed

NEVER = np.inf  # not within the steps of the training
WITHIN = 0.1  # of the floor, in the logarithm of the loss
MATTERS = 0.02  # a fall of the log-loss over the last tenth of a training that counts
MOVES = 0.05  # standard deviation over the last tenth from which a log-loss hovers


def reached(steps: np.ndarray, above: np.ndarray, within: float = WITHIN) -> np.ndarray:
    """Return the step at which each seed's log-loss `above` its floor [seeds, points] first is
    `within`, along the straight line between the evaluations at `steps` [points]; NEVER where none
    is."""
    return np.array([first_crossing(steps, -row, -within) for row in above])


def above_floor(run: Run, model: Timed, coordinates: str, rate: int) -> np.ndarray:
    """Return the log-loss above the model's own floor over training, [seeds, points]; NaN where
    there is none (yet)."""
    key = f"curve/{coordinates}/{model.id}/{rate}"
    if key not in run.tensors:
        return np.full((run.config.seeds, len(run.tensors.get("curve/step", [0]))), np.nan)
    if not run.finished:  # the floors come last
        return log_of(run[key])
    return log_of(run[key]) - float(
        log_of(run["baseline/floor_shared" if model.has_own_floor else "baseline/floor"])[0]
    )


def arrivals(run: Run, model: Timed, coordinates: str) -> np.ndarray:
    """Return the steps to the floor at every rate, [rates, seeds]."""
    rates = range(len(run["rate/values"]))
    return np.stack(
        [reached(run["curve/step"], above_floor(run, model, coordinates, rate)) for rate in rates]
    )


def models_of(run: Run) -> list[Timed]:
    """Return the models that the run has timed, of those that today's code knows."""
    return [BY_ID[id] for id in run.names("models") if id in BY_ID]


def typical(steps: np.ndarray) -> np.ndarray:
    """Return the median over seeds of steps [..., seeds]; NEVER where half of them do not
    arrive."""
    # The upper one of two in the middle: no mean of a number and never.
    ordered = np.sort(steps, -1)
    return ordered[..., steps.shape[-1] // 2]


def best_rate(steps: np.ndarray) -> int | None:
    """Return the index of the rate at which [rates, seeds] arrive soonest in the median; None
    if at none."""
    medians = typical(steps)
    return int(np.argmin(medians)) if np.isfinite(medians).any() else None


def nearest(run: Run, rate: float) -> int:
    """Return the index of the trained rate that is nearest, by factors."""
    return int(np.abs(np.log(run["rate/values"] / rate)).argmin())


@dataclass(frozen=True, eq=False)
class Factors:
    """How many times as fast as another a model arrives, [seeds]: the same prompts and first A for
    both.

    Where only the other never arrives the number is a lower bound; where only the model does not it
    is 0; where neither does, NaN.
    """

    values: np.ndarray
    at_least: np.ndarray  # [seeds] of bool

    @property
    def mean(self) -> float:
        """Return the geometric mean over seeds."""
        with np.errstate(divide="ignore"):
            return float(np.exp(np.log(self.values).mean()))

    @property
    def error(self) -> float | None:
        """Return its standard error; None for a single seed or where there is none."""
        if len(self.values) < 2 or not (self.values > 0).all():
            return None
        return self.mean * float(np.log(self.values).std(ddof=1)) / len(self.values) ** 0.5


def factors(slow: np.ndarray, fast: np.ndarray, limit: float) -> Factors:
    """Return `slow` over `fast`, both [seeds] of steps, seed by seed, of trainings of `limit`
    steps."""
    known = np.isfinite(fast)
    bounded = np.where(np.isfinite(slow), slow, limit) / np.maximum(np.where(known, fast, 1.0), 1.0)
    values = np.where(known, bounded, np.where(np.isfinite(slow), 0.0, np.nan))
    return Factors(values, known & ~np.isfinite(slow))


def at_equal(run: Run, coordinates: str, model: Timed, slower: Timed = LINEAR) -> list[Factors]:
    """Return the factors at every rate."""
    pairs = zip(arrivals(run, slower, coordinates), arrivals(run, model, coordinates), strict=True)
    return [factors(slow, fast, run.config.steps) for slow, fast in pairs]


def at_best(run: Run, coordinates: str, model: Timed, slower: Timed = LINEAR) -> Factors | None:
    """Return the factors at the best rate of each; None if either arrives at no rate."""
    slow, fast = (arrivals(run, each, coordinates) for each in (slower, model))
    rates = best_rate(slow), best_rate(fast)
    if rates[0] is None or rates[1] is None:
        return None
    return factors(slow[rates[0]], fast[rates[1]], run.config.steps)


def why_never(run: Run, model: Timed, coordinates: str, rate: int) -> str:
    """Return why some seeds do not arrive, as measured; empty if all do."""
    above = above_floor(run, model, coordinates, rate)
    steps = run["curve/step"]
    missing = above[~np.isfinite(reached(steps, above))]
    if not len(missing):
        return ""
    if not np.isfinite(missing).all():
        return "diverged"
    fall, error = last_fall(missing, steps)
    if fall > max(2 * error, MATTERS):
        return f"still falling, {missing[:, -1].mean():.2f} above"
    last = missing[:, -last_tenth(steps) :]
    level = np.median(last)
    moves = np.median(last.std(1))
    return (
        f"hovers {level:.2f} ± {moves:.2f} above" if moves > MOVES else f"level, {level:.2f} above"
    )
