"""What every order of the steps leaves, and how much width the three steps need."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.figures import Curve
from icl_core.figures.style import NONE_TO_ALL, colourscale
from icl_core.papers.birth.shared.draw import KINDS, NAMES
from icl_core.papers.birth.steps.metrics import STORED
from icl_core.papers.birth.steps.settings import THEN

NONE_TO_ONE = {"colorscale": colourscale(NONE_TO_ALL), "cmin": 0, "cmax": 1, "showscale": False}


def orders(run: Run, view: object) -> Panel:
    """Draw the recall of each memory at the end of each order."""
    recalls = run["orders/recall"].mean(0)  # [orders, matrices]
    rows = [", ".join(NAMES[name] for name in order.split(THEN)) for order in run.names("orders")]
    columns = [NAMES[name] for name in run.names("matrices")]
    complete = [row for row, recall in zip(rows, recalls, strict=True) if (recall > STORED).all()]
    many = {0: "No order", 1: "One order"}.get(len(complete), f"{len(complete)} orders")
    figure = figures.maps(
        [""], [recalls], rows, columns, "recall", limit=1.0, written=True,
        column_title="recall in the end, by order",
    )  # fmt: skip
    figure.update_layout(coloraxis=NONE_TO_ONE, margin={"t": 12}).update_xaxes(
        tickvals=columns, ticktext=columns
    )
    return Panel(
        f"{many} of {len(rows)} store{'s' * (len(complete) < 2)} all three"
        + (f": {complete[0]}" if len(complete) == 1 else ""),
        "The same three steps of the same sizes in all six orders; a cell is the recall in the "
        "end. A matrix whose turn comes too early has a gradient of exactly zero and stays at "
        "chance. If order did not matter, all rows would be alike.",
        figure,
        data=pd.DataFrame(np.round(recalls, 4), index=rows, columns=columns).reset_index(
            names="order"
        ),
    )


def widths(run: Run, view: object) -> Panel:
    """Draw the recalls after the theorem's three steps against the width."""
    widths = run["sweep/width"]
    series = [
        Curve(
            NAMES[name],
            widths,
            run[f"sweep/recall_{name}"],
            KINDS[name],
            band="minmax",
            markers=True,
        )
        for name in run.names("matrices")
    ]
    figure = figures.curves(
        series, "width d", "recall after three steps", log_x=True, y_range=(0, 1.04)
    )
    figure.update_xaxes(tickvals=widths, ticktext=[str(width) for width in widths])
    worst = min(series, key=lambda curve: curve.mean()[-2])
    return Panel(
        f"{worst.name} needs the most width: {worst.mean()[-2]:.0%} at {widths[-2]}, "
        f"{worst.mean()[-1]:.0%} at {widths[-1]}",
        "The steps in the theorem's order. It holds for vectors that are nearly orthogonal, so "
        "for a large d. In a narrow model every pair disturbs the others. If the width did not "
        "matter, the lines would be level.",
        figure,
        data=pd.DataFrame({"d": widths} | {curve.name: curve.mean().round(4) for curve in series}),
    )
