"""The front page's picture: the order in which the three memories form. Needs no torch."""

from icl_core import figures
from icl_core.experiment import Panel, Run
from icl_core.figures import Curve

NAMES = (("W_O2", "W_O²", "layer 3"), ("W_K2", "W_K²", "layer 2"), ("W_K1_early", "W_K¹", "layer 1"))


def draw(run: Run) -> Panel:
    """Recall of the three memories against the training step, from a shipped run."""
    series = [Curve(label, run["curve/step"], run[f"curve/recall_{name}"], kind) for name, label, kind in NAMES]
    figure = figures.curves(series, "training step", "recall", y_range=(0, 1.02), height=280)
    return Panel(
        "Three memories form, one after the other",
        "The output memory W_O² comes first; then the two attention layers learn where to look.",
        figure,
    )
