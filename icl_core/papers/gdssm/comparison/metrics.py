"""The paper's ordering and what makes the comparison fair, measured on a run."""

import numpy as np

from icl_core import trend
from icl_core.experiment import Claim, Metric, Run
from icl_core.papers.gdssm.comparison import claims, comparison_tasks
from icl_core.papers.gdssm.comparison.models import Learner, learners

NEAR = 1.05  # times gradient descent's loss: as good
Placed = list[tuple[int, Learner]]  # models with their places in the run


def metrics(run: Run) -> list[Metric]:
    """GD-SSM at its worst seed, the others as means over theirs."""
    placed = list(enumerate(learners(run.config)))
    own = [each for each in placed if not each[1].rival]
    rivals = [each for each in placed if each[1].rival]
    parameters = run["size/parameters"][[place for place, _ in rivals]] / run.config.parameters - 1
    found = [
        _reaches(run, claims.REACHES, own[:1], "one"),
        _best(run, claims.ONLY, [each for each in rivals if each[1].layers == 1]),
        _best(run, claims.TRANSFORMER, [each for each in rivals if each[1].layers == 2]),
        Metric(claims.MATCHED, float(np.abs(parameters).max())),
    ]
    return found + [_reaches(run, claims.TWO, each, "two") for each in (own[1:],) if each]


def _reaches(run: Run, claim: Claim, model: Placed, steps: str) -> Metric:
    """A model at its worst seed beside gradient descent of so many steps."""
    off = run["judged/loss"][:, model[0][0]] / run[f"baseline/{steps}"] - 1
    return Metric(claim, float(off[np.abs(off).argmax()]), unfinished=unfinished(run, model))


def _best(run: Run, claim: Claim, models: Placed) -> Metric:
    """The best of some models beside one step, as the mean over seeds; undecided where a loss that falls on could
    change the verdict."""
    off = run["judged/loss"] / run["baseline/one"] - 1  # [seeds, models]
    best = min((place for place, _ in models), key=lambda place: off[:, place].mean())
    value, near = float(off[:, best].mean()), off.mean(0)[best] <= NEAR - 1
    open_yet = "" if near else unfinished(run, models)
    reason = "" if near else seeds_near(run, models)
    return Metric(claim, value, _error(off[:, best]), open_yet, reason if claim.slack(value) < 0 else "")


def _error(values: np.ndarray) -> float | None:
    """The standard error of a mean over seeds; None for a single one and where one diverged."""
    return float(values.std(ddof=1) / len(values) ** 0.5) if len(values) > 1 and np.isfinite(values).all() else None


def unfinished(run: Run, models: Placed) -> str:
    """Which of some models had not come to the end of their training: still at predicting zero, or falling by a
    hundredth of one step's loss. Empty if all had."""
    tasks = comparison_tasks.held_out(run.config, comparison_tasks.WATCHED)
    zero, matters = float(tasks.y[-1].square().mean()) / 2, 0.01 * float(run["baseline/one"][0])
    curves = {each.name: run[f"curve/{each.name}"] for _, each in models if f"curve/{each.name}" in run.tensors}
    said = {name: trend.on_plateau(rows, zero) or trend.still_falling(rows, matters) for name, rows in curves.items()}
    return " ".join(f"{name}: {sentence}" for name, sentence in said.items() if sentence)


def seeds_near(run: Run, models: Placed) -> str:
    """How many seeds of each of some models are as good as one step, in a sentence."""
    near = run["judged/loss"] <= NEAR * run["baseline/one"]  # [seeds, models]
    counts = [f"{each.name} {int(near[:, place].sum())} of {len(near)}" for place, each in models]
    return f"It is the mean over seeds. Seeds that come within 5 % of one step or beyond: {'; '.join(counts)}."
