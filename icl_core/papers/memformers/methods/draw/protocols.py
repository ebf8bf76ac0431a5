"""What memory gains under each of four protocols, in one panel."""

import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.figures import Curve
from icl_core.papers.memformers.methods.protocols import (
    DEPTHS,
    KEPT,
    PROTOCOLS,
    TEXT,
    gaps,
)
from icl_core.papers.memformers.methods.settings import View
from icl_core.papers.memformers.shared.draw.losses import roomy, window, written
from icl_core.papers.memformers.shared.draw.stage import HEIGHT, fitted

KINDS = {"common": "layer 2", "resampled": "layer 3"}  # of batches, their colour


def protocols_panel(run: Run, view: View) -> Panel:
    """Draw the Memformer's log-loss minus the linear transformer's by depth, a line a protocol."""
    x = run["depth/layers"]
    by_protocol = {protocol.id: gaps(run, protocol.id) for protocol in PROTOCOLS}
    series = [
        Curve(
            protocol.label,
            x,
            by_protocol[protocol.id],
            KINDS[protocol.changes["batches"]],
            "solid" if protocol.changes["clip"] else "dash",
            markers=True,
        )
        for protocol in PROTOCOLS
    ]
    y_range = window([*by_protocol.values(), [0.0]])
    figure = figures.curves(
        series,
        "layers",
        "log-loss, with memory minus without",
        x_range=(0.85, x[-1] + 0.15),
        y_range=y_range,
        lines=[("no gain", 0.0, "floor")],
        height=HEIGHT,
    )
    figure.update_xaxes(tickvals=x, ticktext=[str(each) for each in x])
    kept, text = (float(by_protocol[protocol.id][:, DEPTHS].mean()) for protocol in (KEPT, TEXT))
    return Panel(
        f"Memory gains {written(-kept)} (notebooks), {written(-text)} (text)",
        "Below the dotted line memory helps. What takes its lead away, clipping or new batches? A "
        "full line differs from the dashed one of its colour in clipping alone, at 0.01; one "
        "colour differs from the other in the prompts alone, one batch or a new one every 100 "
        "steps. The paper's text has clipping and new batches, its notebooks have neither. The "
        "numbers in the title are means over two to four layers; bands are seeds, all evaluated on "
        "the same fresh prompts.",
        fitted(roomy(figure)),
        data=pd.DataFrame(
            {"layers": x}
            | {protocol.label: by_protocol[protocol.id].mean(0) for protocol in PROTOCOLS}
        ),
    )
