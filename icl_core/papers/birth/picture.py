"""What the front page shows: the order in which the memories form, and two heads learning to look. Needs no torch."""

from icl_core import figures
from icl_core.experiment import Opening, Panel, Run
from icl_core.figures import Curve
from icl_core.figures.style import note
from icl_core.papers.birth.shared import heads

NAMES = (("W_O2", "W_O²", "layer 3"), ("W_K1_early", "W_K¹", "layer 1"), ("W_K2", "W_K²", "layer 2"))


def draw(run: Run) -> Panel:
    """Recall of the three memories against the training step, from a shipped run."""
    series = [Curve(label, run["curve/step"], run[f"curve/recall_{name}"], kind) for name, label, kind in NAMES]
    figure = figures.curves(series, "training step", "pairs right", y_range=(0, 1.02), height=260)
    labels = [f'<span style="color:{figures.colour(kind)}">⬤</span> {label}' for _, label, kind in NAMES]
    figure.add_annotation(**note("    ".join(labels), 0, 1, xanchor="left", yanchor="bottom", yshift=6))
    return Panel(
        "Three memories form, one after the other",
        "The output memory W_O² comes first. Then the two attention layers learn where to look.",
        figure.update_layout(showlegend=False, margin={"t": 34}),
    )


def _headline(run: Run, index: int) -> str:
    """How much of layer 2's attention lies where it should, and what the model makes of it."""
    shown = heads.at_snapshot(run, index)
    hits, count = shown.right
    looked = sum(float(shown.attention2[query, key]) for query, key, _ in shown.where) / max(1, count)
    step = f"Step {run.snapshot_steps[index]}: {looked:.0%} of the attention is in the right place"
    return f"{step}, {hits} of {count} predictions are right."


OPENING = Opening(
    title="Where will it look?",
    say=(
        "This small transformer reads **abcXabcXab**. From the fifth character on it can know what comes next: "
        "whatever followed the same character before. Each row shows where one character looks. The outlined cells "
        "are where it should look."
    ),
    run=("birth.induction", "fastest"),
    headline=_headline,
    panels={
        "first": lambda run, index: heads.first(heads.at_snapshot(run, index)),
        "second": lambda run, index: heads.second(heads.at_snapshot(run, index)),
    },
)
