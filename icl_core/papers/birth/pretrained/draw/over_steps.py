"""What is drawn of a series of checkpoints: when heads appear, all heads at the step shown, both
losses, and what is wrong with the files."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.figures import Curve
from icl_core.papers.birth.pretrained.draw.stage import map_of_heads, table_of_heads
from icl_core.papers.birth.pretrained.settings import SCORES, View
from icl_core.papers.birth.shared.behaviour import MOST
from icl_core.statistics.crossing import first_crossing

KINDS = {"previous": "previous token", "followers": "induction"}
COLOURS = {"previous": "layer 1", "followers": "layer 2"}


def scores(run: Run, measure: str) -> np.ndarray:
    """Return a measure of every head at every step, the mean over draws, [steps, layers, H]; on
    what followed beyond even attention."""
    values = dict(
        zip(run.names("measures"), run["series/scores"].mean(1).swapaxes(0, 1), strict=True)
    )
    if measure == "previous":
        return values["previous"]
    return (values["followers"] - values["even"]) / (1 - values["even"])


def milestones(run: Run) -> dict[str, float]:
    """Return the steps at which the first head of either kind scores high."""
    steps = run["snapshot/step"]
    crossings = {}
    for measure, kind in KINDS.items():
        best = scores(run, measure).max((1, 2))
        step = first_crossing(steps, best, MOST)
        if np.isfinite(step):
            crossings[kind] = float(step)
    return crossings


def headline(run: Run, view: View) -> str:
    """Return what the best head of either kind does at the step shown."""
    at = run.snapshot_at(view)
    best = {measure: scores(run, measure)[at].max() for measure in KINDS}
    return (
        f"After {run.step(view):,} steps one head has {best['previous']:.0%} of its attention on "
        f"the token before; the best induction score is {best['followers']:.2f}."
    )


def appear(run: Run, view: View) -> Panel:
    """Draw the score of the best head of either kind over the training."""
    steps = run["snapshot/step"]
    best = {measure: scores(run, measure).max((1, 2)) for measure in KINDS}
    series = [
        Curve(KINDS[measure], steps, line, COLOURS[measure], markers=True)
        for measure, line in best.items()
    ]
    figure = figures.curves(
        series,
        "training step",
        "best head's score",
        y_range=(0, 1.05),
        lines=[("high", MOST, "floor")],
        at=run.step(view),
        height=figures.SEAT,
    )
    return Panel(
        _when(milestones(run)),
        "The largest score of any head in each checkpoint, as the map of heads has them: attention "
        "on the token before, and on what followed the same token before. The second kind needs "
        "the first: it should not appear earlier. If training only made all heads a little "
        "better, the lines would rise slowly together.",
        figures.seated(figure),
        data=pd.DataFrame({"step": steps} | {KINDS[name]: line for name, line in best.items()}),
    )


def _when(steps: dict[str, float]) -> str:
    """Return when heads appear, in words."""
    if not steps:
        return "No head of either kind appears"
    if len(steps) == 1:
        kind, step = next(iter(steps.items()))
        other = next(each for each in KINDS.values() if each != kind)
        return f"{kind.capitalize()} at step {step:,.0f}, no {other}"
    previous, induction = (steps[kind] for kind in KINDS.values())
    return f"Previous token at step {previous:,.0f}, induction at {induction:,.0f}"


def heads(run: Run, view: View) -> Panel:
    """Draw the score of every head at the step shown."""
    values = scores(run, view.score)[run.snapshot_at(view)]
    number = int((values >= MOST).sum())
    return Panel(
        f"{number} of {values.size} heads score high ({SCORES[view.score]})",
        "Every cell is a head at the step on the clock, measured as on the stage of a single "
        "model. High is 0.4 or more.",
        map_of_heads(values),
        data=table_of_heads(values),
    )


def losses(run: Run, view: View) -> Panel:
    """Draw the loss of both halves over the training."""
    steps = run["snapshot/step"]
    first, second = run["series/halves"].transpose(2, 1, 0)  # (draws, steps) each
    series = [
        Curve("said again", steps, second, "layer 2", band="minmax"),
        Curve("the first time", steps, first, "floor", "dash", band="minmax"),
    ]
    top = 1.1 * float(max(first.max(), second.max()))
    figure = figures.curves(
        series,
        "training step",
        "loss in nats",
        y_range=(0, top),
        at=run.step(view),
        height=figures.SEAT,
    )
    at = run.snapshot_at(view)
    return Panel(
        f"Said again, a token costs {second[:, at].mean():.1f}, not {first[:, at].mean():.1f}",
        "What random tokens cost the first time and when they are said again, in five draws. They "
        "part when the model begins to learn in context, which should be when the induction head "
        "appears.",
        figures.seated(figure),
        data=pd.DataFrame({"step": steps, "again": second.mean(0), "first": first.mean(0)}),
    )


def files(run: Run, view: View) -> Panel:
    """Tabulate the checkpoints with their digests and what is wrong with them."""
    remarks = run.names("remarks")
    wrong = sum(bool(remark) for remark in remarks)
    table = pd.DataFrame(
        {
            "step": run.snapshot_steps,
            "checkpoint": run.names("files"),
            "digest": run.names("digests"),
            "remark": [remark or "–" for remark in remarks],
        }
    )
    return Panel(
        f"{wrong} of {len(remarks)} checkpoints are not what their names say"
        if wrong
        else f"All {len(remarks)} checkpoints differ",
        "Every file and every tensor is hashed. Two checkpoints that are equal, or that share "
        "tensors which change elsewhere in the series, cannot both be of the step in their names; "
        "so it was with published series. Their points in the curves are not to be trusted.",
        table=table,
    )
