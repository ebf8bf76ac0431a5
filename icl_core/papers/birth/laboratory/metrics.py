"""The claims, measured: means over seeds with their standard errors."""

import numpy as np

from icl_core.contract.experiment import Claim, Metric, Run
from icl_core.papers.birth.laboratory import claims
from icl_core.papers.birth.laboratory.learned_memory import one_step
from icl_core.papers.birth.laboratory.load_run import at, growth, off_theory, waiting
from icl_core.papers.birth.laboratory.settings import CLASSROOM

WHICH = ("N", "d", "exponent")  # the memory that is learned


def measure(run: Run) -> list[Metric]:
    """Return the measured claims that this run can bear out. What is simulated for all widths does
    not depend on the memory that is learned, so runs that differ in that alone tell it once."""
    over_seeds = _learned(run)  # [seeds] each
    single = {claims.ONE_STEP: off_one_step(run)}
    if all(getattr(run.config, name) == getattr(CLASSROOM, name) for name in WHICH):
        over_seeds |= {**_vectors(run), **_capacity(run), **_forms(run)}
        single |= {claims.THEORY: off_theory(run)}
    metrics = [_metric(claim, over_seeds[claim]) for claim in claims.ALL if claim in over_seeds]
    return [*metrics, *(Metric(claim, value) for claim, value in single.items())]


def _metric(claim: Claim, values: np.ndarray) -> Metric:
    """Return the claim measured over the seeds whose value is finite."""
    finite = values[np.isfinite(values)]
    return Metric.over_seeds(claim, finite) if len(finite) else Metric(claim, None)


def _vectors(run: Run) -> dict[Claim, np.ndarray]:
    d = run["axis/near"]
    scaled = {name: run[f"near/{name}"] * np.sqrt(d) for name in run.names("near")}
    return {
        claims.NEAR: _farthest(scaled["independent"]),
        claims.REMAPPED: np.mean([scaled["remapped"], scaled["other"]], (0, 2)),
        claims.LENGTH: _farthest(run["near/norm_remapped"]),
        claims.VARIANCE: (run["near/remapped"] ** 2 * d**2 / (d + 2)).mean(1),
    }


def _farthest(values: np.ndarray) -> np.ndarray:
    """Return the values at the width where their mean over seeds is farthest from 1: [seeds,
    widths] to [seeds]."""
    return values[:, np.abs(values.mean(0) - 1).argmax()]


def _capacity(run: Run) -> dict[Claim, np.ndarray]:
    asked, zipf = (
        at(run, f"capacity/{name}", width=64, capacity=1024) for name in ("asked", "zipf")
    )
    return {
        claims.SQUARE: np.array([growth(run, seed) for seed in range(len(asked))]),
        claims.ZIPF: asked - zipf,
    }


def _forms(run: Run) -> dict[Claim, np.ndarray]:
    def full(width: int, pairs: int) -> np.ndarray:
        return at(run, "capacity/equal", width=width, capacity=pairs)

    shared, split = (
        at(run, f"form/{name}", width=128, pairs=64, taken=0) for name in ("shared", "split")
    )
    return {
        claims.SAME: at(run, "form/factorised", width=256, pairs=32, rank=64),
        claims.FEWER: full(64, 256) - at(run, "form/factorised", width=64, pairs=256, rank=64),
        claims.FILTERS: at(run, "form/mlp", width=64, pairs=1024) - full(64, 1024),
        claims.SETS_LINEAR: at(run, "form/linear", width=256, members=2),
        claims.SETS_MLP: at(run, "form/sets", width=256, members=3).max(-1),
        claims.SHARED: shared - split,
    }


def _learned(run: Run) -> dict[Claim, np.ndarray]:
    return {
        claims.EVENS_OUT: run["curve/ratio_norm"][:, -1] / run["curve/ratio_plain"][:, -1],
        claims.FIRST: waiting(run),
    }


def off_one_step(run: Run) -> float:
    """Return the largest difference of a strength after one step from the formula, over pairs and
    seeds."""
    strengths = one_step(run["learned/often"], run.config.learning_rate)
    return float(np.abs(run["learned/one_step"] - strengths).max())
