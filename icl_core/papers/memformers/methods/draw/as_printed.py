"""What the authors' own prompts give beside what the paper prints of them."""

import numpy as np
import pandas as pd

from icl_core.contract.experiment import Panel, Run
from icl_core.figures import Curve
from icl_core.papers.memformers.methods import printed_curves
from icl_core.papers.memformers.methods.settings import View
from icl_core.papers.memformers.shared.draw import losses
from icl_core.papers.memformers.shared.draw.losses import over_layers, window, written


def applies(config: object) -> bool:
    """Return whether something is printed of a setting on the authors' own prompts."""
    return any(row.claim.is_at(config) and not row.minus for row in printed_curves.ROWS)


def as_printed_panel(run: Run, view: View) -> Panel:
    """Draw each curve on the authors' own prompts, and rings where the paper has it."""
    rows = [row for row in printed_curves.rows_of(run) if not row.minus]
    x = run["depth/layers"]
    zero = float(np.log(run.config.d))
    logs = {row.name: row.measured(run) for row in rows}
    count = max(map(len, (row.curve for row in rows)), default=len(x))
    series = [Curve(row.name, x[:count], logs[row.name], row.kind, markers=True) for row in rows]
    rings = [(row.name, row.curve, row.kind, None) for row in rows]
    y_range = window([*logs.values(), *(row.curve for row in rows), [zero]])
    figure = over_layers(series, "log-loss", y_range, zero)
    gaps = {row.name: float(np.abs(logs[row.name].mean(0) - row.curve).max()) for row in rows}
    worst = max(gaps, key=lambda name: gaps[name])
    columns = {"layers": x[:count]}
    for row in rows:
        columns[row.name] = logs[row.name].mean(0).round(3)
        columns[f"{row.name}, printed"] = np.array(row.curve)
    return Panel(
        f"Off by {written(gaps[worst])} at most, {worst}",
        "The same prompts as in the authors' notebooks, drawn from their seeds: trained and tested "
        "on these alone. Rings are read off the paper's figures; lines through them mean that the "
        "figure comes out. Models of other seeds differ only in the rotation U of the prompts, "
        "whose signs another device may choose otherwise.",
        figure.add_traces(losses.printed(rings)),
        data=pd.DataFrame(columns),
    )
