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
    """The recall of each memory at the end of each order."""
    matrices, ids = run.names("matrices"), run.names("orders")
    recalled = run["orders/recall"].mean(0)
    rows = [", ".join(NAMES[name] for name in order.split(THEN)) for order in ids]
    columns = [NAMES[name] for name in matrices]
    stored = [row for row, each in zip(rows, recalled, strict=True) if (each > STORED).all()]
    many = {0: "No order", 1: "One order"}.get(len(stored), f"{len(stored)} orders")
    figure = figures.maps(
        [""], [recalled], rows, columns, "recall", limit=1.0, written=True,
        column_title="recall in the end, by order",
    )  # fmt: skip
    figure.update_layout(coloraxis=NONE_TO_ONE, margin={"t": 12}).update_xaxes(
        tickvals=columns, ticktext=columns
    )
    return Panel(
        f"{many} of {len(rows)} store{'s' * (len(stored) < 2)} all three"
        + (f": {stored[0]}" if len(stored) == 1 else ""),
        "The same three steps of the same sizes in all six orders; a cell is the recall in the "
        "end. A matrix whose turn comes too early has a gradient of exactly zero and stays at "
        "chance. If order did not matter, all rows would be alike.",
        figure,
        data=pd.DataFrame(np.round(recalled, 4), index=rows, columns=columns).reset_index(
            names="order"
        ),
    )


def widths(run: Run, view: object) -> Panel:
    """The recalls after the theorem's three steps against the width."""
    width = run["sweep/width"]
    series = [
        Curve(
            NAMES[name],
            width,
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
    figure.update_xaxes(tickvals=width, ticktext=[str(each) for each in width])
    narrow = min(series, key=lambda curve: curve.mean()[-2])
    return Panel(
        f"{narrow.name} needs the most width: {narrow.mean()[-2]:.0%} at {width[-2]}, "
        f"{narrow.mean()[-1]:.0%} at {width[-1]}",
        "The steps in the theorem's order. It holds for vectors that are nearly orthogonal, so "
        "for a large d. In a narrow model every pair disturbs the others. If the width did not "
        "matter, the lines would be level.",
        figure,
        data=pd.DataFrame({"d": width} | {curve.name: curve.mean().round(4) for curve in series}),
    )
