"""What is drawn of a series of checkpoints: when heads appear, all heads at the step shown, both
losses, and what is wrong with the files."""

import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.figures import Curve
from icl_core.papers.birth.pretrained.draw.stage import map_of_heads, table_of_heads
from icl_core.papers.birth.pretrained.load_run import ROLES, scores_over_steps
from icl_core.papers.birth.pretrained.settings import SCORES, View
from icl_core.papers.birth.pretrained.words import WORDS
from icl_core.papers.birth.shared.behaviour import MOST

COLOURS = {"previous": "layer 1", "followers": "layer 2"}


def appear(run: Run, view: View) -> Panel:
    """Draw the score of the best head of either kind over the training."""
    steps = run["snapshot/step"]
    best = {measure: scores_over_steps(run, measure).max((1, 2)) for measure in ROLES}
    series = [
        Curve(SCORES[measure], steps, line, COLOURS[measure], markers=True)
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
    data = pd.DataFrame({"step": steps} | {SCORES[name]: line for name, line in best.items()})
    return WORDS.panel("appear", run, view, figures.seated(figure), data=data)


def heads(run: Run, view: View) -> Panel:
    """Draw the score of every head at the step shown."""
    values = scores_over_steps(run, view.score)[run.snapshot_at(view)]
    return WORDS.panel(
        "series_heads",
        run,
        view,
        map_of_heads(values),
        data=table_of_heads(values),
        high=int((values >= MOST).sum()),
        heads=values.size,
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
    return WORDS.panel(
        "series_losses",
        run,
        view,
        figures.seated(figure),
        data=pd.DataFrame({"step": steps, "again": second.mean(0), "first": first.mean(0)}),
        again=second[:, at].mean(),
        once=first[:, at].mean(),
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
    return WORDS.panel("files", run, view, table=table, wrong=wrong, checkpoints=len(remarks))
