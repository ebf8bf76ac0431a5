"""What is claimed of the speed that memory buys, and what a run measures of it: when a training
arrives at its floor, and how many times as fast as another.

All are ours: the paper says nothing of steps to a floor. The bounds were set after a first look at
the seeds 50 to 54, and are evaluated on the seeds from 0 on.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from icl_core.contract.experiment import Claim, Metric, Run
from icl_core.contract.statistics import first_crossing, last_fall, last_tenth
from icl_core.papers.memformers.shared.load_run import log_of
from icl_core.papers.memformers.speed.settings import (
    CGD,
    EQUAL,
    LFOM,
    LINEAR,
    MODELS_BY_ID,
    STEPPED,
    Timed,
)

WHERE = "original"  # the coordinates of all claims but the last

AT = {
    "d": 5,
    "n": 20,
    "spectrum": "paper",
    "layers": 4,
    "batch": 1000,
    "seed": 0,
    "seeds": range(3, 6),
    "steps": range(2000, 10_001),
}
EVERY_RATE = {
    **AT,
    "rates": ".003, .01, .03, .1",
}  # what is the best of them depends on which there are
RATE = 0.01  # the authors', if in other units of A
LOOK = "The bound was set after a first look at other seeds."

EQUAL_RATE = Claim(
    id="worth-equal-rate",
    panel="every rate",
    label="times as fast, equal rates",
    kind="ours",
    text="At a rate of .01, in the original coordinates, the slower of CGD-like and LFOM "
    f"Memformer needs fewer than half the steps of the linear transformer. {LOOK}",
    source="not in the paper; the mean of log-ratios over pairs of equal prompts",
    at=AT,
    setting="learning rate .01",
    at_least=2.0,
)
BEST_RATE = Claim(
    id="worth-best-rate",
    panel="every rate",
    label="times as fast, best rates",
    kind="ours",
    text="Each at its own best rate, in the original coordinates, the slower Memformer still "
    f"needs fewer than half the steps of the linear transformer. {LOOK}",
    source="not in the paper",
    at=EVERY_RATE,
    at_least=2.0,
)
STEP_SIZES = Claim(
    id="step-sizes-worth",
    panel="every rate",
    label="times as fast by α alone",
    kind="ours",
    text="Much of what a Memformer gains is not memory: a linear transformer that also learns a "
    "step size αₗ beside every Aₗ, as the register brings it, needs fewer than half the steps of "
    f"one without, at equal rates. {LOOK}",
    source="not in the paper: the CGD-like Memformer with γ = 0",
    at=AT,
    setting="learning rate .01",
    at_least=2.0,
)
MEMORY_ALONE = Claim(
    id="memory-alone-worth",
    panel="losses",
    label="times as fast by γ alone",
    kind="ours",
    text="Memory itself, γ beside α, lets the CGD-like Memformer arrive at least 1.2 times as "
    f"fast as α alone does, at equal rates. {LOOK}",
    source="not in the paper: the CGD-like Memformer against itself with γ = 0",
    at=AT,
    setting="learning rate .01",
    at_least=1.2,
)
SAME_FLOOR = Claim(
    id="same-floor",
    panel="every rate",
    label="log-loss above the common floor, nearest",
    kind="ours",
    text="Linear transformer, with and without α, CGD-like and LFOM Memformer all come within 0.1 "
    "of one floor at some rate, in both coordinates and in every seed.",
    source="not in the paper; follows from equal optima",
    at=EVERY_RATE,
    at_most=0.1,
)

ALL = (EQUAL_RATE, BEST_RATE, STEP_SIZES, MEMORY_ALONE, SAME_FLOOR)

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
    return [MODELS_BY_ID[id] for id in run.names("models") if id in MODELS_BY_ID]


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


def measure(run: Run) -> list[Metric]:
    """Return the factors at the rate of the claims and at the best ones; how near every model comes
    to the floor."""
    metrics = [_slowest(BEST_RATE, [at_best(run, WHERE, each) for each in (CGD, LFOM)])]
    if (index := _claimed_rate(run)) is not None:
        equal = [at_equal(run, WHERE, each)[index] for each in (CGD, LFOM)]
        metrics += [
            _slowest(EQUAL_RATE, equal),
            _slowest(STEP_SIZES, [at_equal(run, WHERE, STEPPED)[index]]),
            _slowest(MEMORY_ALONE, [at_equal(run, WHERE, CGD, STEPPED)[index]]),
        ]
    return [*metrics, Metric(SAME_FLOOR, _farthest(run))]


def _claimed_rate(run: Run) -> int | None:
    indices = np.flatnonzero(np.isclose(run["rate/values"], RATE))
    return int(indices[0]) if len(indices) else None


def _slowest(claim: Claim, every: Sequence[Factors | None]) -> Metric:
    """Return the least of the mean factors. A lower bound bears the claim out if it is enough, and
    else decides nothing."""
    known = [each for each in every if each is not None and not np.isnan(each.mean)]
    if len(known) < len(every):
        return Metric(claim, None)
    least = min(known, key=lambda each: each.mean)
    bounds = int(least.at_least.sum())
    reason = (
        f"A lower bound: the slower model does not arrive in {bounds} of {len(least.values)} seeds."
        * bool(bounds)
    )
    open_ended = reason if claim.slack(least.mean) < 0 else ""
    return Metric(claim, least.mean, least.error, open_ended, reason, len(least.values))


def _farthest(run: Run) -> float:
    """Return how far above the common floor the worst of models, coordinates and seeds stays at the
    nearest of all rates."""
    rates = range(len(run["rate/values"]))
    nearest = []
    for model in EQUAL:
        for where in run.names("coordinates"):
            above = np.stack([above_floor(run, model, where, rate) for rate in rates])
            # (rates, seeds, points)
            nearest.append(np.where(np.isnan(above), np.inf, above).min((0, 2)))
    return float(np.max(nearest))
