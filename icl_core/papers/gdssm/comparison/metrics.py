"""The paper's ordering and what is found beside it, measured on a run."""

from collections.abc import Callable

import numpy as np

from icl_core.experiment import Claim, Metric, Run
from icl_core.papers.gdssm.comparison import constructed
from icl_core.papers.gdssm.comparison.claims import (
    BY_HAND,
    MATCHED,
    ONLY,
    PRODUCTS_GIVEN,
    REACHES,
    SMALL_MAMBA,
    SMALL_TRANSFORMER,
    TRANSFORMER,
    TWO,
)  # fmt: skip
from icl_core.papers.gdssm.comparison.read_run import NEAR, Entry, beside_the_paper, ending, entries


def metrics(run: Run) -> list[Metric]:
    """GD-SSM at its worst seed, the baselines as means over theirs."""
    own, baselines = ([each for each in entries(run) if each.baseline is one] for one in (False, True))
    two = [each for each in baselines if each.layers == 2]
    found = [
        _reaches(run, REACHES, own[0], "one"),
        _best(run, ONLY, [each for each in baselines if each.layers == 1]),
        _best(run, TRANSFORMER, two),
        *(_reaches(run, TWO, each, "two") for each in own[1:]),
    ]
    if run.config.plain:
        found.append(Metric(MATCHED, max(abs(each.parameters / run.config.parameters - 1) for each in baselines)))
    return found + (_products_given if run.config.model == "1-D" else _products_to_make)(run, baselines)


def _products_given(run: Run, baselines: list[Entry]) -> list[Metric]:
    linear = _of(baselines, lambda each: each.model.id == "linear-1")
    reached = [_best(run, PRODUCTS_GIVEN, linear)] if linear else []
    return [*reached, Metric(BY_HAND, constructed.largest_difference(run.config.f, run.config.N))]


def _products_to_make(run: Run, baselines: list[Entry]) -> list[Metric]:
    mamba = _of(baselines, lambda each: each.model.id == "mamba")
    reached = [_best(run, SMALL_MAMBA, mamba)] if mamba else []
    return [_best(run, SMALL_TRANSFORMER, _of(baselines, lambda each: each.layers == 2)), *reached]


def _of(models: list[Entry], wanted: Callable[[Entry], bool]) -> list[Entry]:
    return [each for each in models if wanted(each)]


def _reaches(run: Run, claim: Claim, own: Entry, steps: str) -> Metric:
    """A GD-SSM at its worst seed beside gradient descent of so many steps."""
    off = own.losses / run[f"baseline/{steps}"] - 1
    return Metric(claim, float(off[np.abs(off).argmax()]), unfinished=unfinished(run, [own]))


def _best(run: Run, claim: Claim, models: list[Entry]) -> Metric:
    """The best of some models beside one step, as the mean over seeds; undecided where a loss that falls on could
    change the verdict."""
    off = min((each.losses / run["baseline/one"] - 1 for each in models), key=np.mean)  # [seeds]
    value, near = float(off.mean()), off.mean() <= NEAR - 1
    error = float(off.std(ddof=1) / len(off) ** 0.5) if len(off) > 1 and np.isfinite(off).all() else None
    reason = seeds_near(run, models) if claim.slack(value) < 0 and not near else ""
    return Metric(claim, value, error, "" if near else unfinished(run, models), reason)


def unfinished(run: Run, models: list[Entry]) -> str:
    """Which of some models had not come to the end of their training: still at predicting zero, or falling by a
    hundredth of one step's loss; with the tasks seen. Empty if all had."""
    ended = [(each.model.label, ending(run, each)[1]) for each in models]
    said = " ".join(f"{label}: {sentence}" for label, sentence in ended if sentence)
    return f"{said} {beside_the_paper(run)}" if said else ""


def seeds_near(run: Run, models: list[Entry]) -> str:
    """How many seeds of each of some models are as good as one step, in a sentence."""
    near = {each.model.label: each.losses <= NEAR * run["baseline/one"] for each in models}  # [seeds]
    counts = "; ".join(f"{label} {seeds.sum()} of {len(seeds)}" for label, seeds in near.items())
    return f"It is the mean over seeds. Seeds that come within 5 % of one step or beyond: {counts}."
