"""The paper's ordering and what makes the comparison fair, measured on a run."""

import numpy as np

from icl_core import trend
from icl_core.experiment import Claim, Metric, Run
from icl_core.papers.gdssm.comparison.claims import MATCHED, ONLY, REACHES, TRANSFORMER, TWO
from icl_core.papers.gdssm.comparison.read_run import NEAR, Entry, curves, entries
from icl_core.papers.gdssm.shared.sequence_models.train import WATCHED, levels


def metrics(run: Run) -> list[Metric]:
    """GD-SSM at its worst seed, the baselines as means over theirs."""
    own, baselines = ([each for each in entries(run) if each.baseline is one] for one in (False, True))
    return [
        _reaches(run, REACHES, own[0], "one"),
        _best(run, ONLY, [each for each in baselines if each.layers == 1]),
        _best(run, TRANSFORMER, [each for each in baselines if each.layers == 2]),
        Metric(MATCHED, max(abs(each.parameters / run.config.parameters - 1) for each in baselines)),
        *(_reaches(run, TWO, each, "two") for each in own[1:]),
    ]


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
    hundredth of one step's loss. Empty if all had."""
    zero, matters, found = levels(run.config, WATCHED)[0], 0.01 * float(run["baseline/one"][0]), curves(run)
    trained = [(each.model.label, found[each.model.id]) for each in models if each.model.id in found]
    said = [(label, trend.on_plateau(rows, zero) or trend.still_falling(rows, matters)) for label, rows in trained]
    return " ".join(f"{label}: {sentence}" for label, sentence in said if sentence)


def seeds_near(run: Run, models: list[Entry]) -> str:
    """How many seeds of each of some models are as good as one step, in a sentence."""
    near = {each.model.label: each.losses <= NEAR * run["baseline/one"] for each in models}  # [seeds]
    counts = "; ".join(f"{label} {seeds.sum()} of {len(seeds)}" for label, seeds in near.items())
    return f"It is the mean over seeds. Seeds that come within 5 % of one step or beyond: {counts}."
