"""What the front page shows: accuracy as it is learned, and two heads learning to look. Needs no
torch."""

from icl_core import figures
from icl_core.contract.experiment import Opening, Panel, Run
from icl_core.contract.story import Try
from icl_core.figures import Curve
from icl_core.papers.birth.shared.head_maps import at_snapshot, first_map, second_map
from icl_core.papers.birth.words import WORDS


def draw(run: Run) -> Panel:
    """Accuracy in context against the training step, from a shipped run. Which memory comes first
    is not told here: the tour asks for it."""
    series = [Curve("two layers", run["curve/step"], run["curve/accuracy"], "trained")]
    repeat = float(run["baseline/repeat"][0])
    figure = figures.curves(
        series, "training step", "right in context", y_range=(0, 1.02), height=260,
        lines=[("repeating the last character", repeat, "floor")],
    )  # fmt: skip
    figure.update_layout(showlegend=False, margin={"t": 12})
    return WORDS.panel("picture", figure=figure)


def _headline(run: Run, index: int) -> str:
    """Say how much of layer 2's attention lies where it should, and what the model makes of it."""
    shown = at_snapshot(run, index)
    right, asked = shown.right
    step = run.snapshot_steps[index]
    if step == 0:
        return WORDS.text("before", right=right, asked=asked)
    attention = sum(float(shown.attention2[query, key]) for query, key, _ in shown.where)
    share = attention / max(1, asked)
    return WORDS.text("after", step=step, attention=share, right=right, asked=asked)


OPENING = Opening(
    run=("birth.induction", "fastest"),
    headline=_headline,
    panels={
        "first": lambda run, index: first_map(at_snapshot(run, index)),
        "second": lambda run, index: second_map(at_snapshot(run, index)),
    },
    own=Try("", fields={"sequence": "to be or not to be"}),
)
