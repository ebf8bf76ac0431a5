"""The front page's picture: what each learner leaves as the pairs come in. Needs no torch."""

import numpy as np

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.figures import Curve
from icl_core.papers.learners.words import WORDS

LEAST = 1e-3  # the lower end of the axis
SHOWN = {
    "sum": ("one step", "gradient descent", "dash"),
    "delta": ("delta rule", "layer 2", "solid"),
    "recursive": ("least squares", "layer 6", "solid"),
    "bayes": ("Bayes", "floor", "dot"),
}


def draw(run: Run) -> Panel:
    """Draw the share left after each pair, on average over prompts, from a shipped run."""
    ids = run.names("learners")
    share = run["lengths/share"]
    x = np.arange(share.shape[1])
    series = [
        Curve(name, x, share[ids.index(id)], kind, dash) for id, (name, kind, dash) in SHOWN.items()
    ]
    figure = figures.curves(
        series, "pairs read", "share left", log_y=True, y_range=(LEAST, 1.2), height=260
    )
    one_step, bayes = (share[ids.index(id), -1] for id in ("sum", "bayes"))
    return WORDS.panel("picture", figure=figure, one_step=one_step, bayes=bayes)
