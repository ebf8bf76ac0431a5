"""What the front page shows: accuracy as it is learned, and two heads learning to look. Needs no
torch."""

from icl_core import figures
from icl_core.contract.experiment import Opening, Panel, Run
from icl_core.contract.story import Try
from icl_core.figures import Curve
from icl_core.papers.birth.shared import head_maps


def draw(run: Run) -> Panel:
    """Accuracy in context against the training step, from a shipped run. Which memory comes first
    is not told here: the tour asks for it."""
    series = [Curve("two layers", run["curve/step"], run["curve/accuracy"], "trained")]
    repeat = float(run["baseline/repeat"][0])
    figure = figures.curves(
        series, "training step", "right in context", y_range=(0, 1.02), height=260,
        lines=[("repeating the last character", repeat, "floor")],
    )  # fmt: skip
    return Panel(
        "A transformer learns to look things up",
        "The share of characters that it predicts rightly where only the sequence itself can tell.",
        figure.update_layout(showlegend=False, margin={"t": 12}),
    )


def _headline(run: Run, index: int) -> str:
    """How much of layer 2's attention lies where it should, and what the model makes of it."""
    shown = head_maps.at_snapshot(run, index)
    hits, count = shown.right
    looked = sum(float(shown.attention2[query, key]) for query, key, _ in shown.where) / max(
        1, count
    )
    if run.snapshot_steps[index] == 0:
        return f"Before training it guesses any character: {hits} of {count} predictions are right."
    step = f"Step {run.snapshot_steps[index]}: {looked:.0%} of the attention is in the right place"
    return f"{step}, {hits} of {count} predictions are right."


OPENING = Opening(
    title="Where will it look?",
    say=(
        "This small transformer reads **abcXabcXab**. From the fifth character on it can know "
        "what comes next: whatever followed the same character before. Each row shows where one "
        "character looks; the outlined cells are where it should, two of them where a character "
        "came twice before."
    ),
    run=("birth.induction", "fastest"),
    headline=_headline,
    panels={
        "first": lambda run, index: head_maps.first(head_maps.at_snapshot(run, index)),
        "second": lambda run, index: head_maps.second(head_maps.at_snapshot(run, index)),
    },
    own=Try("Give the model a sequence of your own", fields={"sequence": "to be or not to be"}),
)
