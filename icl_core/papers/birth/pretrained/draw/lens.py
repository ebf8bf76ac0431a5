"""What the model would say after each layer: the logit lens, as a curve and token by token."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.figures import Curve
from icl_core.papers.birth.pretrained.draw.stage import layer_shown
from icl_core.papers.birth.pretrained.load_run import LONG, halves_by_layer, token_labels, tokens_of
from icl_core.papers.birth.pretrained.settings import View


def curve(run: Run, view: View) -> Panel:
    """Draw what tokens cost if the stream is read after each layer."""
    first, second = halves_by_layer(run, view)
    layers = run["snapshot/step"]
    series = [
        Curve("said again", layers, second, "layer 2"),
        Curve("the first time", layers, first, "floor", "dash"),
    ]
    every = np.concatenate([first, second])
    figure = figures.curves(
        series,
        "read after layer",
        "loss in nats",
        log_y=True,
        y_range=(0.7 * float(every.min()), 1.4 * float(every.max())),
        at=layer_shown(run, view),
        height=figures.SEAT,
    )
    return Panel(
        f"After layer {layer_shown(run, view)} a repeat costs {second[run.snapshot_at(view)]:.1f}",
        "The stream after each layer is read as if it were the last; the lines are what a token "
        "then costs, in nats. A stream that is not made to be read yet says wrong tokens, and is "
        "sure of them: that costs more than an even guess would. If the context did not matter, "
        "both lines would stay together to the end.",
        figures.seated(figure),
        data=pd.DataFrame({"layer": layers, "said again": second, "the first time": first}),
    )


def table(run: Run, view: View) -> Panel:
    """Tabulate what the stream says after the layer shown, token by token."""
    name = view.passage
    at = run.snapshot_at(view)
    tokens = tokens_of(run, view)
    vocabulary = run.names("said")
    said = [vocabulary[index] for index in run[f"text/{name}/said"][at]]
    following = [*tokens[1:], ""]
    costs = [*run[f"text/{name}/loss"][at].astype(float).tolist(), float("nan")]
    frame = pd.DataFrame(
        {
            "position": range(len(tokens)),
            "token": token_labels(tokens, LONG),
            "said after it": token_labels(said, LONG),
            "probability": run[f"text/{name}/probability"][at].astype(float).round(3),
            "comes": token_labels(following, LONG),
            "loss in nats": np.round(costs, 2),
        }
    )
    number = sum(one == other for one, other in zip(said, following, strict=True))
    return Panel(
        f"After layer {layer_shown(run, view)}: {number} of {len(tokens) - 1} tokens are right",
        "For each token of the text, the likeliest next one if the stream after the layer on the "
        "clock is read as if it were the last, and the one that comes.",
        table=frame,
    )
