"""The paper's ordering and what makes the comparison fair, measured on a run, with the reason where it did not come
out."""

from dataclasses import replace

import numpy as np

from icl_core.experiment import Claim, Metric, Run
from icl_core.papers.gdssm.comparison import claims
from icl_core.papers.gdssm.comparison.models import learners

NEAR = 1.05  # times gradient descent's loss: as good


def metrics(run: Run) -> list[Metric]:
    """GD-SSM at its worst seed, the others as means over theirs."""
    models, off = learners(run.config), run["judged/loss"] / run["baseline/one"] - 1  # [seeds, models]
    mean = off.mean(0)
    rivals = [i for i, each in enumerate(models) if each.rival]
    single = [mean[i] for i in rivals if models[i].layers == 1]
    double = [mean[i] for i in rivals if models[i].layers == 2]
    parameters = run["size/parameters"][rivals] / run.config.parameters - 1
    vectors = run.config.model == "N-D"
    found = [
        (claims.REACHES, _worst(off[:, 0])),
        (claims.ONLY if vectors else claims.ONLY_1D, float(min(single))),
        (replace(claims.TRANSFORMER, reason=seeds_near(run)), float(min(double))),
        (claims.MATCHED, float(np.abs(parameters).max())),
    ]
    if vectors:
        found.append((claims.TWO, _worst(run["judged/loss"][:, 1] / run["baseline/two"] - 1)))
    return [_measured(claim, value) for claim, value in found]


def seeds_near(run: Run) -> str:
    """How many seeds of each transformer of two layers are as good as one step, in a sentence."""
    near = run["judged/loss"] <= NEAR * run["baseline/one"]  # [seeds, models]
    models = [(i, each.name) for i, each in enumerate(learners(run.config)) if each.rival and each.layers == 2]
    counts = [f"{name.split()[0].lower()} {int(near[:, i].sum())} of {len(near)}" for i, name in models]
    return (
        f"It is the mean over seeds. Seeds that come within 5 % of one step or beyond: {', '.join(counts)}. Those that "
        f"do not may not have left their plateau after {run.config.steps:,} steps; the paper trains for up to 300,000."
    )


def _worst(values: np.ndarray) -> float:
    return float(values[np.abs(values).argmax()])


def _measured(claim: Claim, value: float) -> Metric:
    """A reason only where there is something to explain."""
    metric = Metric(claim, value)
    return metric if metric.verdict == "not reproduced" else Metric(replace(claim, reason=""), value)
